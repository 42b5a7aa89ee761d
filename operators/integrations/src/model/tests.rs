#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

pub const NAMESPACE_FILE: &str = "$schema: /openshift/namespace-1.yml\nname: testing\ncluster: {$ref: /cluster.yml}\n\
    environment: {$ref: /stage.yml}\n";
pub const CLUSTER_FILE: &str = "$schema: /openshift/cluster-1.yml\nname: appint-ex-01\nserverUrl: https://example\n\
    automationToken: {path: creds/kube, field: token}\n";
pub const STAGE_FILE: &str = "$schema: /app-sre/environment-1.yml\nname: stage\nparameters: {A: 1}\n";

fn read(integration: &str, scope: &DataScope) -> IntegrationModel {
    let bundle = Bundle::from_texts([
        ("/ns.yml", NAMESPACE_FILE),
        ("/cluster.yml", CLUSTER_FILE),
        ("/stage.yml", STAGE_FILE),
        (
            "/lean.yml",
            "$schema: /openshift/lean-namespace-1.yml\nname: lean\ncluster: {name: c2, serverUrl: https://c2}\n\
            environment: {name: prod, parameters: '{\"B\": true}'}\n",
        ),
        ("/aws/one.yml", "$schema: /aws/account-1.yml\nname: app-int-example-01\ndisable: {integrations: [x]}\n"),
        ("/integration.yml", integration),
    ]);
    IntegrationModel::read(&bundle, scope)
}

fn one(integration: &str) -> ManagedEntry {
    let model = read(integration, &DataScope::default());
    assert_eq!(model.disabled, []);
    model.entries.into_iter().next().unwrap()
}

fn problems(integration: &str) -> Vec<String> {
    let model = read(integration, &DataScope::default());
    model.disabled.iter().map(|one| one.problem.to_string()).collect()
}

const RESOURCES: &str = "resources: {requests: {cpu: 100m, memory: 1Mi}, limits: {memory: 2Mi}}";

fn managed(rest: &str) -> String {
    format!(
        "$schema: /app-sre/integration-1.yml\nname: aws-ami-share\nupstream: https://up\nmanaged:\n- namespace: {{$ref: /ns.yml}}\n{rest}"
    )
}

/// The example of the first seed document, verbatim except for the omitted resources.
#[test]
fn the_first_seeds_example_is_read() {
    let entry = one(&format!(
        "$schema: /app-sre/integration-1.yml\n\nname: aws-ami-share\n\ndescription: Share AMI and AMI tags between accounts\n\n\
         upstream: https://github.com/app-sre/qontract-reconcile\n\noperate:\n- namespace:\n    $ref: /ns.yml\n  spec:\n    {RESOURCES}\n\
         \x20   logs:\n      slack: true\n    shards: 1\n"
    ));
    assert_eq!(
        (&*entry.integration, &*entry.namespace.name, &*entry.namespace.environment.name),
        ("aws-ami-share", "testing", "stage")
    );
    assert_eq!(entry.spec["logs"], json!({"slack": true}));
    assert_eq!(entry.sharding.strategy, ShardingStrategy::Static(1));
    assert_eq!(
        entry.namespace.cluster.token,
        Some(TokenReference { path: "creds/kube".into(), field: "token".into() })
    );
}

/// Both examples of the second seed document.
#[test]
fn the_second_seeds_examples_are_read() {
    for (default, special) in [("latest", "foo"), ("stable", "superdangerous")] {
        let entry = one(&managed(&format!(
            "  shardSpecOverride:\n    - imageRef: {special}\n      shard:\n        $ref: /aws/one.yml\n  spec:\n    {RESOURCES}\n\
             \x20   imageRef: {default}\n    shardingStrategy: per-aws-account\n"
        )));
        let ShardingStrategy::PerObject(kind) = &entry.sharding.strategy else { panic!("{:?}", entry.sharding) };
        assert_eq!((&*kind.schema, &*kind.argument), (AWS_ACCOUNT, "--account-name"));
        assert_eq!(entry.spec["imageRef"], default);
        let [over] = &entry.sharding.overrides[..] else { panic!("{:?}", entry.sharding) };
        assert_eq!(over.fields["imageRef"], special);
        let shard = json!({"name": "app-int-example-01", "disable": {"integrations": ["x"]}});
        assert_eq!(over.fields["shard"], shard);
    }
}

