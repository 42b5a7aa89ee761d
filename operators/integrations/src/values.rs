//! Chart values of integrations and their shards.

use serde_json::{Map, Value};

use crate::model::ManagedEntry;
use crate::sharding::Shard;

/// Returns the values of an integration with its shards.
pub fn of_entry(entry: &ManagedEntry, shards: &[Shard]) -> Value {
    let mut spec = entry.spec.clone();
    spec.insert("name".to_string(), Value::String(entry.integration.to_string()));
    spec.insert("shard_specs".to_string(), shards.iter().map(Shard::values).collect());
    Value::Object(spec)
}

/// Whether an integration runs as a CronJob.
pub fn is_cron(spec: &Map<String, Value>) -> bool {
    spec.get("cron").and_then(Value::as_str).is_some_and(|cron| !cron.is_empty())
}

/// Returns the values of several integrations, separated into workloads and CronJobs.
pub fn of_all(specs: impl IntoIterator<Item = Value>) -> Map<String, Value> {
    let (crons, others): (Vec<Value>, Vec<Value>) =
        specs.into_iter().partition(|spec| spec.as_object().is_some_and(is_cron));
    let mut values = Map::new();
    values.insert("integrations".to_string(), Value::Array(others));
    values.insert("cronjobs".to_string(), Value::Array(crons));
    values
}
