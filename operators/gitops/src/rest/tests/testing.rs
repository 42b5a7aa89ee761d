//! Test cluster with two tenants, an administrator and a client that checks every response against the document.
#![allow(clippy::unwrap_used)]

mod conformance;

use axum::Router;
use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_http::guard::Guard;
use switchboard_http::limit::Rate;
use switchboard_object::yaml;
use switchboard_sql::{Address, Ledger, Sealer, SecretString};
use tower::ServiceExt;

use crate::kinds::CRDS;
use crate::rest as gitops;
use crate::rest::GitOpsApi;

/// Secret that signs events for all tenants.
pub const WEBHOOK_SECRET: &str = "canary-of-the-service";

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Cluster with the tenants `shop` and `bank` and the administrator `ops/admin`. Each tenant has a service account `ci`
/// with full access to the service's kinds in its namespace, and a service account `no-access` without access.
pub struct TestCluster {
    pub cluster: Cluster,
    pub ledger: Ledger,
}

/// Response to a request of a test.
pub struct TestResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
}

impl TestCluster {
    pub async fn build() -> TestCluster {
        let cluster = Cluster::ephemeral().await;
        let ledger =
            Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let cluster_fixture = TestCluster { cluster, ledger };
        for text in CRDS {
            let object = yaml::read(text).unwrap().value;
            cluster_fixture.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object).await;
        }
        cluster_fixture.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", argo_applications()).await;
        for (group, plural) in [
            ("managed-gitops.redhat.com/v1alpha1", "gitopsdeployments"),
            ("managed-gitops.redhat.com/v1alpha1", "gitopsdeploymentsyncruns"),
            ("managed-gitops.redhat.com/v1alpha1", "gitopsdeploymentmanagedenvironments"),
            ("argoproj.io/v1alpha1", "applications"),
        ] {
            cluster_fixture.wait_until_served(&format!("/apis/{group}/{plural}")).await;
        }
        for tenant in ["shop", "bank", "ops", "argocd"] {
            cluster_fixture.post("/api/v1/namespaces", json!({ "metadata": { "name": tenant } })).await;
        }
        for tenant in ["shop", "bank"] {
            cluster_fixture.tenant(tenant).await;
        }
        cluster_fixture.administrator().await;
        cluster_fixture
    }

    async fn tenant(&self, tenant: &str) {
        for name in ["ci", "no-access"] {
            self.post(&format!("/api/v1/namespaces/{tenant}/serviceaccounts"), json!({ "metadata": { "name": name } }))
                .await;
        }
        let rules = json!([
            { "apiGroups": ["managed-gitops.redhat.com"], "resources": ["*"], "verbs": ["*"] },
            { "apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "update"] },
        ]);
        let path = format!("{RBAC}/namespaces/{tenant}");
        self.post(&format!("{path}/roles"), json!({ "metadata": { "name": "ci" }, "rules": rules })).await;
        let binding = json!({
            "metadata": { "name": "ci" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ci" },
            "subjects": [{ "kind": "ServiceAccount", "name": "ci", "namespace": tenant }],
        });
        self.post(&format!("{path}/rolebindings"), binding).await;
    }

    async fn administrator(&self) {
        self.post("/api/v1/namespaces/ops/serviceaccounts", json!({ "metadata": { "name": "admin" } })).await;
        let rules = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
        self.post(&format!("{RBAC}/clusterroles"), json!({ "metadata": { "name": "everything" }, "rules": rules }))
            .await;
        let binding = json!({
            "metadata": { "name": "everything" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "everything" },
            "subjects": [{ "kind": "ServiceAccount", "name": "admin", "namespace": "ops" }],
        });
        self.post(&format!("{RBAC}/clusterrolebindings"), binding).await;
    }

    /// Waits until the cluster serves a kind: a CustomResourceDefinition takes a moment to be established.
    async fn wait_until_served(&self, path: &str) {
        for _ in 0..10_000 {
            if self.get(path).await.is_some() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        panic!("{path} is not served");
    }

    pub async fn post(&self, path: &str, object: Value) -> Value {
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        let body = object.to_string().into_bytes();
        self.cluster.client().request(request.body(body).unwrap()).await.unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    pub async fn get(&self, path: &str) -> Option<Value> {
        self.cluster.client().request(Request::get(path).body(Vec::new()).unwrap()).await.ok()
    }

    /// Writes the status of an object, as the backend would.
    pub async fn status(&self, path: &str, status: Value) {
        let request = Request::patch(format!("{path}/status")).header(CONTENT_TYPE, "application/merge-patch+json");
        let body = json!({ "status": status }).to_string().into_bytes();
        self.cluster.client().request::<Value>(request.body(body).unwrap()).await.unwrap();
    }

    /// Creates a token of a service account.
    pub async fn token(&self, namespace: &str, name: &str) -> String {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let object = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        self.post(&path, object).await["status"]["token"].as_str().unwrap().to_string()
    }

    pub async fn uid(&self, namespace: &str) -> String {
        let object = self.get(&format!("/api/v1/namespaces/{namespace}")).await.unwrap();
        object["metadata"]["uid"].as_str().unwrap().to_string()
    }

    /// Creates the API with this rate.
    pub fn router(&self, rate: Rate) -> Router {
        let guard = Guard::new(self.cluster.client(), rate);
        let service = GitOpsApi::new(guard, self.cluster.client(), self.ledger.clone());
        gitops::router(service.with_webhook_secret(Some(SecretString::from(WEBHOOK_SECRET))))
    }

    /// Creates a client that authenticates as a service account.
    pub async fn api_client(&self, namespace: &str, name: &str) -> TestClient {
        let token = self.token(namespace, name).await;
        TestClient { router: self.router(Rate { per_s: 1e6, burst: 1e6 }), token }
    }
}

/// Client that checks every response against the document.
#[derive(Clone)]
pub struct TestClient {
    pub router: Router,
    pub token: String,
}

impl TestClient {
    pub async fn get(&self, path: &str) -> TestResponse {
        self.request("GET", path, &[], Vec::new()).await
    }

    pub async fn delete(&self, path: &str) -> TestResponse {
        self.request("DELETE", path, &[], Vec::new()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.request("POST", path, &[("content-type", "application/json")], body.to_string().into_bytes()).await
    }

    pub async fn put(&self, path: &str, version: &str, body: &Value) -> TestResponse {
        let mut headers = vec![("content-type", "application/json")];
        if !version.is_empty() {
            headers.push(("if-match", version));
        }
        self.request("PUT", path, &headers, body.to_string().into_bytes()).await
    }

    pub async fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> TestResponse {
        let answer = self.send(method, path, headers, body).await;
        let document = self.send("GET", "/api/v1/openapi.json", &[], Vec::new()).await.body;
        conformance::assert_conforms(&document, method, path, &answer);
        answer
    }

    /// Sends a request without checking the response.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> TestResponse {
        let mut request = Request::builder().method(method).uri(path);
        if !self.token.is_empty() {
            request = request.header(AUTHORIZATION, format!("Bearer {}", self.token));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        let (head, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        TestResponse { status: head.status, headers: head.headers, body }
    }
}

fn argo_applications() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "applications.argoproj.io" },
        "spec": {
            "group": "argoproj.io",
            "names": { "kind": "Application", "listKind": "ApplicationList", "plural": "applications", "singular": "application" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    })
}
