//! Names of the seeds, and of years between, for what has other names today.
//!
//! `operate` is `managed`; `spec.shardingStrategy` and `spec.shards` are `sharding`; `shardSpecOverride` with `shard`,
//! `awsAccount` or `awsAccounts` is `sharding.shardSpecOverrides`.

use super::overrides::{self, Override};
use super::{AWS_ACCOUNT, CLUSTER, OCM_ORGANIZATION, ObjectKind, Sharding, Strategy};
use crate::field::Field;
use crate::problem::Problem;

type Outcome<T> = Result<T, Problem>;

/// Fields that have other names today, with those: what the lint tells.
pub const RENAMED: &[(&str, &str)] = &[
    ("operate", "managed"),
    ("shardSpecOverride", "sharding.shardSpecOverrides"),
    ("shardingStrategy", "sharding.strategy"),
    ("shards", "sharding.shards"),
    ("awsAccount", "shard"),
    ("awsAccounts", "shard"),
];

/// The elements of `managed`, and of `operate`.
pub(super) fn managed<'b>(file: &Field<'b>, compat: bool) -> Outcome<Vec<Field<'b>>> {
    let names: &[&str] = if compat { &["managed"] } else { &["managed", "operate"] };
    let mut elements = Vec::new();
    for name in names {
        if let Some(list) = file.get(name)? {
            elements.extend(list.list()?);
        }
    }
    Ok(elements)
}

/// `sharding` of an element, whatever it was called.
pub(super) fn sharding(element: &Field<'_>, spec: &Field<'_>, compat: bool) -> Outcome<Sharding> {
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
        let name = sharding.need("strategy")?;
        return Ok(Sharding { strategy: strategy(&name.text()?, &sharding, &name)?, overrides });
    }
    let named = spec.get("shardingStrategy")?.filter(|_| !compat);
    let shards = spec.get("shards")?.filter(|_| !compat);
    let strategy = match (named, shards) {
        (Some(name), _) => strategy(&name.text()?, spec, &name)?,
        (None, Some(shards)) => Strategy::Static(shards.integer()?),
        (None, None) => Strategy::Static(1),
    };
    Ok(Sharding { strategy, overrides })
}

fn read_override(one: &Field<'_>, compat: bool, into: &mut Vec<Override>) -> Outcome<()> {
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
    let hint = "name the shard with `shard: {$ref: …}`, or with `shard: \"0\"` for its id";
    Err(one.problem("names no shard").hint(hint))
}

fn strategy(name: &str, around: &Field<'_>, place: &Field<'_>) -> Outcome<Strategy> {
    let kind = |schema: &str, key: &str, argument: &str, honours_disable, sub_shards| {
        Strategy::PerObject(ObjectKind {
            strategy: name.to_string(),
            schema: schema.to_string(),
            key: key.to_string(),
            argument: argument.to_string(),
            honours_disable,
            sub_shards,
        })
    };
    Ok(match name {
        "static" => match around.get("shardsFrom")? {
            Some(from) => {
                let per_shard = from.get("objectsPerShard")?.map(|field| field.integer()).transpose()?.unwrap_or(1);
                if per_shard < 1 {
                    return Err(from.need("objectsPerShard")?.problem("must be at least 1"));
                }
                Strategy::Counted { schema: from.need_text("schema")?, per_shard }
            }
            None => Strategy::Static(around.need("shards")?.integer()?),
        },
        "per-aws-account" => kind(AWS_ACCOUNT, "name", "--account-name", true, false),
        "per-openshift-cluster" => kind(CLUSTER, "name", "--cluster-name", true, true),
        "per-ocm-organization" => kind(OCM_ORGANIZATION, "orgId", "--org-id", false, false),
        "per-object" => {
            let key = around.some_text("namePath")?.unwrap_or_else(|| "name".to_string());
            kind(&around.need_text("schema")?, &key, &around.need_text("argument")?, true, true)
        }
        other => {
            let hint = "static, per-aws-account, per-openshift-cluster, per-ocm-organization, or per-object with \
                        `schema`, `namePath` and `argument`";
            return Err(place.problem(format!("there is no strategy `{other}`")).hint(hint));
        }
    })
}
