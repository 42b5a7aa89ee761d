//! A case: what there is at the beginning, and what a user then does, one step after the other.
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
//! Namespaces that are mentioned are made first.

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;
use switchboard_object::yaml;

/// How many objects a case may begin with, and how many steps it may have.
pub const MAX_STEPS: usize = 10_000;

/// One change by a user.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is done.
    pub verb: Verb,
    /// To which object; for a patch, what changes.
    pub object: Value,
}

/// What a user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Server-side apply as the manager `user`, taking fields from others.
    Apply,
    /// A merge patch that names its object.
    Patch,
    /// Removes it.
    Delete,
}

impl Step {
    /// Applies an object.
    pub fn apply(object: Value) -> Self {
        Self { verb: Verb::Apply, object }
    }

    /// Changes parts of an object: a merge patch with the object's `apiVersion`, `kind` and `metadata.name`.
    pub fn patch(object: Value) -> Self {
        Self { verb: Verb::Patch, object }
    }

    /// Removes an object: its `apiVersion`, `kind` and `metadata.name` suffice.
    pub fn delete(object: Value) -> Self {
        Self { verb: Verb::Delete, object }
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verb::Apply => "apply",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
        })
    }
}

/// `apply ConfigMap shop/ada`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.verb, self.text("/kind"))?;
        if !self.text("/metadata/namespace").is_empty() {
            write!(f, "{}/", self.text("/metadata/namespace"))?;
        }
        f.write_str(self.text("/metadata/name"))
    }
}

/// A beginning and a script, for one operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// The operator it is for; empty when that is said elsewhere.
    pub operator: String,
    /// What there is before the operator starts.
    pub given: Vec<Value>,
    /// What a user then does.
    pub script: Vec<Step>,
}

/// Text that is no case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// It is not YAML.
    #[error("line {}: {}", .0.line, .0.problem)]
    Yaml(yaml::YamlError),
    /// Something stands where it should not.
    #[error("`{place}` {problem}")]
    Shape {
        /// Where.
        place: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

fn wrong(place: impl Into<String>, problem: &'static str) -> CaseError {
    CaseError::Shape { place: place.into(), problem }
}

impl Case {
    /// Reads a case from YAML.
    ///
    /// # Errors
    /// When the text is no YAML or no case; says where.
    pub fn read(text: &str) -> Result<Self, CaseError> {
        let document = yaml::read(text).map_err(CaseError::Yaml)?;
        let Value::Object(fields) = document.value else {
            return Err(wrong("", "is no map with `operator`, `given` and `script`"));
        };
        let mut case = Self::default();
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("operator", Value::String(operator)) => case.operator = operator,
                ("operator", _) => return Err(wrong(name, "is no text")),
                ("given", Value::Array(objects)) => case.given = given(objects)?,
                ("script", Value::Array(steps)) => case.script = script(steps)?,
                ("given" | "script", _) => return Err(wrong(name, "is no list")),
                _ => return Err(wrong(name, "is not known; a case has `operator`, `given` and `script`")),
            }
        }
        Ok(case)
    }
}

fn given(objects: Vec<Value>) -> Result<Vec<Value>, CaseError> {
    if objects.len() > MAX_STEPS {
        return Err(wrong("given", "holds more objects than a case may"));
    }
    for (number, object) in objects.iter().enumerate() {
        named(&format!("given[{number}]"), object)?;
    }
    Ok(objects)
}

fn script(steps: Vec<Value>) -> Result<Vec<Step>, CaseError> {
    if steps.len() > MAX_STEPS {
        return Err(wrong("script", "holds more steps than a case may"));
    }
    let one = |(number, step): (usize, Value)| {
        let place = format!("script[{number}]");
        let Value::Object(fields) = step else { return Err(wrong(place, "is no map")) };
        let mut fields = fields.into_iter();
        let (Some((verb, object)), None) = (fields.next(), fields.next()) else {
            return Err(wrong(place, "is not one of `apply`, `patch` and `delete`"));
        };
        named(&format!("{place}.{verb}"), &object)?;
        match verb.as_str() {
            "apply" => Ok(Step::apply(object)),
            "patch" => Ok(Step::patch(object)),
            "delete" => Ok(Step::delete(object)),
            _ => Err(wrong(place, "is not one of `apply`, `patch` and `delete`")),
        }
    };
    steps.into_iter().enumerate().map(one).collect()
}

fn named(place: &str, object: &Value) -> Result<(), CaseError> {
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        if object.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(wrong(format!("{place}{}", pointer.replace('/', ".")), "is missing"));
        }
    }
    Ok(())
}
