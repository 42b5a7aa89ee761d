//! `spec` of an integration in the form of chart values: known fields with valid types and without nulls.

use serde_json::{Map, Value};

use crate::data_field::DataField;
use crate::problem::DataProblem;

/// Type of a field.
#[derive(Clone, Copy)]
enum SpecFieldType {
    Text,
    Flag,
    Count,
    Logs,
    Resources,
    Env,
}

/// Fields of `/app-sre/integration-spec-1.yml`.
const FIELDS: &[(&str, SpecFieldType)] = &[
    ("cache", SpecFieldType::Flag),
    ("command", SpecFieldType::Text),
    ("concurrencyPolicy", SpecFieldType::Text),
    ("cron", SpecFieldType::Text),
    ("dashdotdb", SpecFieldType::Flag),
    ("disableUnleash", SpecFieldType::Flag),
    ("enablePushgateway", SpecFieldType::Flag),
    ("environmentAware", SpecFieldType::Flag),
    ("extraArgs", SpecFieldType::Text),
    ("extraEnv", SpecFieldType::Env),
    ("failedJobHistoryLimit", SpecFieldType::Count),
    ("fluentdResources", SpecFieldType::Resources),
    ("imageRef", SpecFieldType::Text),
    ("internalCertificates", SpecFieldType::Flag),
    ("logs", SpecFieldType::Logs),
    ("resources", SpecFieldType::Resources),
    ("restartPolicy", SpecFieldType::Text),
    ("sleepDurationSecs", SpecFieldType::Text),
    ("state", SpecFieldType::Flag),
    ("storage", SpecFieldType::Text),
    ("storageClassName", SpecFieldType::Text),
    ("successfulJobHistoryLimit", SpecFieldType::Count),
    ("trigger", SpecFieldType::Flag),
];

const LOGS: &[&str] = &["googleChat", "govSlack", "slack", "slackErrorFilter"];
const ENV: &[&str] = &["name", "secretKey", "secretName", "value"];

/// Returns the names of all known fields.
pub fn field_names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|(name, _)| *name)
}

/// Reads a spec. Unknown fields are ignored and reported by the linter.
pub(super) fn read(spec: &DataField<'_>) -> Result<Map<String, Value>, DataProblem> {
    let mut read = Map::new();
    spec.required("resources")?;
    for (name, kind) in FIELDS {
        let Some(field) = spec.get(name)? else { continue };
        let value = match kind {
            SpecFieldType::Text => Value::String(field.text()?),
            SpecFieldType::Flag => Value::Bool(field.flag()?),
            SpecFieldType::Count => field.integer()?.into(),
            SpecFieldType::Logs => flags(&field)?,
            SpecFieldType::Resources => resources(&field)?,
            SpecFieldType::Env => {
                let entries = field.list()?;
                Value::Array(entries.iter().map(env).collect::<Result<_, _>>()?)
            }
        };
        read.insert((*name).to_string(), value);
    }
    Ok(read)
}

fn flags(field: &DataField<'_>) -> Result<Value, DataProblem> {
    let mut read = Map::new();
    for name in LOGS {
        if let Some(flag) = field.get(name)? {
            read.insert((*name).to_string(), Value::Bool(flag.flag()?));
        }
    }
    Ok(Value::Object(read))
}

fn env(field: &DataField<'_>) -> Result<Value, DataProblem> {
    let mut read = Map::new();
    for name in ENV {
        if let Some(text) = field.get(name)? {
            // Booleans are a common mistake here. The server converts them to text, and so does this function.
            let text = match text.value() {
                Value::Bool(flag) => flag.to_string(),
                _ => text.text()?,
            };
            read.insert((*name).to_string(), Value::String(text));
        }
    }
    Ok(Value::Object(read))
}

/// Reads requests and limits. Both are required, with memory in both and CPU in the requests.
pub(super) fn resources(field: &DataField<'_>) -> Result<Value, DataProblem> {
    let mut read = Map::new();
    for (side, cpu_needed) in [("limits", false), ("requests", true)] {
        let amounts = field.required(side)?;
        let mut of_side = Map::new();
        for name in ["cpu", "memory"] {
            match amounts.optional_text(name)? {
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
