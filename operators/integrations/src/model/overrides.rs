//! What is different in single shards.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::spec;
use crate::field::{Field, reference};
use crate::problem::Problem;

/// Which shard an override means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardName {
    /// The shard of a datafile.
    File {
        /// The file.
        path: Arc<str>,
        /// Its `name`, which is all the original looks at.
        name: String,
    },
    /// The shard of that id or key.
    Id(String),
}

/// What is different in one shard.
#[derive(Clone, Debug)]
pub struct Override {
    /// Which.
    pub shard: ShardName,
    /// `imageRef`, `disabled`, `resources`, and the object meant, as charts get them.
    pub fields: Map<String, Value>,
    /// Into how many the shard is divided once more.
    pub sub_shards: Option<i64>,
    /// Arguments behind the others.
    pub extra_args: Option<String>,
    /// What is wrong with it is told with this as its beginning.
    pub place: Problem,
}

/// Reads one override. `object` is where the shard is named.
pub(super) fn read(element: &Field<'_>, object: &Field<'_>) -> Result<Override, Problem> {
    let mut fields = Map::new();
    let shard = if reference(object.value()).is_some() || object.value().is_object() {
        let file = object.clone().followed()?;
        let name = file.need_text("name")?;
        fields.insert("shard".to_string(), shard_fields(&file, &name)?);
        ShardName::File { path: file.file().path.clone(), name }
    } else {
        ShardName::Id(object.text()?)
    };
    if let Some(image) = element.some_text("imageRef")? {
        fields.insert("imageRef".to_string(), Value::String(image));
    }
    if let Some(disabled) = element.get("disabled")? {
        fields.insert("disabled".to_string(), Value::Bool(disabled.flag()?));
    }
    if let Some(resources) = element.get("resources")? {
        fields.insert("resources".to_string(), spec::resources(&resources)?);
    }
    let mut sub_shards = None;
    if let Some(sub) = element.get("subSharding")? {
        let strategy = sub.need_text("strategy")?;
        if strategy != "static" {
            return Err(sub
                .need("strategy")?
                .problem(format!("a shard can be divided by `static` alone, not by `{strategy}`")));
        }
        let shards = sub.need("shards")?.integer()?;
        fields.insert("subSharding".to_string(), serde_json::json!({"strategy": strategy, "shards": shards}));
        sub_shards = Some(shards);
    }
    let extra_args = element.some_text("extraArgs")?;
    Ok(Override { shard, fields, sub_shards, extra_args, place: element.problem("") })
}

/// What the server gives out of the object meant.
fn shard_fields(file: &Field<'_>, name: &str) -> Result<Value, Problem> {
    let mut shard = Map::new();
    shard.insert("name".to_string(), Value::String(name.to_string()));
    match &*file.file().schema {
        super::AWS_ACCOUNT => {
            if let Some(disable) = file.get("disable")? {
                let mut fields = Map::new();
                if let Some(integrations) = disable.get("integrations")? {
                    fields.insert("integrations".to_string(), integrations.value().clone());
                }
                shard.insert("disable".to_string(), Value::Object(fields));
            }
        }
        super::OCM_ORGANIZATION => {
            shard.insert("orgId".to_string(), Value::String(file.need_text("orgId")?));
        }
        _ => {}
    }
    Ok(Value::Object(shard))
}
