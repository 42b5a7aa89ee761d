#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::model::{DataScope, IntegrationModel};

const RESOURCES: &str = "resources: {requests: {cpu: 100m, memory: 1Mi}, limits: {memory: 2Mi}}";

fn bundle(spec: &str, sharding: &str) -> Bundle {
    bundle_with(spec, sharding, &[])
}

fn bundle_with(spec: &str, sharding: &str, more: &[(&str, &str)]) -> Bundle {
    let integration = format!(
        "$schema: /app-sre/integration-1.yml\nname: terraform-resources\nmanaged:\n- namespace: {{$ref: /ns.yml}}\n  \
         spec: {{{RESOURCES}{spec}}}\n  sharding:\n{sharding}"
    );
    let texts = [
        (
            "/ns.yml",
            "$schema: /openshift/lean-namespace-1.yml\nname: n\ncluster: {name: c, serverUrl: u}\nenvironment: {name: e}\n",
        ),
        ("/aws/1.yml", "$schema: /aws/account-1.yml\nname: acc-1\n"),
        ("/aws/2.yml", "$schema: /aws/account-1.yml\nname: acc-2\ndisable: {integrations: [terraform-resources, x]}\n"),
        ("/aws/3.yml", "$schema: /aws/account-1.yml\nname: acc-3\n"),
        ("/clusters/1.yml", "$schema: /openshift/cluster-1.yml\nname: c1\n"),
        ("/clusters/2.yml", "$schema: /openshift/cluster-1.yml\nname: c2\n"),
        (
            "/ocm/1.yml",
            "$schema: /openshift/openshift-cluster-manager-1.yml\nname: org\norgId: 1AbC\n\
            disable: {integrations: [terraform-resources]}\n",
        ),
        ("/ocm/2.yml", "$schema: /openshift/openshift-cluster-manager-1.yml\nname: two\norgId: 2XyZ\n"),
        ("/boards/1.yml", "$schema: /jira/board-1.yml\nserver: {key: AppSRE}\n"),
        ("/integration.yml", &integration),
    ];
    Bundle::from_texts(texts.into_iter().chain(more.iter().copied()))
}

fn divide(spec: &str, sharding: &str, compat: bool) -> Result<ShardSet, DataProblem> {
    divide_bundle(bundle(spec, sharding), sharding, compat)
}

fn divide_bundle(bundle: Bundle, sharding: &str, compat: bool) -> Result<ShardSet, DataProblem> {
    let model = IntegrationModel::read(&bundle, &DataScope { compat, ..DataScope::default() });
    assert_eq!(model.disabled, []);
    let mut meta = IntegrationMeta::parse(
        r#"{"terraform-resources": ["--account-name", "--cluster-name", "--org-id", "--board"]}"#,
    )
    .unwrap();
    if sharding.contains("unsupported") {
        meta = IntegrationMeta::default();
    }
    ShardBuilder::new(ShardingContext { bundle: &bundle, meta: &meta, compat }).shards(&model.entries[0])
}

fn shards(spec: &str, sharding: &str, compat: bool) -> Vec<Shard> {
    divide(spec, sharding, compat).unwrap().shards
}

fn suffixes(shards: &[Shard]) -> Vec<&str> {
    shards.iter().map(|shard| shard.suffix.as_str()).collect()
}

fn error_of(sharding: &str) -> (String, String) {
    let problem = divide("", sharding, false).unwrap_err();
    (problem.message.clone(), problem.hint.clone().unwrap_or_default())
}

#[test]
fn numbered_shards_have_numbers_as_texts_and_a_suffix_when_there_are_several() {
    let one = shards(", extraArgs: --x", "    strategy: static\n    shards: 1\n", true);
    assert_eq!(
        one[0].values(),
        json!({"shards": "1", "shard_id": "0", "shard_key": "", "shard_name_suffix": "", "extra_args": "--x"})
    );
    let three = shards("", "    strategy: static\n    shards: 3\n", true);
    assert_eq!(suffixes(&three), ["-0", "-1", "-2"]);
    assert_eq!((&*three[2].shards, &*three[2].id), ("3", "2"));
}

