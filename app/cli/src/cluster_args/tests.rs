#![allow(clippy::unwrap_used)]

use switchboard_kernel::config::KnownOperators;

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

fn reach(text: &str, context: Option<&str>) -> (tempfile::TempDir, ClusterArgs) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    std::fs::write(&file, text).unwrap();
    (folder, ClusterArgs { kubeconfig: Some(file), context: context.map(str::to_string) })
}

async fn told(text: &str, context: Option<&str>) -> String {
    let (folder, reach) = reach(text, context);
    let told = message(&reach.config().await.unwrap_err());
    told.replace(&folder.path().display().to_string(), "DIR")
}

#[tokio::test]
async fn a_context_that_is_not_there_is_told_with_those_that_are() {
    let expected = "error: the kubeconfig DIR/kubeconfig has no context three\nhint: it has one, two";
    assert_eq!(told(TWO, Some("three")).await, expected);
    let expected = "error: the kubeconfig DIR/kubeconfig has no current context\nhint: name one with --context NAME: it has one, two";
    assert_eq!(told(TWO, None).await, expected);
    assert!(told("kind: Config\n", Some("one")).await.ends_with("\nhint: it has none"));
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there_or_not_one_is_told() {
    let missing = ClusterArgs { kubeconfig: Some("/no/such/file".into()), context: None };
    let told_of_it = message(&missing.config().await.unwrap_err());
    assert!(
        told_of_it.starts_with("error: there is no kubeconfig /no/such/file\nhint: check the path"),
        "{told_of_it}"
    );
    let told_of_it = told("contexts: 7\n", None).await;
    let expected = "error: could not read the kubeconfig DIR/kubeconfig: it is not understood at line 1, column ";
    assert!(told_of_it.starts_with(expected), "{told_of_it}");
    assert!(told_of_it.lines().last().unwrap().starts_with("hint: "), "{told_of_it}");
}

#[tokio::test]
async fn nothing_of_a_kubeconfig_that_is_not_understood_is_told() {
    let told_of_it = told("users: [{name: me, user: {token: hunter2}}\ncontexts: ][", None).await;
    assert!(told_of_it.contains("it is not understood at line ") && !told_of_it.contains("hunter2"), "{told_of_it}");
    let told_of_it = told("contexts: hunter2\n", None).await;
    assert!(!told_of_it.contains("hunter2"), "{told_of_it}");
}

#[tokio::test]
async fn a_context_that_is_there_is_taken() {
    let (_folder, reach) = reach(TWO, Some("two"));
    assert_eq!(reach.config().await.unwrap().cluster_url.to_string(), "http://127.0.0.1:1/");
}

#[test]
fn a_configuration_that_names_no_kubeconfig_takes_the_one_of_the_command_line() {
    let text = "clusters: {hub: {}, edge: {context: edge}}\ntopology: {configuration: hub, management: hub, userWorkload: edge}\n";
    let mut config = Config::parse("switchboard.yaml", text, KnownOperators::default()).unwrap();
    ClusterArgs { kubeconfig: Some("k".into()), context: None }.apply_to(&mut config);
    let told: Vec<_> = config.clusters.values().map(|one| (one.kubeconfig.is_some(), one.context.clone())).collect();
    assert_eq!(told, [(false, Some("edge".to_string())), (true, None)]);
}