#[test]
fn outdated_names_are_ignored_in_compatibility_mode() {
    let text = format!(
        "$schema: /app-sre/integration-1.yml\nname: a\noperate:\n- namespace: {{$ref: /ns.yml}}\n  spec: {{{RESOURCES}}}\n"
    );
    assert_eq!(read(&text, &DataScope::default()).entries.len(), 1);
    assert_eq!(read(&text, &DataScope { compat: true, ..DataScope::default() }).entries.len(), 0);
}

#[test]
fn lean_namespaces_hold_cluster_and_environment_themselves() {
    let entry = one(&managed(&format!("  spec: {{{RESOURCES}}}\n")).replace("/ns.yml", "/lean.yml"));
    assert_eq!(
        (&*entry.namespace.cluster.name, entry.namespace.environment.parameters["B"].clone()),
        ("c2", json!(true))
    );
}

#[test]
fn entries_are_filtered_by_environment_and_upstream() {
    let text =
        managed(&format!("  spec: {{{RESOURCES}}}\n- namespace: {{$ref: /lean.yml}}\n  spec: {{{RESOURCES}}}\n"));
    let count = |environment: Option<&str>, upstream: Option<&str>| {
        let scope =
            DataScope { environment: environment.map(Into::into), upstream: upstream.map(Into::into), compat: true };
        read(&text, &scope).entries.len()
    };
    assert_eq!((count(None, None), count(Some("stage"), None), count(Some("none"), None)), (2, 1, 0));
    assert_eq!((count(None, Some("https://up")), count(None, Some("https://else"))), (2, 0));
}

/// Spec 8.1, 1: each of these errors stops the whole run of qontract-reconcile.
#[test]
fn an_invalid_entry_is_reported_with_its_position_and_disables_only_itself() {
    let good = format!("- namespace: {{$ref: /ns.yml}}\n  spec: {{{RESOURCES}}}\n");
    for (bad, told) in [
        (
            format!("  spec: {{{RESOURCES}}}\n  sharding: {{strategy: static}}\n"),
            "/integration.yml:7: managed[0].sharding: has no `shards`",
        ),
        (
            format!("  spec: {{{RESOURCES}}}\n  sharding: {{strategy: per-moon}}\n"),
            "/integration.yml:7: managed[0].sharding.strategy: unknown strategy `per-moon`",
        ),
        (
            "  spec: {resources: {requests: {cpu: 1m, memory: 1Mi}}}\n".to_string(),
            "/integration.yml:6: managed[0].spec.resources: has no `limits`",
        ),
        ("  spec: {}\n".to_string(), "/integration.yml:6: managed[0].spec: has no `resources`"),
        (
            format!("  spec: {{cache: 'yes', {RESOURCES}}}\n"),
            "/integration.yml:6: managed[0].spec.cache: must be true or false, not `\"yes\"`",
        ),
        (
            format!("  spec: {{extraEnv: 3, {RESOURCES}}}\n"),
            "/integration.yml:6: managed[0].spec.extraEnv: must be a list, not `3`",
        ),
    ] {
        let model = read(&format!("{}{good}", managed(&bad)), &DataScope::default());
        assert_eq!(model.disabled.iter().map(|one| one.problem.to_string()).collect::<Vec<_>>(), [told]);
        assert_eq!(model.disabled[0].integration.as_deref(), Some("aws-ami-share"));
        assert_eq!(model.entries.len(), 1);
    }
    let dangling = managed(&format!("  spec: {{{RESOURCES}}}\n")).replace("/ns.yml", "/gone.yml");
    assert_eq!(
        problems(&dangling),
        ["/integration.yml:5: managed[0].namespace: refers to /gone.yml, which does not exist"]
    );
    assert_eq!(problems("$schema: /app-sre/integration-1.yml\nmanaged: []\n"), ["/integration.yml:1: has no `name`"]);
    assert_eq!(
        problems("$schema: /app-sre/integration-1.yml\nname: a\nmanaged: 3\n"),
        ["/integration.yml:3: managed: must be a list, not `3`"]
    );
}
