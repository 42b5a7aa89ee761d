//! Service accounts that the service creates on target clusters with RBAC enforcement.

use serde_json::{Value, json};
use switchboard_gitops::rows::tenant_clusters::ServiceAccount;

use crate::cluster_state::objects_of;
use crate::database::{TestDatabase, on_both};
use crate::fixture::{
    ENVIRONMENT_SECRET, ENVIRONMENTS, ServiceFixture, TARGET, create, decoded, kubeconfig, send, uid,
};

on_both! {
    an_account_is_removed_with_expired_tenant_credentials
}

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const ACCOUNTS: &str = "/api/v1/namespaces/kube-system/serviceaccounts";
const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";

/// Creates an administrator account on the target and returns its token, as a user would hand it to the tenant.
async fn bootstrap(fixture: &ServiceFixture) -> String {
    create(&fixture.target, ACCOUNTS, json!({"metadata": {"name": "boot"}})).await;
    let binding = json!({"metadata": {"name": "boot"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "boot", "namespace": "kube-system"}]});
    create(&fixture.target, &format!("{RBAC}/clusterrolebindings"), binding).await;
    let secret = json!({"type": "kubernetes.io/service-account-token",
        "metadata": {"name": "boot", "annotations": {"kubernetes.io/service-account.name": "boot"}}});
    create(&fixture.target, SECRETS, secret).await;
    let token = async || {
        let found = send(&fixture.target, "GET", &format!("{SECRETS}/boot"), Value::Null).await.ok()?;
        Some(decoded(&found, "token")).filter(|token| !token.is_empty())
    };
    fixture.wait_for("a token", token).await
}

async fn an_account_is_removed_with_expired_tenant_credentials(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.enforce_rbac();
    // The token becomes invalid, or loses its permissions.
    for (name, end) in [("first", format!("{SECRETS}/boot")), ("second", format!("{RBAC}/clusterrolebindings/boot"))] {
        let token = bootstrap(&fixture).await;
        let before = objects_of(&fixture.target).await;
        let secret = format!("{name}-secret");
        let config = json!({"kubeconfig": kubeconfig(&token)});
        fixture.secret("shop", &secret, ENVIRONMENT_SECRET, config).await;
        let spec = json!({"apiURL": TARGET, "credentialsSecret": secret, "allowInsecureSkipTLSVerify": false,
            "createNewServiceAccount": true});
        let made =
            fixture.create_resource("shop", ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", name, spec).await;
        let is_used = async || {
            let found = fixture.resource("shop", ENVIRONMENTS, name).await?;
            (found["status"]["conditions"][0]["status"] == "True").then_some(())
        };
        fixture.wait_for("an environment", is_used).await;
        assert_eq!(
            objects_of(&fixture.target).await.difference(&before).count(),
            4,
            "an account, its role and its token"
        );

        send(&fixture.target, "DELETE", &end, Value::Null).await.unwrap();
        fixture.delete("shop", ENVIRONMENTS, name).await;
        let is_gone = async || {
            let there = objects_of(&fixture.target).await;
            let ours: Vec<&String> = there.iter().filter(|one| one.contains(&uid(&made))).collect();
            (ours.is_empty() && fixture.all::<ServiceAccount>().await.is_empty()).then_some(())
        };
        fixture.wait_for("nothing of ours", is_gone).await;
        for left in [format!("{ACCOUNTS}/boot"), format!("{SECRETS}/boot"), format!("{RBAC}/clusterrolebindings/boot")]
        {
            // Some of these objects are already deleted.
            let _ = send(&fixture.target, "DELETE", &left, Value::Null).await;
        }
    }
}