#[test]
fn objects_are_shards_unless_they_disable_the_integration() {
    let accounts = shards(", extraArgs: --light", "    strategy: per-aws-account\n", true);
    assert_eq!(suffixes(&accounts), ["-acc-1", "-acc-3"]);
    assert_eq!(
        (&*accounts[0].extra_args, &*accounts[0].key, &*accounts[0].id),
        ("--light --account-name acc-1", "acc-1", "")
    );
    // The leading space is kept without preceding arguments.
    assert_eq!(shards("", "    strategy: per-aws-account\n", true)[0].extra_args, " --account-name acc-1");
}

/// Spec 8.4, 16: an organization that disables an integration is not a shard of it, unlike in qontract-reconcile.
#[test]
fn organizations_have_lower_case_names_and_may_disable_integrations() {
    let strategy = "    strategy: per-ocm-organization\n";
    let was = shards("", strategy, true);
    assert_eq!(suffixes(&was), ["-1abc", "-2xyz"]);
    assert_eq!((&*was[0].key, &*was[0].extra_args), ("1AbC", " --org-id 1AbC"));
    assert_eq!(suffixes(&shards("", strategy, false)), ["-2xyz"]);
}

#[test]
fn sub_shards_are_numbered_even_if_there_is_one() {
    let with = |count: i64| {
        let text = format!(
            "    strategy: per-openshift-cluster\n    shardSpecOverrides:\n    - shard: {{$ref: /clusters/1.yml}}\n      \
            imageRef: foo\n      subSharding: {{strategy: static, shards: {count}}}\n"
        );
        shards("", &text, true)
    };
    assert_eq!(suffixes(&with(2)), ["-c1-0", "-c1-1", "-c2"]);
    assert_eq!(suffixes(&with(1)), ["-c1-0", "-c2"]);
    let parts = with(2);
    assert_eq!((&*parts[1].id, &*parts[1].shards, &*parts[1].key), ("1", "2", "c1"));
    assert_eq!(Value::Object(parts[1].overrides.clone().unwrap()), json!({"imageRef": "foo", "shard": {"name": "c1"}}));
    // Zero sub-shards fall back to the shard itself with its overrides.
    assert_eq!(suffixes(&with(0)), ["-c1", "-c2"]);
    assert_eq!(with(0)[0].overrides.as_ref().unwrap()["subSharding"], json!({"strategy": "static", "shards": 0}));
}

#[test]
fn a_new_kind_of_shard_needs_no_code() {
    let text =
        "    strategy: per-object\n    schema: /jira/board-1.yml\n    namePath: server.key\n    argument: --board\n";
    let found = shards("", text, false);
    assert_eq!((suffixes(&found), &*found[0].extra_args), (vec!["-appsre"], " --board AppSRE"));
}

#[test]
fn a_number_of_shards_can_be_derived_from_the_data() {
    let text = |rest: &str| format!("    strategy: static\n    shardsFrom: {{schema: /aws/account-1.yml{rest}}}\n");
    let two = shards("", &text(""), false);
    assert_eq!((suffixes(&two), &*two[0].shards), (vec!["-0", "-1"], "2"));
    assert_eq!(suffixes(&shards("", &text(", objectsPerShard: 2"), false)), [""]);
}

