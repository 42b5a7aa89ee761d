//! Field paths, and the effect of a write on a field.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::plan::{Mutation, PatchType, WriteOp};

/// Path such as `.spec.replicas`, `data["a.b"]` or `spec.containers[0].image`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(pub Vec<String>);

/// Invalid field path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a field path; write it as `.spec.replicas` or `.data[\"a.b\"]`")]
pub struct FieldPathError(String);

impl FromStr for FieldPath {
    type Err = FieldPathError;

    fn from_str(text: &str) -> Result<Self, FieldPathError> {
        let wrong = || FieldPathError(text.to_string());
        let (mut steps, mut rest) = (Vec::new(), text.strip_prefix('.').unwrap_or(text));
        while !rest.is_empty() {
            if let Some(quoted) = rest.strip_prefix("[\"") {
                let (step, after) = quoted.split_once("\"]").ok_or_else(wrong)?;
                steps.push(step.to_string());
                rest = after;
            } else if let Some(number) = rest.strip_prefix('[') {
                let (step, after) = number.split_once(']').ok_or_else(wrong)?;
                steps.push(step.parse::<usize>().map_err(|_| wrong())?.to_string());
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                steps.push(rest[..end].to_string());
                rest = &rest[end..];
            }
            rest = rest.strip_prefix('.').unwrap_or(rest);
        }
        let whole = !steps.is_empty() && steps.iter().all(|step| !step.is_empty());
        if whole { Ok(Self(steps)) } else { Err(wrong()) }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            step if step.parse::<usize>().is_ok() => write!(f, "[{step}]"),
            step if step.contains(['.', '/', '[']) => write!(f, "[{step:?}]"),
            step => write!(f, ".{step}"),
        })
    }
}

/// Field that is written through the `status` subresource.
const STATUS: &str = "status";
/// Field that is written through the `scale` subresource.
const REPLICAS: [&str; 2] = ["spec", "replicas"];

impl FieldPath {
    /// Returns the value to which a write sets the field: `None` if the write does not change it, null if it removes
    /// the field.
    pub fn set_by(&self, mutation: &Mutation) -> Option<Value> {
        // A write to a subresource changes only the fields of that subresource.
        match mutation.subresource.as_deref() {
            None => {}
            Some("status") if self.0.first().is_some_and(|step| step == STATUS) => {}
            Some("scale") if self.0 == REPLICAS => {}
            Some(_) => return None,
        }
        match &mutation.operation {
            // The body was too large to be recorded, so its effect is unknown.
            WriteOp::Patch { body: Value::Null, .. }
            | WriteOp::Apply { body: Value::Null, .. }
            | WriteOp::Update(Value::Null) => None,
            WriteOp::Patch { patch_type: PatchType::Json, body } => self.set_by_operations(body),
            WriteOp::Patch { body, .. } | WriteOp::Apply { body, .. } => self.of(body).cloned(),
            // The body is the whole object: fields that it does not contain are removed.
            WriteOp::Create(body) => self.of(body).cloned(),
            WriteOp::Update(body) => Some(self.of(body).cloned().unwrap_or(Value::Null)),
            WriteOp::Delete { .. } => Some(Value::Null),
        }
    }

    /// Returns the field of an object, or of a part of one.
    pub(super) fn of<'a>(&self, body: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(body, |at, step| match at {
            Value::Object(fields) => fields.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            // A null above the field removes the field as well.
            Value::Null => Some(at),
            _ => None,
        })
    }

    fn set_by_operations(&self, body: &Value) -> Option<Value> {
        let operations = body.as_array()?.iter().rev();
        operations.into_iter().find_map(|operation| {
            let path = operation.get("path")?.as_str()?.strip_prefix('/')?;
            let steps: Vec<_> = path.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
            let inner = self.0.strip_prefix(steps.as_slice())?;
            match operation.get("op")?.as_str()? {
                "remove" => Some(Value::Null),
                "add" | "replace" => FieldPath(inner.to_vec()).of(operation.get("value")?).cloned(),
                _ => None,
            }
        })
    }
}
