//! Isolation between tenants: a repository cannot modify, reference or read objects of another tenant.

use serde_json::{Value, json};

use super::fixture::{GitopsFixture, INSTANCES};
use super::flows::{DEPLOYMENT, GITOPS, deployment, is_deleted};
use super::roles::{KillTarget, RoleProcesses};

/// Returns forbidden objects in a repository: kind, namespace, name, description and manifest.
fn attempts() -> Vec<(&'static str, &'static str, &'static str, &'static str, String)> {
    let argocd = INSTANCES[0];
    let application = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: stolen, namespace: {argocd}}}\nspec:\n  project: default\n  source: {{repoURL: https://git.example/x, path: x}}\n  destination: {{name: in-cluster, namespace: shop}}\n"
    );
    let project = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {{name: stolen, namespace: {argocd}}}\nspec: {{sourceRepos: ['*'], destinations: [{{name: '*', namespace: '*'}}]}}\n"
    );
    let cluster_secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: stolen, namespace: {argocd}, labels: {{argocd.argoproj.io/secret-type: cluster}}}}\nstringData: {{name: stolen, server: 'https://kubernetes.default.svc?x=y', config: '{{}}'}}\n"
    );
    let theirs = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen, namespace: shop}\n".to_string();
    let deployment = "apiVersion: managed-gitops.redhat.com/v1alpha1\nkind: GitOpsDeployment\nmetadata: {name: stolen, namespace: shop}\nspec: {source: {repoURL: 'https://git.example/x', path: x}, type: automated}\n".to_string();
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: stolen}\n".to_string();
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: stolen}\nrules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]\n".to_string();
    vec![
        ("v1", "ConfigMap", "shop", "stolen", theirs),
        ("argoproj.io/v1alpha1", "Application", argocd, "stolen", application),
        ("argoproj.io/v1alpha1", "AppProject", argocd, "stolen", project),
        ("v1", "Secret", argocd, "stolen", cluster_secret),
        (GITOPS, DEPLOYMENT, "shop", "stolen", deployment),
        ("v1", "Namespace", "", "stolen", namespace),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "", "stolen", role),
    ]
}

/// Objects for another tenant, for Argo CD itself or for the cluster scope are not deployed.
pub async fn check_isolation(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    stage.namespace("thief").await;
    let url = format!("{}/thief", stage.git.https);
    let told = (GITOPS, DEPLOYMENT, "thief", "web");
    for (number, (version, kind, namespace, name, manifest)) in attempts().into_iter().enumerate() {
        let words = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: attempt-{number}}}\n");
        stage.git.commit("thief", &[("deploy/theirs.yaml", &manifest), ("deploy/own.yaml", &words)]);
        match number {
            0 => drop(stage.create(deployment("thief", "web", &url, "automated", json!({}))).await),
            _ => stage.refresh_applications().await,
        }
        let resource = kind.to_string();
        let refused = move |object: Option<&Value>| {
            object.is_some_and(|object| {
                let said = object["status"].to_string();
                said.contains("is not permitted in project") && said.contains(&resource)
            })
        };
        stage.until(told, &format!("refused {kind}"), refused).await;
        assert!(stage.get(version, kind, namespace, name).await.is_none(), "{kind} was made");
    }
    stage.delete(GITOPS, DEPLOYMENT, "thief", "web").await;
    roles.kill_and_restart(stage, KillTarget::Agent);
    stage.until(told, "gone", is_deleted).await;
}
