//! Integrations that run at times. The original's chart knows no shards and no overrides for them; here they have both.

use serde_json::{Map, Value, json};

use super::{Context, Outcome, Rendered};
use crate::model::Entry;
use crate::sharding::Shard;
use crate::values;

/// The container of the integration.
const CONTAINER: &str = "int";

/// One CronJob for each shard. An integration that is not divided has the one it always had.
pub(super) fn render(context: &Context<'_>, entry: &Entry, shards: &[Shard]) -> Outcome<Rendered> {
    let mut rendered = Rendered::default();
    for shard in shards {
        let mut spec = entry.spec.clone();
        let base = spec.get("extraArgs").and_then(Value::as_str).unwrap_or_default();
        if shard.extra_args != base {
            spec.insert("extraArgs".to_string(), shard.extra_args.trim_start().into());
        }
        let one = Entry { spec, ..entry.clone() };
        let values = values::of_entry(&one, std::slice::from_ref(shard));
        let mut made = context.spec(values, &entry.namespace.environment)?;
        let image = made.parameters.get("IMAGE").map(|image| image.value.clone()).unwrap_or_default();
        let jobs = made.objects.iter_mut().filter(|object| object["kind"] == "CronJob");
        jobs.for_each(|job| lay_over(job, entry, shard, &image));
        rendered.objects.extend(made.objects);
        rendered.parameters = made.parameters;
    }
    Ok(rendered)
}

fn lay_over(job: &mut Value, entry: &Entry, shard: &Shard, image: &str) {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_string);
    if let (Some(name), false) = (text(job.pointer("/metadata/name")), shard.suffix.is_empty()) {
        job["metadata"]["name"] = format!("{name}{}", shard.suffix).into();
    }
    if shard.difference("disabled") == Some(&Value::Bool(true)) {
        job["spec"]["suspend"] = true.into();
    }
    let containers = job.pointer_mut("/spec/jobTemplate/spec/template/spec/containers").and_then(Value::as_array_mut);
    let containers = containers.into_iter().flatten().filter_map(Value::as_object_mut);
    for container in containers.filter(|one| one.get("name").and_then(Value::as_str) == Some(CONTAINER)) {
        let wanted = shard.difference("imageRef").or_else(|| entry.spec.get("imageRef"));
        if let Some(reference) = text(wanted).filter(|reference| !reference.is_empty()) {
            container.insert("image".to_string(), format!("{image}:{reference}").into());
        }
        if let Some(resources) = shard.difference("resources") {
            container.insert("resources".to_string(), resources.clone());
        }
        number(container, shard);
    }
}

/// Tells the program its shard, as the chart tells programs that run all the time.
fn number(container: &mut Map<String, Value>, shard: &Shard) {
    let divided = !shard.suffix.is_empty();
    let Some(Value::Array(env)) = container.get_mut("env").filter(|_| divided) else { return };
    let mut told = Vec::new();
    if !shard.id.is_empty() {
        told.push(json!({"name": "SHARDS", "value": shard.shards}));
        told.push(json!({"name": "SHARD_ID", "value": shard.id}));
    }
    if !shard.key.is_empty() {
        told.push(json!({"name": "SHARD_KEY", "value": shard.key}));
    }
    env.splice(0..0, told);
}
