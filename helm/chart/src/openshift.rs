//! OpenShift Templates: lists of objects with parameters, processed like `oc process --local`.

mod generate;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use switchboard_object::quote::quote;
use switchboard_object::{Map, Value, json, yaml};

use crate::typed::{DecodeError, StructFields, mismatch};

pub use generate::ExpressionRandom;

/// `${NAME}`, which may occur anywhere in a text.
static IN_TEXT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$\{([a-zA-Z0-9_]+?)\}").expect("a constant"));
/// `${{NAME}}`, which must be the whole text. It is replaced by the value parsed as JSON.
static WHOLE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\$\{\{([a-zA-Z0-9_]+)\}\}$").expect("a constant"));

/// An OpenShift Template.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenShiftTemplate {
    /// Name of the Template, from `metadata.name`.
    pub name: String,
    /// Parameters.
    pub parameters: Vec<TemplateParameter>,
    /// Objects to create, in this order.
    pub objects: Vec<Value>,
    /// Labels added to every object.
    pub labels: Option<BTreeMap<String, String>>,
    /// Message to the user after processing.
    pub message: String,
}

/// A parameter of a Template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateParameter {
    /// Name.
    pub name: String,
    /// Default value.
    pub value: String,
    /// Generator of the value: `expression` or empty.
    pub generate: String,
    /// Input of the generator, such as `[a-z]{8}`.
    pub from: String,
    /// Whether the parameter must have a value.
    pub required: bool,
}

/// Error of reading or processing a Template, with the text of `oc`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenShiftTemplateError {
    /// The text is not an object of this kind.
    #[error("failed to read input object (not a Template?): {0}")]
    Unreadable(#[from] DecodeError),
    /// The object has another kind.
    #[error("unable to parse {}, not a valid Template but {kind}", quote(.name))]
    OtherKind {
        /// Name of the object.
        name: String,
        /// Kind of the object.
        kind: String,
    },
    /// Given parameters that the Template does not have.
    #[error("{}", one_or_list(.0))]
    Unknown(Vec<String>),
    /// Parameters or objects are invalid.
    #[error("Template.template.openshift.io {} is invalid: {}", quote(.name), one_or_list(.problems))]
    Invalid {
        /// Name of the Template.
        name: String,
        /// List of problems.
        problems: Vec<String>,
    },
}

