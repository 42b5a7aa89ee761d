//! A small town for tests: two tenants, an administrator, and an asker who holds every answer to the document.
#![allow(clippy::unwrap_used)]

mod held;

use axum::Router;
use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_gitops::kinds::CRDS;
use switchboard_ledger::{Address, Ledger, Sealing, Secret};
use switchboard_object::yaml;
use tower::ServiceExt;

use crate::gitops::{self, Service};
use crate::guard::Guard;
use crate::limit::Rate;

/// What events for all tenants are signed with.
pub const HOOK_SECRET: &str = "canary-of-the-service";

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A cluster with tenants `shop` and `bank`, each with a service account `ci` that may do everything to the service's kinds in its
/// namespace and one `nobody` that may nothing; and `ops/admin`, who may everything.
pub struct Town {
    pub cluster: Cluster,
    pub ledger: Ledger,
}

/// What was answered.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Town {
    pub async fn build() -> Town {
        let cluster = Cluster::ephemeral().await;
        let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let town = Town { cluster, ledger };
        for text in CRDS {
            let object = yaml::read(text).unwrap().value;
            town.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object).await;
        }
        town.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", argo_applications()).await;
        for (group, plural) in [
            ("managed-gitops.redhat.com/v1alpha1", "gitopsdeployments"),
            ("managed-gitops.redhat.com/v1alpha1", "gitopsdeploymentsyncruns"),
            ("managed-gitops.redhat.com/v1alpha1", "gitopsdeploymentmanagedenvironments"),
            ("argoproj.io/v1alpha1", "applications"),
        ] {
            town.served(&format!("/apis/{group}/{plural}")).await;
        }
        for tenant in ["shop", "bank", "ops", "argocd"] {
            town.post("/api/v1/namespaces", json!({ "metadata": { "name": tenant } })).await;
        }
        for tenant in ["shop", "bank"] {
            town.tenant(tenant).await;
        }
        town.administrator().await;
        town
    }

    async fn tenant(&self, tenant: &str) {
        for name in ["ci", "nobody"] {
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

    /// Waits until a kind is served: definitions take a moment.
    async fn served(&self, path: &str) {
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

    /// A token of a service account.
    pub async fn token(&self, namespace: &str, name: &str) -> String {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let object = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        self.post(&path, object).await["status"]["token"].as_str().unwrap().to_string()
    }

    pub async fn uid(&self, namespace: &str) -> String {
        let object = self.get(&format!("/api/v1/namespaces/{namespace}")).await.unwrap();
        object["metadata"]["uid"].as_str().unwrap().to_string()
    }

    /// The API, with this rate.
    pub fn router(&self, rate: Rate) -> Router {
        let guard = Guard::new(self.cluster.client(), rate);
        let service = Service::new(guard, self.cluster.client(), self.ledger.clone());
        gitops::router(service.hook_secret(Some(Secret::from(HOOK_SECRET))))
    }

    /// Somebody who asks.
    pub async fn asker(&self, namespace: &str, name: &str) -> Asker {
        let token = self.token(namespace, name).await;
        Asker { router: self.router(Rate { per_s: 1e6, burst: 1e6 }), token }
    }
}

/// Asks, and holds every answer to the document.
#[derive(Clone)]
pub struct Asker {
    pub router: Router,
    pub token: String,
}

impl Asker {
    pub async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], Vec::new()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &[], Vec::new()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[("content-type", "application/json")], body.to_string().into_bytes()).await
    }

    pub async fn put(&self, path: &str, version: &str, body: &Value) -> Answer {
        let mut headers = vec![("content-type", "application/json")];
        if !version.is_empty() {
            headers.push(("if-match", version));
        }
        self.ask("PUT", path, &headers, body.to_string().into_bytes()).await
    }

    pub async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let answer = self.send(method, path, headers, body).await;
        let document = self.send("GET", "/api/v1/openapi.json", &[], Vec::new()).await.body;
        held::hold(&document, method, path, &answer);
        answer
    }

    /// Without holding it to anything.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
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
        Answer { status: head.status, headers: head.headers, body }
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