/// One shard less would change the work of all others, so nothing is counted if a file is unreadable.
#[test]
fn nothing_is_counted_with_an_unreadable_file() {
    let text = "    strategy: static\n    shardsFrom: {schema: /aws/account-1.yml}\n";
    let with = |file: &str| divide_bundle(bundle_with("", text, &[("/aws/4.yml", file)]), text, false);
    assert_eq!(with("$schema: /aws/account-1.yml\nname: acc-4\n").unwrap().shards.len(), 3);
    for broken in ["$schema: /aws/account-1.yml\nname: [\n", "$schema: /aws/account-1.yml\n", "name: [\n"] {
        let problem = with(broken).unwrap_err();
        assert!(problem.message.contains("which is unknown: /aws/4.yml"), "{problem}");
        assert_eq!(&*problem.file, "/integration.yml");
    }
    assert_eq!(with("$schema: /access/user-1.yml\nname: [\n").unwrap().shards.len(), 2, "that is no account");
}

/// A strategy without any object indicates an error in the data and causes no deletions.
#[test]
fn a_strategy_that_finds_no_object_is_an_error() {
    let text = "    strategy: per-object\n    schema: /moon/base-1.yml\n    namePath: name\n    argument: --board\n";
    let (message, hint) = error_of(text);
    assert_eq!(message, "no /moon/base-1.yml file provides a shard");
    assert!(hint.contains("remove the entry"), "{hint}");
}

#[test]
fn overrides_are_by_file_or_by_id_and_can_add_arguments() {
    let by_file = "    strategy: per-aws-account\n    shardSpecOverrides:\n    - {shard: {$ref: /aws/3.yml}, imageRef: foobar, \
        disabled: true, extraArgs: --more}\n";
    let found = shards("", by_file, false);
    assert_eq!(found[0].overrides, None);
    assert_eq!(
        Value::Object(found[1].overrides.clone().unwrap()),
        json!({"imageRef": "foobar", "disabled": true, "shard": {"name": "acc-3"}})
    );
    assert_eq!(found[1].extra_args, "--account-name acc-3 --more");
    let by_key = "    strategy: per-aws-account\n    shardSpecOverrides:\n    - {shard: acc-1, disabled: true}\n";
    assert!(shards("", by_key, false)[0].overrides.is_some());
    let by_id = "    strategy: static\n    shards: 2\n    shardSpecOverrides:\n    - {shard: 1, imageRef: x}\n";
    assert_eq!(shards("", by_id, false)[1].override_value("imageRef"), Some(&json!("x")));
}

/// Spec 8.4, 16: unmatched, wrong and duplicate overrides were silently ignored.
#[test]
fn an_override_that_matches_nothing_is_an_error_with_a_hint() {
    let over = |strategy: &str, shard: &str| {
        format!(
            "    strategy: {strategy}\n    shards: 2\n    shardSpecOverrides:\n    - {{shard: {shard}, imageRef: x}}\n"
        )
    };
    let (message, hint) = error_of(&over("per-aws-account", "{$ref: /clusters/1.yml}"));
    assert_eq!(message, "c1 (/clusters/1.yml) is not a shard of terraform-resources");
    assert_eq!(hint, "shards are files of /aws/account-1.yml, but this file is of /openshift/cluster-1.yml");
    let (_, hint) = error_of(&over("per-aws-account", "{$ref: /aws/2.yml}"));
    assert_eq!(hint, "/aws/2.yml disables terraform-resources, or cannot be read");
    assert_eq!(error_of(&over("static", "7")), ("unknown shard `7`".to_string(), "its shards are 0, 1".to_string()));
    assert!(
        divide("", &over("per-aws-account", "{$ref: /clusters/1.yml}"), true)
            .unwrap()
            .shards
            .iter()
            .all(|s| s.overrides.is_none())
    );
    let twice = "    strategy: static\n    shards: 2\n    shardSpecOverrides:\n    - {shard: 0, imageRef: x}\n    - {shard: 0, imageRef: y}\n";
    assert_eq!(error_of(twice).0, "selects the same shard as managed[0].sharding.shardSpecOverrides[0] (line 10)");
}

/// Spec 8.1, 2: no shards at all would delete all workloads.
#[test]
fn zero_shards_are_an_error() {
    assert!(error_of("    strategy: static\n    shards: 0\n").0.contains("divided into 0 shards"));
    assert_eq!(shards("", "    strategy: static\n    shards: 0\n", true), []);
    assert!(error_of("    strategy: static\n    shards: 1000000\n").0.contains("at most"));
}

