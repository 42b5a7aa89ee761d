//! Service accounts of ours on targets that judge for themselves who asks.

use serde_json::{Value, json};
use switchboard_ledger::rows::left::ServiceAccount;

use crate::base::{Base, on_both};
use crate::left::objects_of;
use crate::stage::{ENVIRONMENT_SECRET, ENVIRONMENTS, Stage, TARGET, create, decoded, kubeconfig, send, uid};

on_both! {
    an_account_goes_when_what_the_tenant_gave_works_no_longer
}

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const ACCOUNTS: &str = "/api/v1/namespaces/kube-system/serviceaccounts";
const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";

/// The token of an account that may do everything on the target, as somebody gave it to the tenant.
async fn bootstrap(stage: &Stage) -> String {
    create(&stage.target, ACCOUNTS, json!({"metadata": {"name": "boot"}})).await;
    let binding = json!({"metadata": {"name": "boot"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "boot", "namespace": "kube-system"}]});
    create(&stage.target, &format!("{RBAC}/clusterrolebindings"), binding).await;
    let secret = json!({"type": "kubernetes.io/service-account-token",
        "metadata": {"name": "boot", "annotations": {"kubernetes.io/service-account.name": "boot"}}});
    create(&stage.target, SECRETS, secret).await;
    let token = async || {
        let found = send(&stage.target, "GET", &format!("{SECRETS}/boot"), Value::Null).await.ok()?;
        Some(decoded(&found, "token")).filter(|token| !token.is_empty())
    };
    stage.until("a token", token).await
}

async fn an_account_goes_when_what_the_tenant_gave_works_no_longer(base: Base) {
    let stage = Stage::new(base).await;
    stage.strict();
    // It is taken no longer, or it may do nothing any more.
    for (name, end) in [("first", format!("{SECRETS}/boot")), ("second", format!("{RBAC}/clusterrolebindings/boot"))] {
        let token = bootstrap(&stage).await;
        let before = objects_of(&stage.target).await;
        let secret = format!("{name}-secret");
        let config = json!({"kubeconfig": kubeconfig(&token)});
        stage.secret("shop", &secret, ENVIRONMENT_SECRET, config).await;
        let spec = json!({"apiURL": TARGET, "credentialsSecret": secret, "allowInsecureSkipTLSVerify": false,
            "createNewServiceAccount": true});
        let made = stage.make("shop", ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", name, spec).await;
        let is_used = async || {
            let found = stage.resource("shop", ENVIRONMENTS, name).await?;
            (found["status"]["conditions"][0]["status"] == "True").then_some(())
        };
        stage.until("an environment", is_used).await;
        assert_eq!(
            objects_of(&stage.target).await.difference(&before).count(),
            4,
            "an account, its role and its token"
        );

        send(&stage.target, "DELETE", &end, Value::Null).await.unwrap();
        stage.delete("shop", ENVIRONMENTS, name).await;
        let is_gone = async || {
            let there = objects_of(&stage.target).await;
            let ours: Vec<&String> = there.iter().filter(|one| one.contains(&uid(&made))).collect();
            (ours.is_empty() && stage.all::<ServiceAccount>().await.is_empty()).then_some(())
        };
        stage.until("nothing of ours", is_gone).await;
        for left in [format!("{ACCOUNTS}/boot"), format!("{SECRETS}/boot"), format!("{RBAC}/clusterrolebindings/boot")]
        {
            // Some of it is what went first.
            let _ = send(&stage.target, "DELETE", &left, Value::Null).await;
        }
    }
}
