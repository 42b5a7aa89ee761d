//! Overrides of single shards.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::spec;
use crate::data_field::{DataField, reference};
use crate::problem::DataProblem;

/// Selector of the shard to override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardSelector {
    /// Shard of a datafile.
    File {
        /// Path of the file.
        path: Arc<str>,
        /// `name` of the file, the only field that qontract-reconcile compares.
        name: String,
    },
    /// Shard with this id or key.
    Id(String),
}

/// Override of one shard.
#[derive(Clone, Debug)]
pub struct ShardOverride {
    /// Selector of the shard.
    pub shard: ShardSelector,
    /// `imageRef`, `disabled`, `resources` and the selected object, in the form of chart values.
    pub fields: Map<String, Value>,
    /// Number of sub-shards.
    pub sub_shards: Option<i64>,
    /// Additional arguments.
    pub extra_args: Option<String>,
    /// Template for problems, with the position of the override.
    pub position: DataProblem,
}

/// Reads an override. `object` is the field that selects the shard.
pub(super) fn read(element: &DataField<'_>, object: &DataField<'_>) -> Result<ShardOverride, DataProblem> {
    let mut fields = Map::new();
    let shard = if reference(object.value()).is_some() || object.value().is_object() {
        let file = object.clone().resolved()?;
        let name = file.required_text("name")?;
        fields.insert("shard".to_string(), shard_fields(&file, &name)?);
        ShardSelector::File { path: file.file().path.clone(), name }
    } else {
        ShardSelector::Id(object.text()?)
    };
    if let Some(image) = element.optional_text("imageRef")? {
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
        let strategy = sub.required_text("strategy")?;
        if strategy != "static" {
            return Err(sub
                .required("strategy")?
                .problem(format!("sub-shards support only the strategy `static`, not `{strategy}`")));
        }
        let shards = sub.required("shards")?.integer()?;
        fields.insert("subSharding".to_string(), serde_json::json!({"strategy": strategy, "shards": shards}));
        sub_shards = Some(shards);
    }
    let extra_args = element.optional_text("extraArgs")?;
    Ok(ShardOverride { shard, fields, sub_shards, extra_args, position: element.problem("") })
}

/// Returns the fields of the selected object that a server would return.
fn shard_fields(file: &DataField<'_>, name: &str) -> Result<Value, DataProblem> {
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
            shard.insert("orgId".to_string(), Value::String(file.required_text("orgId")?));
        }
        _ => {}
    }
    Ok(Value::Object(shard))
}
