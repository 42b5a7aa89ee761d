//! Fields that no two runs have in common: a random key, a time nobody can set.

use serde_json::Value;

use crate::mutation::Mutation;

/// What stands for a masked value.
const MASKED: &str = "<masked>";
/// How many steps a path may have.
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
    /// Only in this type, `configmaps` or `deployments.apps`.
    resource: Option<String>,
    /// Only in this namespace.
    namespace: Option<String>,
    /// Only in the object of this name.
    name: Option<String>,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(usize),
    Every,
}

/// A mask that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaskError {
    /// There is no path.
    #[error("`path` is missing")]
    NoPath,
    /// A key that nobody knows: a mask that does not do what it seems to hides a fault or shows none.
    #[error("`{0}` is not known; a mask has `path`, `resource`, `namespace` and `name`")]
    Key(String),
    /// The path is wrong.
    #[error("the path `{path}` is wrong at `{at}`")]
    Path {
        /// The whole.
        path: String,
        /// From where it cannot be read.
        at: String,
    },
}

impl Mask {
    /// Reads one mask of `test.yaml`.
    ///
    /// # Errors
    /// When it has no path, one that cannot be read, or a key that is not known.
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

    /// Takes the field out of a mutation's body.
    pub(super) fn apply(&self, mutation: &Mutation, body: &mut Value) {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        let resource = mutation.resource_type().to_string();
        if is(&self.resource, &resource) && is(&self.namespace, &mutation.namespace) && is(&self.name, &mutation.name) {
            hide(body, &self.steps);
        }
    }
}

fn hide(value: &mut Value, steps: &[Step]) {
    let Some((step, rest)) = steps.split_first() else {
        *value = MASKED.into();
        return;
    };
    match (step, value) {
        (Step::Field(name), Value::Object(fields)) => {
            if let Some(field) = fields.get_mut(name) {
                hide(field, rest);
            }
        }
        (Step::Item(number), Value::Array(items)) => {
            if let Some(item) = items.get_mut(*number) {
                hide(item, rest);
            }
        }
        (Step::Every, Value::Array(items)) => items.iter_mut().for_each(|item| hide(item, rest)),
        (Step::Every, Value::Object(fields)) => fields.values_mut().for_each(|field| hide(field, rest)),
        _ => {}
    }
}

fn steps(path: &str) -> Result<Vec<Step>, MaskError> {
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('$').map_or(path, |rest| rest.strip_prefix('.').unwrap_or(rest));
    while !rest.is_empty() {
        let Some((step, after)) = step(rest).filter(|_| steps.len() < MAX_STEPS) else {
            return Err(MaskError::Path { path: path.into(), at: rest.into() });
        };
        steps.push(step);
        // A dot leads to a field; nothing may end in one.
        rest = match after.strip_prefix('.') {
            Some("") => return Err(MaskError::Path { path: path.into(), at: after.into() }),
            Some(field) => field,
            None if after.is_empty() || after.starts_with('[') => after,
            None => return Err(MaskError::Path { path: path.into(), at: after.into() }),
        };
    }
    if steps.is_empty() { Err(MaskError::NoPath) } else { Ok(steps) }
}

/// One step and what follows it.
fn step(rest: &str) -> Option<(Step, &str)> {
    let Some(inside) = rest.strip_prefix('[') else {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        return (!name.is_empty()).then(|| (Step::Field(name.into()), after));
    };
    if let Some(quote) = inside.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (name, after) = inside[1..].split_once(quote)?;
        return Some((Step::Field(name.into()), after.strip_prefix(']')?));
    }
    let (number, after) = inside.split_once(']')?;
    let step = if number == "*" { Step::Every } else { Step::Item(number.parse().ok()?) };
    Some((step, after))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::contract::ResourceType;
    use crate::mutation::{Action, Place};
    use serde_json::json;

    fn masked(mask: Value, body: Value) -> Value {
        let of = ResourceType::new("apps", "v1", "deployments");
        let mutation = Mutation::object(Place::Management, Action::Apply, &of, &body);
        let mut body = body;
        Mask::read(&mask).unwrap().apply(&mutation, &mut body);
        body
    }

    #[test]
    fn a_path_finds_fields_items_and_keys_with_dots() {
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
    fn a_mask_may_be_for_some_objects_only() {
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
    fn wrong_paths_are_refused_where_they_are_wrong() {
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