/// Formats errors like Kubernetes: a single one as it is, several in brackets.
fn one_or_list(problems: &[String]) -> String {
    match problems {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// Options for processing a Template.
#[derive(Clone, Debug, Default)]
pub struct ProcessOptions {
    /// Values of parameters by name.
    pub parameters: BTreeMap<String, String>,
    /// Labels that override those of the Template.
    pub labels: BTreeMap<String, String>,
    /// Whether unknown parameters are ignored.
    pub ignore_unknown: bool,
}

impl OpenShiftTemplate {
    /// Parses a Template from YAML or JSON.
    ///
    /// # Errors
    /// If the text is not a Template.
    pub fn read(text: &str) -> Result<Self, OpenShiftTemplateError> {
        let document = yaml::read(text).map_err(|error| DecodeError(error.to_string()))?;
        Self::from_object(document.value)
    }

    /// Converts an object to a Template.
    ///
    /// # Errors
    /// If the object is not a Template.
    pub fn from_object(object: Value) -> Result<Self, OpenShiftTemplateError> {
        let Value::Object(mut map) = object else {
            return Err(mismatch(&object, "Go value", "v1.Template").into());
        };
        let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default();
        let metadata = map.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
        if kind != "Template" && kind != "ProcessedTemplate" {
            return Err(OpenShiftTemplateError::OtherKind { name, kind: kind.to_string() });
        }
        let objects = match map.remove("objects") {
            Some(Value::Array(objects)) => objects,
            None | Some(Value::Null) => Vec::new(),
            Some(other) => {
                return Err(mismatch(&other, "Go struct field Template.objects", "[]runtime.RawExtension").into());
            }
        };
        let mut fields = StructFields::strict(&map, "Template");
        let message = fields.text("message");
        let labels = fields.text_map("labels").map(|labels| labels.into_iter().collect());
        let parameters = fields.list("parameters", "[]v1.Parameter").unwrap_or_default();
        let parameters = parameters.iter().map(parameter).collect::<Result<_, _>>()?;
        fields.finish()?;
        Ok(Self { name, parameters, objects, labels, message })
    }

    /// Returns the objects with all parameters substituted.
    ///
    /// # Errors
    /// If a parameter is missing, unknown or cannot be generated.
    pub fn process(
        mut self,
        given: &ProcessOptions,
        chance: &mut ExpressionRandom,
    ) -> Result<Vec<Value>, OpenShiftTemplateError> {
        let mut unknown = Vec::new();
        for (name, value) in &given.parameters {
            match self.parameters.iter_mut().find(|parameter| parameter.name == *name) {
                Some(parameter) => {
                    parameter.value.clone_from(value);
                    parameter.generate.clear();
                }
                None if given.ignore_unknown => {}
                None => unknown.push(format!("unknown parameter name {}", quote(name))),
            }
        }
        if !unknown.is_empty() {
            return Err(OpenShiftTemplateError::Unknown(unknown));
        }
        if !given.labels.is_empty() {
            self.labels.get_or_insert_default().extend(given.labels.clone());
        }
        let mut problems = self.generate(chance);
        problems.extend(self.objects.iter().enumerate().filter_map(missing_kind));
        if !problems.is_empty() {
            return Err(OpenShiftTemplateError::Invalid { name: self.name, problems });
        }
        let values = ParameterValues(self.parameters.iter().map(|p| (p.name.as_str(), p.value.as_str())).collect());
        let labels: Option<BTreeMap<String, String>> = self
            .labels
            .map(|labels| labels.iter().map(|(key, value)| (values.text(key).0, values.text(value).0)).collect());
        Ok(self.objects.into_iter().map(|object| values.object(object, labels.as_ref())).collect())
    }

    fn generate(&mut self, chance: &mut ExpressionRandom) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, parameter) in self.parameters.iter_mut().enumerate() {
            let path = format!("template.parameters[{index}]");
            if !parameter.value.is_empty() {
                continue;
            }
            if !parameter.generate.is_empty() {
                let (generator, name) = (&parameter.generate, &parameter.name);
                if generator != "expression" {
                    let text = format!("Unknown generator name '{generator}' for parameter {name}");
                    problems.push(format!("{path}: Invalid value: {}: {text}", quote(generator)));
                    continue;
                }
                match generate::expression(&parameter.from, chance) {
                    Ok(value) => parameter.value = value,
                    Err(problem) => {
                        problems.push(format!("{path}: Invalid value: {}: {problem}", shown(parameter)));
                        continue;
                    }
                }
            }
            if parameter.value.is_empty() && parameter.required {
                let text = format!("{path}: parameter {} is required and must be specified", parameter.name);
                problems.push(format!("{path}: Required value: {text}"));
            }
        }
        problems
    }
}

/// Returns the problem of an object without a kind.
fn missing_kind((index, object): (usize, &Value)) -> Option<String> {
    let known = object.get("kind").and_then(Value::as_str).is_some_and(|kind| !kind.is_empty());
    let shown = json::to_string(object);
    (!known).then(|| {
        let text = format!("unable to handle object: Object 'Kind' is missing in '{shown}'");
        format!("template.objects[{index}]: Invalid value: {shown}: {text}")
    })
}

/// Formats a parameter as JSON, which Kubernetes prints for an invalid struct.
fn shown(parameter: &TemplateParameter) -> String {
    let mut map = Map::new();
    let texts = [("name", &parameter.name), ("generate", &parameter.generate), ("from", &parameter.from)];
    map.extend(texts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(k, v)| (k.into(), v.as_str().into())));
    if parameter.required {
        map.insert("required".into(), true.into());
    }
    json::to_string(&Value::Object(map))
}

fn parameter(item: &Value) -> Result<TemplateParameter, DecodeError> {
    let Value::Object(map) = item else {
        return Err(mismatch(item, "Go struct field Template.parameters", "v1.Parameter"));
    };
    let mut fields = StructFields::strict(map, "Parameter.parameters");
    let read = TemplateParameter {
        name: fields.text("name"),
        value: fields.text("value"),
        generate: fields.text("generate"),
        from: fields.text("from"),
        required: fields.flag("required"),
    };
    fields.finish().map(|()| read)
}

/// Values of the parameters.
struct ParameterValues<'a>(BTreeMap<&'a str, &'a str>);

