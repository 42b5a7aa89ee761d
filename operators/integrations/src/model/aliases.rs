//! Outdated names of fields, from the seed documents and from earlier versions.
//!
//! `operate` is `managed`; `spec.shardingStrategy` and `spec.shards` are `sharding`; `shardSpecOverride` with `shard`,
//! `awsAccount` or `awsAccounts` is `sharding.shardSpecOverrides`.

use super::overrides::{self, ShardOverride};
use super::{AWS_ACCOUNT, CLUSTER, OCM_ORGANIZATION, PerObjectStrategy, Sharding, ShardingStrategy};
use crate::data_field::DataField;
use crate::problem::DataProblem;

type AliasResult<T> = Result<T, DataProblem>;

/// Outdated field names with their replacements, for the linter.
pub const RENAMED: &[(&str, &str)] = &[
    ("operate", "managed"),
    ("shardSpecOverride", "sharding.shardSpecOverrides"),
    ("shardingStrategy", "sharding.strategy"),
    ("shards", "sharding.shards"),
    ("awsAccount", "shard"),
    ("awsAccounts", "shard"),
];

/// Returns the elements of `managed` and `operate`.
pub(super) fn managed<'b>(file: &DataField<'b>, compat: bool) -> AliasResult<Vec<DataField<'b>>> {
    let names: &[&str] = if compat { &["managed"] } else { &["managed", "operate"] };
    let mut elements = Vec::new();
    for name in names {
        if let Some(list) = file.get(name)? {
            elements.extend(list.list()?);
        }
    }
    Ok(elements)
}

/// Reads the sharding of an entry from its current and outdated fields.
pub(super) fn sharding(element: &DataField<'_>, spec: &DataField<'_>, compat: bool) -> AliasResult<Sharding> {
    let mut overrides = Vec::new();
    if let Some(list) = element.get("shardSpecOverride")?.filter(|_| !compat) {
        for one in list.list()? {
            read_override(&one, compat, &mut overrides)?;
        }
    }
    if let Some(sharding) = element.get("sharding")? {
        if let Some(list) = sharding.get("shardSpecOverrides")? {
            for one in list.list()? {
                read_override(&one, compat, &mut overrides)?;
            }
        }
        let name = sharding.required("strategy")?;
        return Ok(Sharding { strategy: strategy(&name.text()?, &sharding, &name)?, overrides });
    }
    let named = spec.get("shardingStrategy")?.filter(|_| !compat);
    let shards = spec.get("shards")?.filter(|_| !compat);
    let strategy = match (named, shards) {
        (Some(name), _) => strategy(&name.text()?, spec, &name)?,
        (None, Some(shards)) => ShardingStrategy::Static(shards.integer()?),
        (None, None) => ShardingStrategy::Static(1),
    };
    Ok(Sharding { strategy, overrides })
}

fn read_override(one: &DataField<'_>, compat: bool, into: &mut Vec<ShardOverride>) -> AliasResult<()> {
    if let Some(shard) = one.literal("shard")? {
        into.push(overrides::read(one, &shard)?);
        return Ok(());
    }
    if !compat {
        for name in ["shardId", "awsAccount"] {
            if let Some(shard) = one.literal(name)? {
                into.push(overrides::read(one, &shard)?);
                return Ok(());
            }
        }
        if let Some(accounts) = one.literal("awsAccounts")? {
            for account in accounts.list()? {
                into.push(overrides::read(one, &account)?);
            }
            return Ok(());
        }
    }
    let hint = "select the shard with `shard: {$ref: …}`, or with `shard: \"0\"` for its id";
    Err(one.problem("selects no shard").hint(hint))
}

fn strategy(name: &str, around: &DataField<'_>, place: &DataField<'_>) -> AliasResult<ShardingStrategy> {
    let kind = |schema: &str, key: &str, argument: &str, honours_disable, sub_shards| {
        ShardingStrategy::PerObject(PerObjectStrategy {
            strategy: name.to_string(),
            schema: schema.to_string(),
            key: key.to_string(),
            argument: argument.to_string(),
            honors_disable: honours_disable,
            sub_shards,
        })
    };
    Ok(match name {
        "static" => match around.get("shardsFrom")? {
            Some(from) => {
                let per_shard = from.get("objectsPerShard")?.map(|field| field.integer()).transpose()?.unwrap_or(1);
                if per_shard < 1 {
                    return Err(from.required("objectsPerShard")?.problem("must be at least 1"));
                }
                ShardingStrategy::Counted { schema: from.required_text("schema")?, per_shard }
            }
            None => ShardingStrategy::Static(around.required("shards")?.integer()?),
        },
        "per-aws-account" => kind(AWS_ACCOUNT, "name", "--account-name", true, false),
        "per-openshift-cluster" => kind(CLUSTER, "name", "--cluster-name", true, true),
        "per-ocm-organization" => kind(OCM_ORGANIZATION, "orgId", "--org-id", false, false),
        "per-object" => {
            let key = around.optional_text("namePath")?.unwrap_or_else(|| "name".to_string());
            kind(&around.required_text("schema")?, &key, &around.required_text("argument")?, true, true)
        }
        other => {
            let hint = "static, per-aws-account, per-openshift-cluster, per-ocm-organization, or per-object with \
                        `schema`, `namePath` and `argument`";
            return Err(place.problem(format!("unknown strategy `{other}`")).hint(hint));
        }
    })
}
