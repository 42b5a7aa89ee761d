//! Checks for unknown, renamed and missing fields.

use serde_json::Value;

use super::suggestion::nearest;
use super::{LintFindings, LintRule};
use crate::data_field::{DataField, reference};
use crate::model;

const INTEGRATION: &[&str] = &[
    "$schema",
    "$file_sha256sum",
    "path",
    "labels",
    "name",
    "description",
    "upstream",
    "schemas",
    "pr_check",
    "managed",
];
const NEEDED: &[&str] = &["labels", "description", "schemas"];
const PR_CHECK: &[&str] = &[
    "cmd",
    "state",
    "sqs",
    "disabled",
    "always_run",
    "no_validate_schemas",
    "run_for_valid_saas_file_changes",
    "early_exit",
    "check_only_affected_shards",
    "run_order",
    "imageRef",
];
const MANAGED: &[&str] = &["namespace", "spec", "sharding"];
const LOGS: &[&str] = &["slack", "googleChat", "slackErrorFilter", "govSlack"];
const ENV: &[&str] = &["secretName", "secretKey", "name", "value"];
const RESOURCES: &[&str] = &["requests", "limits"];
const AMOUNTS: &[&str] = &["cpu", "memory"];
const SHARDING: &[&str] = &["strategy", "shards", "shardSpecOverrides", "shardsFrom", "schema", "namePath", "argument"];
const SHARDS_FROM: &[&str] = &["schema", "objectsPerShard"];
const OVERRIDE: &[&str] = &["shard", "imageRef", "disabled", "resources", "subSharding", "extraArgs"];
const SUB_SHARDING: &[&str] = &["strategy", "shards"];

/// Outdated field names and their replacements, by position.
const RENAMED_OF_FILE: &[(&str, &str)] = &[("operate", "`managed`")];
const RENAMED_OF_MANAGED: &[(&str, &str)] = &[("shardSpecOverride", "`shardSpecOverrides` under `sharding`")];
const RENAMED_OF_SPEC: &[(&str, &str)] =
    &[("shardingStrategy", "`strategy` under `sharding`"), ("shards", "`shards` under `sharding`")];
const RENAMED_OF_OVERRIDE: &[(&str, &str)] = &[
    ("awsAccount", "`shard`"),
    ("awsAccounts", "`shard`, once for each account"),
    ("shardId", "`shard`"),
    ("shardingStrategy", "`strategy` under `sharding`"),
];

type FieldRenames<'a> = &'a [(&'a str, &'a str)];

/// Checks an integration file.
pub fn integration(file: &DataField<'_>, found: &mut LintFindings) {
    check_known(file, INTEGRATION, RENAMED_OF_FILE, found);
    // Data from a server contains only the queried fields, without those for documentation.
    let lines = file.literal("$schema").ok().flatten().is_some_and(|schema| schema.problem("").line.is_some());
    let whole = lines || file.value().get("$file_sha256sum").is_some();
    for name in NEEDED.iter().filter(|_| whole) {
        if file.value().get(*name).is_none_or(Value::is_null) {
            found.warn(LintRule::MissingField, file.problem(format!("has no `{name}`, which app-interface requires")));
        }
    }
    with(file, "pr_check", |check| check_known(check, PR_CHECK, &[], found));
    for name in ["managed", "operate"] {
        each(file, name, |element| managed(element, found));
    }
}

fn managed(element: &DataField<'_>, found: &mut LintFindings) {
    check_known(element, MANAGED, RENAMED_OF_MANAGED, found);
    with(element, "spec", |spec| {
        let names: Vec<&str> = model::known_spec_fields().chain(["$schema"]).collect();
        check_known(spec, &names, RENAMED_OF_SPEC, found);
        with(spec, "logs", |logs| check_known(logs, LOGS, &[], found));
        each(spec, "extraEnv", |env| check_known(env, ENV, &[], found));
        with(spec, "resources", |resources| amounts(resources, found));
        with(spec, "fluentdResources", |resources| amounts(resources, found));
    });
    with(element, "sharding", |sharding| {
        check_known(sharding, SHARDING, &[], found);
        with(sharding, "shardsFrom", |from| check_known(from, SHARDS_FROM, &[], found));
        each(sharding, "shardSpecOverrides", |one| shard_override(one, found));
    });
    each(element, "shardSpecOverride", |one| shard_override(one, found));
}

fn shard_override(one: &DataField<'_>, found: &mut LintFindings) {
    check_known(one, OVERRIDE, RENAMED_OF_OVERRIDE, found);
    with(one, "resources", |resources| amounts(resources, found));
    with(one, "subSharding", |sub| check_known(sub, SUB_SHARDING, &[], found));
}

fn amounts(resources: &DataField<'_>, found: &mut LintFindings) {
    check_known(resources, RESOURCES, &[], found);
    for side in RESOURCES {
        with(resources, side, |amounts| check_known(amounts, AMOUNTS, &[], found));
    }
}

/// Reports every unknown field.
fn check_known(field: &DataField<'_>, names: &[&str], renamed: FieldRenames<'_>, found: &mut LintFindings) {
    // The fields of another file are checked there.
    if reference(field.value()).is_some() {
        return;
    }
    for key in field.value().as_object().into_iter().flat_map(|map| map.keys()) {
        let Ok(Some(one)) = field.literal(key) else { continue };
        if let Some((_, now)) = renamed.iter().find(|(old, _)| old == key) {
            let problem = one.problem("has an outdated name").hint(format!("use {now}"));
            found.warn(LintRule::RenamedField, problem);
        } else if !names.contains(&key.as_str()) {
            let problem = one.problem("is unknown and has no effect");
            let hint = match nearest(key, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "known fields are {}",
                    names.iter().filter(|n| !n.starts_with('$')).copied().collect::<Vec<_>>().join(", ")
                ),
            };
            found.warn(LintRule::UnknownField, problem.hint(hint));
        }
    }
}

/// Calls `look` with a field if it exists. Problems are reported by the code that uses the field.
fn with<'b>(field: &DataField<'b>, key: &str, look: impl FnOnce(&DataField<'b>)) {
    if let Ok(Some(one)) = field.literal(key) {
        look(&one);
    }
}

fn each<'b>(field: &DataField<'b>, key: &str, mut look: impl FnMut(&DataField<'b>)) {
    with(field, key, |list| list.list().unwrap_or_default().iter().for_each(&mut look));
}
