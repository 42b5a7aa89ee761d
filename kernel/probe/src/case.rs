//! Case: the initial objects, and the steps of a user.
//!
//! ```yaml
//! operator: greeter
//! given:
//! - {apiVersion: v1, kind: ConfigMap, metadata: {name: greeting, namespace: shop}, data: {words: Hello}}
//! script:
//! - apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: ada, namespace: shop}, data: {name: Ada}}
//! - patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: greeting, namespace: shop}, data: {words: Good day}}
//! - delete: {apiVersion: v1, kind: ConfigMap, metadata: {name: ada, namespace: shop}}
//! ```
//!
//! Namespaces that are mentioned are created first.

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;
use switchboard_kernel::row::RowWrite;
use switchboard_object::yaml;

/// Maximum number of initial objects, and of steps.
pub const MAX_STEPS: usize = 10_000;

/// Step of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptStep {
    /// Action.
    pub verb: StepVerb,
    /// Object; for a patch, its changes.
    pub object: Value,
}

/// Action of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepVerb {
    /// Server-side apply as the manager `user`, taking fields from other managers.
    Apply,
    /// Merge patch that also names its object.
    Patch,
    /// Deletion.
    Delete,
}

impl ScriptStep {
    /// Creates a step that applies an object.
    pub fn apply(object: Value) -> Self {
        Self { verb: StepVerb::Apply, object }
    }

    /// Creates a step that patches an object: a merge patch with the object's `apiVersion`, `kind` and `metadata.name`.
    pub fn patch(object: Value) -> Self {
        Self { verb: StepVerb::Patch, object }
    }

    /// Creates a step that deletes an object; its `apiVersion`, `kind` and `metadata.name` are sufficient.
    pub fn delete(object: Value) -> Self {
        Self { verb: StepVerb::Delete, object }
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

impl fmt::Display for StepVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StepVerb::Apply => "apply",
            StepVerb::Patch => "patch",
            StepVerb::Delete => "delete",
        })
    }
}

/// Formats a step as `apply ConfigMap shop/ada`.
impl fmt::Display for ScriptStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.verb, self.text("/kind"))?;
        if !self.text("/metadata/namespace").is_empty() {
            write!(f, "{}/", self.text("/metadata/namespace"))?;
        }
        f.write_str(self.text("/metadata/name"))
    }
}

/// Initial objects and steps for one operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeCase {
    /// Name of the operator; may be empty if it is given elsewhere.
    pub operator: String,
    /// Objects that exist before the operator starts.
    pub given: Vec<Value>,
    /// Steps of the user.
    pub script: Vec<ScriptStep>,
    /// Commits of another program, each after that number of steps.
    pub commits: Vec<(usize, Vec<RowWrite>)>,
}

/// Error in a case file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// The text is not YAML.
    #[error("line {}: {}", .0.line, .0.problem)]
    Yaml(yaml::YamlError),
    /// A value has the wrong shape.
    #[error("`{path}` {problem}")]
    Shape {
        /// Path of the value.
        path: String,
        /// Problem.
        problem: &'static str,
    },
}

fn shape_error(path: impl Into<String>, problem: &'static str) -> CaseError {
    CaseError::Shape { path: path.into(), problem }
}

impl ProbeCase {
    /// Reads a case from YAML.
    ///
    /// # Errors
    /// When the text is not YAML or not a case.
    pub fn read(text: &str) -> Result<Self, CaseError> {
        let document = yaml::read(text).map_err(CaseError::Yaml)?;
        let Value::Object(fields) = document.value else {
            return Err(shape_error("", "is not a map with `operator`, `given` and `script`"));
        };
        let mut case = Self::default();
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("operator", Value::String(operator)) => case.operator = operator,
                ("operator", _) => return Err(shape_error(name, "is not text")),
                ("given", Value::Array(objects)) => case.given = given(objects)?,
                ("script", Value::Array(steps)) => case.script = script(steps)?,
                ("given" | "script", _) => return Err(shape_error(name, "is not a list")),
                _ => return Err(shape_error(name, "is unknown; a case has `operator`, `given` and `script`")),
            }
        }
        Ok(case)
    }
}

fn given(objects: Vec<Value>) -> Result<Vec<Value>, CaseError> {
    if objects.len() > MAX_STEPS {
        return Err(shape_error("given", "has more objects than allowed"));
    }
    for (number, object) in objects.iter().enumerate() {
        check_named(&format!("given[{number}]"), object)?;
    }
    Ok(objects)
}

fn script(steps: Vec<Value>) -> Result<Vec<ScriptStep>, CaseError> {
    if steps.len() > MAX_STEPS {
        return Err(shape_error("script", "has more steps than allowed"));
    }
    let one = |(number, step): (usize, Value)| {
        let path = format!("script[{number}]");
        let Value::Object(fields) = step else { return Err(shape_error(path, "is not a map")) };
        let mut fields = fields.into_iter();
        let (Some((verb, object)), None) = (fields.next(), fields.next()) else {
            return Err(shape_error(path, "is not one of `apply`, `patch` and `delete`"));
        };
        check_named(&format!("{path}.{verb}"), &object)?;
        match verb.as_str() {
            "apply" => Ok(ScriptStep::apply(object)),
            "patch" => Ok(ScriptStep::patch(object)),
            "delete" => Ok(ScriptStep::delete(object)),
            _ => Err(shape_error(path, "is not one of `apply`, `patch` and `delete`")),
        }
    };
    steps.into_iter().enumerate().map(one).collect()
}

fn check_named(path: &str, object: &Value) -> Result<(), CaseError> {
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        if object.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(shape_error(format!("{path}{}", pointer.replace('/', ".")), "is missing"));
        }
    }
    Ok(())
}
