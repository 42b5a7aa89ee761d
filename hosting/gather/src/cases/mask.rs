//! Masks for fields that differ between runs: a random key, a time that cannot be set.

use serde_json::Value;

use crate::mutation::Mutation;

/// Replacement for a masked value.
const MASKED: &str = "<masked>";
/// Maximum number of steps in a path.
const MAX_STEPS: usize = 64;

/// A field of bodies that is not compared.
///
/// ```yaml
/// masks:
/// - {resource: certificatesigningrequests.certificates.k8s.io, path: spec.request}
/// - path: status.conditions[*].lastTransitionTime
/// - path: metadata.annotations["example.com/run"]
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Restriction to a resource type such as `configmaps` or `deployments.apps`.
    resource: Option<String>,
    /// Restriction to a namespace.
    namespace: Option<String>,
    /// Restriction to the object of this name.
    name: Option<String>,
    steps: Vec<MaskStep>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum MaskStep {
    Field(String),
    Item(usize),
    Every,
}

/// Error for an invalid mask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaskError {
    /// The mask has no path.
    #[error("`path` is missing")]
    NoPath,
    /// The mask has an unknown key. Ignoring it could hide a failure or fail for no reason.
    #[error("unknown key `{0}`; a mask has `path`, `resource`, `namespace` and `name`")]
    Key(String),
    /// The path is invalid.
    #[error("path `{path}` is invalid at `{at}`")]
    Path {
        /// Whole path.
        path: String,
        /// Rest of the path from the error on.
        at: String,
    },
}

impl Mask {
    /// Parses one mask of `test.yaml`.
    ///
    /// # Errors
    /// If the path is missing or invalid, or a key is unknown.
    pub fn read(written: &Value) -> Result<Self, MaskError> {
        let fields = written.as_object().ok_or(MaskError::NoPath)?;
        if let Some(key) = fields.keys().find(|key| !matches!(key.as_str(), "path" | "resource" | "namespace" | "name"))
        {
            return Err(MaskError::Key(key.clone()));
        }
        let text = |key: &str| fields.get(key).and_then(Value::as_str).filter(|t| !t.is_empty()).map(str::to_string);
        let steps = steps(&text("path").ok_or(MaskError::NoPath)?)?;
        Ok(Self { resource: text("resource"), namespace: text("namespace"), name: text("name"), steps })
    }

    /// Masks the field in a mutation's body.
    pub(super) fn apply(&self, mutation: &Mutation, body: &mut Value) {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        let resource = mutation.resource_type().to_string();
        if is(&self.resource, &resource) && is(&self.namespace, &mutation.namespace) && is(&self.name, &mutation.name) {
            mask_value(body, &self.steps);
        }
    }
}

fn mask_value(value: &mut Value, steps: &[MaskStep]) {
    let Some((step, rest)) = steps.split_first() else {
        *value = MASKED.into();
        return;
    };
    match (step, value) {
        (MaskStep::Field(name), Value::Object(fields)) => {
            if let Some(field) = fields.get_mut(name) {
                mask_value(field, rest);
            }
        }
        (MaskStep::Item(number), Value::Array(items)) => {
            if let Some(item) = items.get_mut(*number) {
                mask_value(item, rest);
            }
        }
        (MaskStep::Every, Value::Array(items)) => items.iter_mut().for_each(|item| mask_value(item, rest)),
        (MaskStep::Every, Value::Object(fields)) => fields.values_mut().for_each(|field| mask_value(field, rest)),
        _ => {}
    }
}

fn steps(path: &str) -> Result<Vec<MaskStep>, MaskError> {
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('$').map_or(path, |rest| rest.strip_prefix('.').unwrap_or(rest));
    while !rest.is_empty() {
        let Some((step, after)) = step(rest).filter(|_| steps.len() < MAX_STEPS) else {
            return Err(MaskError::Path { path: path.into(), at: rest.into() });
        };
        steps.push(step);
        // A dot starts a field name. A path cannot end with a dot.
        rest = match after.strip_prefix('.') {
            Some("") => return Err(MaskError::Path { path: path.into(), at: after.into() }),
            Some(field) => field,
            None if after.is_empty() || after.starts_with('[') => after,
            None => return Err(MaskError::Path { path: path.into(), at: after.into() }),
        };
    }
    if steps.is_empty() { Err(MaskError::NoPath) } else { Ok(steps) }
}

/// Parses one step and returns the rest.
fn step(rest: &str) -> Option<(MaskStep, &str)> {
    let Some(inside) = rest.strip_prefix('[') else {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        return (!name.is_empty()).then(|| (MaskStep::Field(name.into()), after));
    };
    if let Some(quote) = inside.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (name, after) = inside[1..].split_once(quote)?;
        return Some((MaskStep::Field(name.into()), after.strip_prefix(']')?));
    }
    let (number, after) = inside.split_once(']')?;
    let step = if number == "*" { MaskStep::Every } else { MaskStep::Item(number.parse().ok()?) };
    Some((step, after))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::contract::ResourceType;
    use crate::mutation::{Action, OutputCluster};
    use serde_json::json;

    fn masked(mask: Value, body: Value) -> Value {
        let of = ResourceType::new("apps", "v1", "deployments");
        let mutation = Mutation::object(OutputCluster::Management, Action::Apply, &of, &body);
        let mut body = body;
        Mask::read(&mask).unwrap().apply(&mutation, &mut body);
        body
    }

    #[test]
    fn paths_select_fields_items_and_keys_with_dots() {
        let body = json!({"metadata": {"name": "web", "annotations": {"a.b/c": "1"}},
            "status": {"conditions": [{"type": "A", "at": 1}, {"type": "B", "at": 2}, {"type": "C"}]}});
        let done = masked(json!({"path": "status.conditions[*].at"}), body.clone());
        let expected = json!([{"type": "A", "at": "<masked>"}, {"type": "B", "at": "<masked>"}, {"type": "C"}]);
        assert_eq!(done["status"]["conditions"], expected, "and nothing is added where it is missing");
        let done = masked(json!({"path": "$.metadata.annotations[\"a.b/c\"]"}), body.clone());
        assert_eq!(done["metadata"]["annotations"]["a.b/c"], "<masked>");
        let done = masked(json!({"path": "status.conditions[1]"}), body);
        assert_eq!(done["status"]["conditions"][1], "<masked>");
    }

    #[test]
    fn masks_can_be_restricted_to_objects() {
        let body = json!({"metadata": {"name": "web", "namespace": "shop"}, "data": 1});
        for (mask, hit) in [
            (json!({"path": "data", "resource": "deployments.apps"}), true),
            (json!({"path": "data", "resource": "deployments"}), false),
            (json!({"path": "data", "namespace": "shop", "name": "web"}), true),
            (json!({"path": "data", "name": "other"}), false),
        ] {
            assert_eq!(masked(mask.clone(), body.clone())["data"] == "<masked>", hit, "{mask}");
        }
    }

    #[test]
    fn invalid_paths_are_rejected_with_their_position() {
        for (path, at) in
            [("a..b", ".b"), ("a.", "."), ("a[x]", "[x]"), ("a[1", "[1"), ("a]b", "]b"), ("a[\"b]", "[\"b]")]
        {
            let error = Mask::read(&json!({"path": path})).unwrap_err();
            assert_eq!(error, MaskError::Path { path: path.into(), at: at.into() }, "{path}");
        }
        assert_eq!(Mask::read(&json!({"path": "$"})).unwrap_err(), MaskError::NoPath);
        assert_eq!(Mask::read(&json!({"pth": "a"})).unwrap_err(), MaskError::Key("pth".into()));
    }
}