impl ParameterValues<'_> {
    /// Substitutes parameters in a text. Also returns whether the result is still a text.
    fn text(&self, text: &str) -> (String, bool) {
        if !text.contains("${") {
            return (text.to_string(), true);
        }
        if let Some(value) = WHOLE.captures(text).and_then(|found| self.0.get(&found[1])) {
            return ((*value).to_string(), false);
        }
        // If no value contains a parameter, all of them are substituted in one pass, which avoids quadratic time.
        if !self.0.values().any(|value| value.contains('$')) {
            let put = |found: &regex::Captures<'_>| self.0.get(&found[1]).copied().unwrap_or(&found[0]).to_string();
            return (IN_TEXT.replace_all(text, put).into_owned(), true);
        }
        let mut out = text.to_string();
        for found in IN_TEXT.captures_iter(text) {
            if let Some(value) = self.0.get(&found[1]) {
                out = out.replacen(&found[0], value, 1);
            }
        }
        (out, true)
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => match self.text(&text) {
                (text, true) => Value::String(text),
                (text, false) => match json::read(text.as_bytes()) {
                    Ok(document) => document.value,
                    Err(_) => Value::String(text),
                },
            },
            Value::Array(list) => Value::Array(list.into_iter().map(|item| self.value(item)).collect()),
            Value::Object(map) => {
                Value::Object(map.into_iter().map(|(key, item)| (self.text(&key).0, self.value(item))).collect())
            }
            other => other,
        }
    }

    fn object(&self, mut object: Value, labels: Option<&BTreeMap<String, String>>) -> Value {
        strip_namespace(&mut object);
        let before = (object.get("apiVersion").cloned(), object.get("kind").cloned());
        let mut object = self.value(object);
        // The kind is not substituted. Its literal kind is restored, in its own API group.
        if let (Value::Object(map), (Some(Value::String(version)), kind)) = (&mut object, before) {
            let kind = kind.unwrap_or_default();
            let version = group_of(&version, kind.as_str().unwrap_or_default());
            map.insert("apiVersion".to_string(), Value::String(version));
            map.insert("kind".to_string(), kind);
        }
        if let (Value::Object(map), Some(labels)) = (&mut object, labels) {
            add_labels(map, labels);
        }
        object
    }
}

fn add_labels(object: &mut Map, labels: &BTreeMap<String, String>) {
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(metadata) = metadata else { return };
    let slot = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    if let Value::Object(slot) = slot {
        slot.extend(labels.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))));
    }
}

/// Removes a literal namespace. A namespace with a parameter stays.
fn strip_namespace(object: &mut Value) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    match metadata.get("namespace") {
        Some(Value::String(namespace)) if IN_TEXT.is_match(namespace) => {}
        Some(Value::String(_)) => {
            metadata.remove("namespace");
        }
        Some(_) => {
            metadata.insert("namespace".to_string(), Value::String(String::new()));
        }
        None => {}
    }
}

/// Returns the API version with the current group for kinds of OpenShift's first API, which had no group.
fn group_of(version: &str, kind: &str) -> String {
    let group = match kind {
        _ if version != "v1" && !version.is_empty() => return version.to_string(),
        "DeploymentConfig" | "DeploymentConfigRollback" => "apps",
        "ClusterRole"
        | "ClusterRoleBinding"
        | "Role"
        | "RoleBinding"
        | "RoleBindingRestriction"
        | "SubjectAccessReview"
        | "LocalSubjectAccessReview"
        | "ResourceAccessReview" => "authorization",
        "Build" | "BuildConfig" | "BuildRequest" | "BuildLog" => "build",
        "Image" | "ImageSignature" | "ImageStream" | "ImageStreamImage" | "ImageStreamImport"
        | "ImageStreamMapping" | "ImageStreamTag" => "image",
        "ClusterNetwork" | "EgressNetworkPolicy" | "HostSubnet" | "NetNamespace" => "network",
        "OAuthAccessToken" | "OAuthAuthorizeToken" | "OAuthClient" | "OAuthClientAuthorization" => "oauth",
        "Project" | "ProjectRequest" => "project",
        "AppliedClusterResourceQuota" | "ClusterResourceQuota" => "quota",
        "Route" => "route",
        "SecurityContextConstraints" => "security",
        "BrokerTemplateInstance" | "ProcessedTemplate" | "Template" | "TemplateInstance" => "template",
        "Group" | "Identity" | "User" | "UserIdentityMapping" => "user",
        _ => return version.to_string(),
    };
    format!("{group}.openshift.io/v1")
}

#[cfg(test)]
mod tests;
