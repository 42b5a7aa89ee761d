//! Integrations that run as CronJobs. Unlike qontract-reconcile's chart, they support shards and overrides.

use serde_json::{Map, Value, json};

use super::{RenderContext, RenderResult, RenderedObjects};
use crate::model::ManagedEntry;
use crate::sharding::Shard;
use crate::values;

/// Container of the integration.
const CONTAINER: &str = "int";

/// Renders one CronJob for each shard. An undivided integration keeps its single CronJob.
pub(super) fn render(
    context: &RenderContext<'_>,
    entry: &ManagedEntry,
    shards: &[Shard],
) -> RenderResult<RenderedObjects> {
    let mut rendered = RenderedObjects::default();
    for shard in shards {
        let mut spec = entry.spec.clone();
        let base = spec.get("extraArgs").and_then(Value::as_str).unwrap_or_default();
        if shard.extra_args != base {
            spec.insert("extraArgs".to_string(), shard.extra_args.trim_start().into());
        }
        let one = ManagedEntry { spec, ..entry.clone() };
        let values = values::of_entry(&one, std::slice::from_ref(shard));
        let mut made = context.spec(values, &entry.namespace.environment)?;
        let image = made.parameters.get("IMAGE").map(|image| image.value.clone()).unwrap_or_default();
        let jobs = made.objects.iter_mut().filter(|object| object["kind"] == "CronJob");
        jobs.for_each(|job| apply_override(job, entry, shard, &image));
        rendered.objects.extend(made.objects);
        rendered.parameters = made.parameters;
    }
    Ok(rendered)
}

fn apply_override(job: &mut Value, entry: &ManagedEntry, shard: &Shard, image: &str) {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_string);
    if let (Some(name), false) = (text(job.pointer("/metadata/name")), shard.suffix.is_empty()) {
        job["metadata"]["name"] = format!("{name}{}", shard.suffix).into();
    }
    if shard.override_value("disabled") == Some(&Value::Bool(true)) {
        job["spec"]["suspend"] = true.into();
    }
    let containers = job.pointer_mut("/spec/jobTemplate/spec/template/spec/containers").and_then(Value::as_array_mut);
    let containers = containers.into_iter().flatten().filter_map(Value::as_object_mut);
    for container in containers.filter(|one| one.get("name").and_then(Value::as_str) == Some(CONTAINER)) {
        let wanted = shard.override_value("imageRef").or_else(|| entry.spec.get("imageRef"));
        if let Some(reference) = text(wanted).filter(|reference| !reference.is_empty()) {
            container.insert("image".to_string(), format!("{image}:{reference}").into());
        }
        if let Some(resources) = shard.override_value("resources") {
            container.insert("resources".to_string(), resources.clone());
        }
        set_shard_variables(container, shard);
    }
}

/// Sets the environment variables of the shard, like the chart does for other workloads.
fn set_shard_variables(container: &mut Map<String, Value>, shard: &Shard) {
    let divided = !shard.suffix.is_empty();
    let Some(Value::Array(env)) = container.get_mut("env").filter(|_| divided) else { return };
    let mut variables = Vec::new();
    if !shard.id.is_empty() {
        variables.push(json!({"name": "SHARDS", "value": shard.shards}));
        variables.push(json!({"name": "SHARD_ID", "value": shard.id}));
    }
    if !shard.key.is_empty() {
        variables.push(json!({"name": "SHARD_KEY", "value": shard.key}));
    }
    env.splice(0..0, variables);
}
