//! Fields that nobody reads, fields by names of earlier years, and fields that are asked for and not there.

use serde_json::Value;

use super::near::near;
use super::{Found, Rule};
use crate::field::{Field, reference};
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

/// Names of earlier years, where they stood, with what stands in their place.
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

type Names<'a> = &'a [(&'a str, &'a str)];

/// Looks at one integration file.
pub fn integration(file: &Field<'_>, found: &mut Found) {
    known(file, INTEGRATION, RENAMED_OF_FILE, found);
    // A server is asked for what a run needs; what is for people alone does not come from there.
    let lines = file.literal("$schema").ok().flatten().is_some_and(|schema| schema.problem("").line.is_some());
    let whole = lines || file.value().get("$file_sha256sum").is_some();
    for name in NEEDED.iter().filter(|_| whole) {
        if file.value().get(*name).is_none_or(Value::is_null) {
            found.warn(Rule::MissingField, file.problem(format!("has no `{name}`, which app-interface asks for")));
        }
    }
    with(file, "pr_check", |check| known(check, PR_CHECK, &[], found));
    for name in ["managed", "operate"] {
        each(file, name, |element| managed(element, found));
    }
}

fn managed(element: &Field<'_>, found: &mut Found) {
    known(element, MANAGED, RENAMED_OF_MANAGED, found);
    with(element, "spec", |spec| {
        let names: Vec<&str> = model::known_spec_fields().chain(["$schema"]).collect();
        known(spec, &names, RENAMED_OF_SPEC, found);
        with(spec, "logs", |logs| known(logs, LOGS, &[], found));
        each(spec, "extraEnv", |env| known(env, ENV, &[], found));
        with(spec, "resources", |resources| amounts(resources, found));
        with(spec, "fluentdResources", |resources| amounts(resources, found));
    });
    with(element, "sharding", |sharding| {
        known(sharding, SHARDING, &[], found);
        with(sharding, "shardsFrom", |from| known(from, SHARDS_FROM, &[], found));
        each(sharding, "shardSpecOverrides", |one| over(one, found));
    });
    each(element, "shardSpecOverride", |one| over(one, found));
}

fn over(one: &Field<'_>, found: &mut Found) {
    known(one, OVERRIDE, RENAMED_OF_OVERRIDE, found);
    with(one, "resources", |resources| amounts(resources, found));
    with(one, "subSharding", |sub| known(sub, SUB_SHARDING, &[], found));
}

fn amounts(resources: &Field<'_>, found: &mut Found) {
    known(resources, RESOURCES, &[], found);
    for side in RESOURCES {
        with(resources, side, |amounts| known(amounts, AMOUNTS, &[], found));
    }
}

/// Tells of every field that is not among the known ones.
fn known(field: &Field<'_>, names: &[&str], renamed: Names<'_>, found: &mut Found) {
    // What is written in another file is that file's.
    if reference(field.value()).is_some() {
        return;
    }
    for key in field.value().as_object().into_iter().flat_map(|map| map.keys()) {
        let Ok(Some(one)) = field.literal(key) else { continue };
        if let Some((_, now)) = renamed.iter().find(|(old, _)| old == key) {
            let problem = one.problem("has another name today").hint(format!("write {now}"));
            found.warn(Rule::RenamedField, problem);
        } else if !names.contains(&key.as_str()) {
            let problem = one.problem("is not known, and does nothing");
            let hint = match near(key, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "known are {}",
                    names.iter().filter(|n| !n.starts_with('$')).copied().collect::<Vec<_>>().join(", ")
                ),
            };
            found.warn(Rule::UnknownField, problem.hint(hint));
        }
    }
}

/// A field, where it is there and written here; what is wrong with it is told by whoever uses it.
fn with<'b>(field: &Field<'b>, key: &str, look: impl FnOnce(&Field<'b>)) {
    if let Ok(Some(one)) = field.literal(key) {
        look(&one);
    }
}

fn each<'b>(field: &Field<'b>, key: &str, mut look: impl FnMut(&Field<'b>)) {
    with(field, key, |list| list.list().unwrap_or_default().iter().for_each(&mut look));
}