/// Spec 8.5, 20: unrecorded integrations are assumed to support the option; recorded ones must.
#[test]
fn options_are_checked_where_they_are_known() {
    let unsupported = "    strategy: per-ocm-organization # unsupported\n";
    let problem = divide("", unsupported, true).unwrap_err();
    assert_eq!(
        problem.message,
        "the integration terraform-resources does not support the required argument  --org-id for the 'per-ocm-organization' sharding strategy."
    );
    let cluster = divide("", "    strategy: per-openshift-cluster # unsupported\n", true).unwrap_err();
    assert_eq!(
        cluster.message,
        "integration terraform-resources does not support the provided argument.  --cluster-name is required by the 'per-openshift-cluster' sharding strategy."
    );
    let bundle = bundle("", "    strategy: per-openshift-cluster\n");
    let model = IntegrationModel::read(&bundle, &DataScope::default());
    let meta = IntegrationMeta::parse("{}").unwrap();
    let divided =
        |compat| ShardBuilder::new(ShardingContext { bundle: &bundle, meta: &meta, compat }).shards(&model.entries[0]);
    assert!(divided(false).is_ok() && divided(true).is_err());
}

/// Spec 8.5, 21: an image may read schemas that its file does not permit, which was only detected at run time.
#[test]
fn an_image_that_needs_unlisted_schemas_is_rejected() {
    let lean = "$schema: /openshift/lean-namespace-1.yml\nname: ns\ncluster: {name: c, serverUrl: u}\nenvironment: {name: e}\n";
    let text = "$schema: /app-sre/integration-1.yml\nname: mine\nschemas: [/a-1.yml]\nmanaged:\n- namespace: {$ref: /ns.yml}\n  \
        spec: {imageRef: now, resources: {requests: {cpu: 1m, memory: 1Mi}, limits: {memory: 1Mi}}}\n  \
        sharding: {strategy: static, shards: 2, shardSpecOverrides: [{shard: '1', imageRef: next}]}\n";
    let bundle = Bundle::from_texts([("/ns.yml", lean), ("/mine.yml", text)]);
    let model = IntegrationModel::read(&bundle, &DataScope::default());
    let divided = |meta: &str, compat| {
        let meta = IntegrationMeta::parse(meta).unwrap();
        let mut divider = ShardBuilder::new(ShardingContext { bundle: &bundle, meta: &meta, compat });
        divider.shards(&model.entries[0]).map(|divided| divided.shards.len())
    };
    let meta = r#"{"mine": {"schemas": ["/a-1.yml"], "images": {"next": ["/a-1.yml", "/b-1.yml"]}}}"#;
    let problem = divided(meta, false).unwrap_err();
    assert_eq!(problem.message, "image `next` reads /b-1.yml, which `schemas` does not list");
    assert_eq!(divided(meta, true), Ok(2), "qontract-reconcile does not check");
    assert_eq!(divided(r#"{"mine": {"schemas": ["/a-1.yml"]}}"#, false), Ok(2));
    assert_eq!(divided("{}", false), Ok(2), "nothing is known of it");
}

#[test]
fn objects_with_the_same_key_are_excluded_and_reported() {
    let bundle = Bundle::from_texts([
        ("/a.yml", "$schema: /aws/account-1.yml\nname: same\n"),
        ("/b.yml", "$schema: /aws/account-1.yml\nname: same\n"),
        ("/c.yml", "$schema: /aws/account-1.yml\n"),
        ("/d.yml", "$schema: /aws/account-1.yml\nname: good\n"),
    ]);
    let candidates = ShardCandidates::from_bundle(&bundle, "/aws/account-1.yml", "name");
    assert_eq!(candidates.found.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(candidates.problems.len(), 2);
}
