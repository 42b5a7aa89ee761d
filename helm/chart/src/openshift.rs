//! OpenShift Templates: a list of objects with parameters, processed as `oc process --local` does it.

mod generate;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use switchboard_object::quote::quote;
use switchboard_object::{Map, Value, json, yaml};

use crate::typed::{DecodeError, Fields, mismatch};

pub use generate::Chance;

/// `${NAME}`, anywhere in a text, as often as wanted.
static IN_TEXT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$\{([a-zA-Z0-9_]+?)\}").expect("a constant"));
/// `${{NAME}}`, which must be all of the text and becomes what the value is as JSON.
static WHOLE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\$\{\{([a-zA-Z0-9_]+)\}\}$").expect("a constant"));

/// A Template.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// `metadata.name`.
    pub name: String,
    /// What can be set.
    pub parameters: Vec<Parameter>,
    /// What is made, in this order.
    pub objects: Vec<Value>,
    /// Labels every object gets.
    pub labels: Option<BTreeMap<String, String>>,
    /// What is told to who processed it.
    pub message: String,
}

/// One parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value, unless another is given.
    pub value: String,
    /// The generator of its value: `expression`, or none.
    pub generate: String,
    /// What the value is generated from: `[a-z]{8}`.
    pub from: String,
    /// Whether it must have a value.
    pub required: bool,
}

/// A Template that cannot be read or processed, in the words of `oc`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Not an object of this kind.
    #[error("failed to read input object (not a Template?): {0}")]
    Unreadable(#[from] DecodeError),
    /// An object of another kind.
    #[error("unable to parse {name:?}, not a valid Template but {kind}")]
    OtherKind {
        /// Its name.
        name: String,
        /// Its kind.
        kind: String,
    },
    /// Parameters that were given and do not exist.
    #[error("{}", one_or_list(.0))]
    Unknown(Vec<String>),
    /// What is wrong with parameters and objects.
    #[error("Template.template.openshift.io {} is invalid: {}", quote(.name), one_or_list(.problems))]
    Invalid {
        /// The Template.
        name: String,
        /// Each thing that is wrong.
        problems: Vec<String>,
    },
}

/// As Kubernetes shows several errors: one as it is, several in brackets.
fn one_or_list(problems: &[String]) -> String {
    match problems {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// What a Template is processed with.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Parameters by name.
    pub parameters: BTreeMap<String, String>,
    /// Labels over those of the Template.
    pub labels: BTreeMap<String, String>,
    /// Whether parameters that do not exist are let pass.
    pub ignore_unknown: bool,
}

impl Template {
    /// Reads a Template from YAML or JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(text: &str) -> Result<Self, TemplateError> {
        let document = yaml::read(text).map_err(|error| DecodeError(error.to_string()))?;
        Self::of(document.value)
    }

    /// The Template an object is.
    ///
    /// # Errors
    /// When it is none.
    pub fn of(object: Value) -> Result<Self, TemplateError> {
        let Value::Object(mut map) = object else {
            return Err(mismatch(&object, "Go value", "v1.Template").into());
        };
        let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default();
        let metadata = map.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
        if kind != "Template" && kind != "ProcessedTemplate" {
            return Err(TemplateError::OtherKind { name, kind: kind.to_string() });
        }
        let objects = match map.remove("objects") {
            Some(Value::Array(objects)) => objects,
            None | Some(Value::Null) => Vec::new(),
            Some(other) => {
                return Err(mismatch(&other, "Go struct field Template.objects", "[]runtime.RawExtension").into());
            }
        };
        let mut fields = Fields::strict(&map, "Template");
        let message = fields.text("message");
        let labels = fields.text_map("labels").map(|labels| labels.into_iter().collect());
        let parameters = fields.list("parameters", "[]v1.Parameter").unwrap_or_default();
        let parameters = parameters.iter().map(parameter).collect::<Result<_, _>>()?;
        fields.done()?;
        Ok(Self { name, parameters, objects, labels, message })
    }

    /// The objects, with all parameters put in.
    ///
    /// # Errors
    /// When a parameter is missing, unknown or cannot be generated.
    pub fn process(mut self, given: &Given, chance: &mut Chance) -> Result<Vec<Value>, TemplateError> {
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
            return Err(TemplateError::Unknown(unknown));
        }
        if !given.labels.is_empty() {
            self.labels.get_or_insert_default().extend(given.labels.clone());
        }
        let mut problems = self.generate(chance);
        problems.extend(self.objects.iter().enumerate().filter_map(kindless));
        if !problems.is_empty() {
            return Err(TemplateError::Invalid { name: self.name, problems });
        }
        let values = Values(self.parameters.iter().map(|p| (p.name.as_str(), p.value.as_str())).collect());
        let labels: Option<BTreeMap<String, String>> = self
            .labels
            .map(|labels| labels.iter().map(|(key, value)| (values.text(key).0, values.text(value).0)).collect());
        Ok(self.objects.into_iter().map(|object| values.object(object, labels.as_ref())).collect())
    }

    fn generate(&mut self, chance: &mut Chance) -> Vec<String> {
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

/// What is wrong with an object that does not say what it is.
fn kindless((index, object): (usize, &Value)) -> Option<String> {
    let known = object.get("kind").and_then(Value::as_str).is_some_and(|kind| !kind.is_empty());
    let shown = json::to_string(object);
    (!known).then(|| {
        let text = format!("unable to handle object: Object 'Kind' is missing in '{shown}'");
        format!("template.objects[{index}]: Invalid value: {shown}: {text}")
    })
}

/// A parameter as JSON, which is how Kubernetes shows a struct that is refused.
fn shown(parameter: &Parameter) -> String {
    let mut map = Map::new();
    let texts = [("name", &parameter.name), ("generate", &parameter.generate), ("from", &parameter.from)];
    map.extend(texts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(k, v)| (k.into(), v.as_str().into())));
    if parameter.required {
        map.insert("required".into(), true.into());
    }
    json::to_string(&Value::Object(map))
}

fn parameter(item: &Value) -> Result<Parameter, DecodeError> {
    let Value::Object(map) = item else {
        return Err(mismatch(item, "Go struct field Template.parameters", "v1.Parameter"));
    };
    let mut fields = Fields::strict(map, "Parameter.parameters");
    let read = Parameter {
        name: fields.text("name"),
        value: fields.text("value"),
        generate: fields.text("generate"),
        from: fields.text("from"),
        required: fields.flag("required"),
    };
    fields.done().map(|()| read)
}

/// The values parameters have.
struct Values<'a>(BTreeMap<&'a str, &'a str>);

impl Values<'_> {
    /// The text with values put in, and whether it is still a text.
    fn text(&self, text: &str) -> (String, bool) {
        if !text.contains("${") {
            return (text.to_string(), true);
        }
        if let Some(value) = WHOLE.captures(text).and_then(|found| self.0.get(&found[1])) {
            return ((*value).to_string(), false);
        }
        // Values that hold no parameter can be put in at once, which takes no time with the square of the text.
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
        // The kind is not a parameter: what stood there before is put back, in its own API group.
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

/// A namespace that is written out is taken away; one that is a parameter stays.
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

/// Kinds of OpenShift's first API, which had no group, in the group they have now.
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
