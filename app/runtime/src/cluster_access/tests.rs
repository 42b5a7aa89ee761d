#![allow(clippy::unwrap_used)]

use switchboard_kernel::family::Families;

use super::*;
use crate::failure::message;

const TWO: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: me, user: {}}]
contexts:
- {name: one, context: {cluster: a, user: me}}
- {name: two, context: {cluster: a, user: me}}
";

fn access(kubeconfig: Option<PathBuf>, context: Option<&str>) -> ClusterAccess {
    ClusterAccess(ClusterConfig { kubeconfig, context: context.map(str::to_string) })
}

fn cluster_args(text: &str, context: Option<&str>) -> (tempfile::TempDir, ClusterAccess) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    std::fs::write(&file, text).unwrap();
    (folder, access(Some(file), context))
}

async fn printed(text: &str, context: Option<&str>) -> String {
    let (folder, cluster_args) = cluster_args(text, context);
    let printed = message(&cluster_args.config().await.unwrap_err());
    printed.replace(&folder.path().display().to_string(), "DIR")
}

#[tokio::test]
async fn missing_context_lists_the_existing_contexts() {
    let expected = "error: the kubeconfig DIR/kubeconfig has no context three\nhint: contexts: one, two";
    assert_eq!(printed(TWO, Some("three")).await, expected);
    let expected =
        "error: the kubeconfig DIR/kubeconfig has no current context\nhint: pass --context NAME; contexts: one, two";
    assert_eq!(printed(TWO, None).await, expected);
    assert!(printed("kind: Config\n", Some("one")).await.ends_with("\nhint: there are no contexts"));
}

#[tokio::test]
async fn missing_or_invalid_kubeconfig_is_reported() {
    let missing = access(Some("/no/such/file".into()), None);
    let printed_error = message(&missing.config().await.unwrap_err());
    assert!(
        printed_error.starts_with("error: could not find the kubeconfig /no/such/file\nhint: check the path"),
        "{printed_error}"
    );
    let printed_error = printed("contexts: 7\n", None).await;
    let expected = "error: could not read the kubeconfig DIR/kubeconfig: invalid at line 1, column ";
    assert!(printed_error.starts_with(expected), "{printed_error}");
    assert!(printed_error.lines().last().unwrap().starts_with("hint: "), "{printed_error}");
}

#[tokio::test]
async fn content_of_an_invalid_kubeconfig_is_not_printed() {
    let printed_error = printed("users: [{name: me, user: {token: hunter2}}\ncontexts: ][", None).await;
    assert!(printed_error.contains("invalid at line ") && !printed_error.contains("hunter2"), "{printed_error}");
    let printed_error = printed("contexts: hunter2\n", None).await;
    assert!(!printed_error.contains("hunter2"), "{printed_error}");
}

#[tokio::test]
async fn existing_context_is_used() {
    let (_folder, cluster_args) = cluster_args(TWO, Some("two"));
    assert_eq!(cluster_args.config().await.unwrap().cluster_url.to_string(), "http://127.0.0.1:1/");
}

#[test]
fn kubeconfig_flag_applies_to_clusters_without_one() {
    let text = "clusters: {hub: {}, edge: {context: edge}}\ntopology: {configuration: hub, management: hub, userWorkload: edge}\n";
    let mut config = Config::parse("switchboard.yaml", text, Families::default()).unwrap();
    access(Some("k".into()), None).apply_to(&mut config);
    let printed: Vec<_> = config.clusters.values().map(|one| (one.kubeconfig.is_some(), one.context.clone())).collect();
    assert_eq!(printed, [(false, Some("edge".to_string())), (true, None)]);
}
