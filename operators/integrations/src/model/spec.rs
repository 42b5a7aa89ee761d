//! `spec` of an integration, as charts get it: known fields, of the right types, none that is null.

use serde_json::{Map, Value};

use crate::field::Field;
use crate::problem::Problem;

/// What a field of the spec is.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    Count,
    Logs,
    Resources,
    Env,
}

/// Every field of `/app-sre/integration-spec-1.yml`.
const FIELDS: &[(&str, Kind)] = &[
    ("cache", Kind::Flag),
    ("command", Kind::Text),
    ("concurrencyPolicy", Kind::Text),
    ("cron", Kind::Text),
    ("dashdotdb", Kind::Flag),
    ("disableUnleash", Kind::Flag),
    ("enablePushgateway", Kind::Flag),
    ("environmentAware", Kind::Flag),
    ("extraArgs", Kind::Text),
    ("extraEnv", Kind::Env),
    ("failedJobHistoryLimit", Kind::Count),
    ("fluentdResources", Kind::Resources),
    ("imageRef", Kind::Text),
    ("internalCertificates", Kind::Flag),
    ("logs", Kind::Logs),
    ("resources", Kind::Resources),
    ("restartPolicy", Kind::Text),
    ("sleepDurationSecs", Kind::Text),
    ("state", Kind::Flag),
    ("storage", Kind::Text),
    ("storageClassName", Kind::Text),
    ("successfulJobHistoryLimit", Kind::Count),
    ("trigger", Kind::Flag),
];

const LOGS: &[&str] = &["googleChat", "govSlack", "slack", "slackErrorFilter"];
const ENV: &[&str] = &["name", "secretKey", "secretName", "value"];

/// The names of all fields that are known.
pub fn known() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|(name, _)| *name)
}

/// Reads a spec. Fields that are not known are left to the lint.
pub(super) fn read(spec: &Field<'_>) -> Result<Map<String, Value>, Problem> {
    let mut read = Map::new();
    spec.need("resources")?;
    for (name, kind) in FIELDS {
        let Some(field) = spec.get(name)? else { continue };
        let value = match kind {
            Kind::Text => Value::String(field.text()?),
            Kind::Flag => Value::Bool(field.flag()?),
            Kind::Count => field.integer()?.into(),
            Kind::Logs => flags(&field)?,
            Kind::Resources => resources(&field)?,
            Kind::Env => {
                let entries = field.list()?;
                Value::Array(entries.iter().map(env).collect::<Result<_, _>>()?)
            }
        };
        read.insert((*name).to_string(), value);
    }
    Ok(read)
}

fn flags(field: &Field<'_>) -> Result<Value, Problem> {
    let mut read = Map::new();
    for name in LOGS {
        if let Some(flag) = field.get(name)? {
            read.insert((*name).to_string(), Value::Bool(flag.flag()?));
        }
    }
    Ok(Value::Object(read))
}

fn env(field: &Field<'_>) -> Result<Value, Problem> {
    let mut read = Map::new();
    for name in ENV {
        if let Some(text) = field.get(name)? {
            // A flag is what people write here most often by mistake; the server makes it a text, and so does this.
            let text = match text.value() {
                Value::Bool(flag) => flag.to_string(),
                _ => text.text()?,
            };
            read.insert((*name).to_string(), Value::String(text));
        }
    }
    Ok(Value::Object(read))
}

/// Requests and limits; both must be there, with memory in both and a CPU request.
pub(super) fn resources(field: &Field<'_>) -> Result<Value, Problem> {
    let mut read = Map::new();
    for (side, cpu_needed) in [("limits", false), ("requests", true)] {
        let amounts = field.need(side)?;
        let mut of_side = Map::new();
        for name in ["cpu", "memory"] {
            match amounts.some_text(name)? {
                Some(text) => drop(of_side.insert(name.to_string(), Value::String(text))),
                None if name == "memory" || cpu_needed => {
                    return Err(amounts.problem(format!("has no `{name}`")));
                }
                None => {}
            }
        }
        read.insert(side.to_string(), Value::Object(of_side));
    }
    Ok(Value::Object(read))
}
