#![allow(clippy::unwrap_used)]

use super::*;

const CONFIG: &str = "\
apiVersion: v1
kind: Config
clusters:
- {name: one, cluster: {server: https://one.example}}
- {name: two, cluster: {server: https://two.example}}
users:
- {name: ann, user: {token: canary-ann}}
- {name: bob, user: {token: canary-bob}}
contexts:
- {name: first, context: {cluster: one, user: ann}}
- {name: second, context: {cluster: two, user: bob}}
- {name: broken, context: {cluster: three, user: bob}}
";

fn wanted(more: Value) -> EnvironmentInput {
    let mut body = json!({ "tenant": "shop", "name": "prod", "url": "https://one.example" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(body).unwrap()
}

#[test]
fn a_kubeconfig_is_written_to_the_secret_of_the_environment() {
    let written = wanted(json!({ "config": CONFIG, "namespaces": ["a"] })).objects().unwrap();
    assert_eq!(written.object["spec"]["credentialsSecret"], "prod-kubeconfig");
    assert_eq!(written.object["spec"]["namespaces"], json!(["a"]));
    assert!(!written.object.to_string().contains("canary"));
    let mut made = written.object.clone();
    made["metadata"]["uid"] = json!("u-1");
    let secret = secret_of(&made, &written.config.unwrap());
    assert_eq!(secret["type"], SECRET_TYPE);
    assert_eq!(secret["metadata"]["ownerReferences"][0]["uid"], "u-1");
    assert_eq!(secret["stringData"]["kubeconfig"], CONFIG);
}

#[test]
fn one_context_can_be_chosen() {
    let written = wanted(json!({ "config": CONFIG, "configContext": "first" })).objects().unwrap();
    let config = written.config.unwrap();
    assert!(config.expose().contains("canary-ann") && config.expose().contains("current-context: first"));
    assert!(!config.expose().contains("canary-bob") && !config.expose().contains("two.example"));
}

#[test]
fn invalid_input_is_rejected_without_repeating_it() {
    for (more, why) in [
        (json!({}), "exactly one of config and credentialsSecret is required"),
        (
            json!({ "config": CONFIG, "credentialsSecret": "x" }),
            "exactly one of config and credentialsSecret is required",
        ),
        (json!({ "credentialsSecret": "x", "configContext": "first" }), "configContext requires config"),
        (json!({ "config": "- canary" }), "config is not a kubeconfig"),
        (json!({ "config": CONFIG, "configContext": "third" }), "config does not have this context"),
        (json!({ "config": CONFIG, "configContext": "broken" }), "config refers to a missing entry of clusters"),
        (json!({ "config": CONFIG, "url": "http://one.example" }), "cluster api url must start with https://"),
        (json!({ "config": CONFIG, "url": "https://one.example?x" }), "the API URL must not have ? or & values"),
        (json!({ "config": CONFIG, "url": "" }), "url is empty"),
        (
            json!({ "config": CONFIG, "url": "https://bob:canary@one.example" }),
            "spec.apiURL must not contain a login, because URLs are stored in plaintext",
        ),
        (json!({ "config": CONFIG, "namespaces": ["A"] }), "namespaces has an invalid namespace name"),
        (json!({ "credentialsSecret": "a/b" }), "credentialsSecret: "),
    ] {
        let problem = wanted(more).objects().map(|_| ()).unwrap_err();
        assert_eq!(problem.kind(), ProblemKind::Invalid);
        assert!(problem.detail().starts_with(why) && !problem.detail().contains("canary"), "{}", problem.detail());
    }
}
