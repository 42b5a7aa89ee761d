//! Parameters of the chart's Template, and which of several givers wins.
//!
//! Weakest first: the Template's own values, the environment's file, variables of the process that are parameters of the
//! Template, references to commits of the environment's file, references on the command line, and the image.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::hash::python_float;
use crate::model::Environment;
use crate::settings::Settings;

/// The parameter of an environment that names commits by repository.
const UPSTREAM_REPOS: &str = "INTEGRATION_UPSTREAM_REPOS";

/// What stands for the tag of a commit that nobody knows, with the reason behind it. No object may keep it.
pub const UNKNOWN: &str = "unknown commit: ";

/// Who gave a parameter its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Giver {
    /// The environment's file.
    Environment,
    /// A variable of the process.
    Variable,
    /// A reference in the environment's file.
    EnvironmentReference,
    /// A reference on the command line.
    Reference,
    /// The image that was asked for, or the default one.
    Image,
}

/// A parameter's value, and who gave it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Parameter {
    /// The value.
    pub value: String,
    /// Who gave it.
    pub from: Giver,
}

/// Parameters by name.
pub type Parameters = BTreeMap<String, Parameter>;

/// The parameters for an environment, of which the Template has those.
///
/// # Errors
/// When a commit is not known, or a parameter cannot have its name.
pub fn collect(
    known: &BTreeSet<&str>,
    environment: &Environment,
    settings: &Settings,
    hash_length: usize,
) -> Result<Parameters, String> {
    let compat = settings.scope.compat;
    let mut parameters = Parameters::new();
    let mut give =
        |name: &str, value: String, from| drop(parameters.insert(name.to_string(), Parameter { value, from }));
    for (name, value) in &environment.parameters {
        if compat && !is_variable_name(name) {
            return Err(format!("`{name}` cannot be the name of a parameter"));
        }
        if let Some(text) = if compat { Some(python_text(value)) } else { text(value) } {
            give(name, text, Giver::Environment);
        }
    }
    for (name, value) in settings.variables.iter().filter(|(name, _)| known.contains(name.as_str())) {
        give(name, value.clone(), Giver::Variable);
    }
    let mut tag = None;
    for one in environment.parameters.get(UPSTREAM_REPOS).and_then(Value::as_array).into_iter().flatten() {
        if one.get("repo").and_then(Value::as_str) == Some(settings.caller()) {
            let reference = one.get("ref").and_then(Value::as_str);
            let reference = reference.ok_or_else(|| format!("{UPSTREAM_REPOS} names no ref"))?;
            tag = Some((settings.commit(reference), Giver::EnvironmentReference));
        }
    }
    if let Some(reference) = settings.image_tag_from_ref.get(&*environment.name) {
        tag = Some((settings.commit(reference), Giver::Reference));
    }
    if let Some((commit, from)) = tag {
        let short = match commit {
            Ok(commit) => commit.chars().take(hash_length).collect(),
            Err(why) if compat => return Err(why),
            // Only what runs the image of that tag is lost by it.
            Err(why) => format!("{UNKNOWN}{why}"),
        };
        give("IMAGE_TAG", short, from);
        if !compat && known.contains("IMAGE_DIGEST") {
            // A digest that came with another tag would win over this one when the image is pulled.
            give("IMAGE_DIGEST", String::new(), from);
        }
    }
    give("IMAGE", settings.image().to_string(), Giver::Image);
    Ok(parameters)
}

fn is_variable_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(fits)
}

/// A value as people mean it: JSON's words, and nothing given for null.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// A value as Python's `str` prints it.
fn python_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => python_repr(other),
    }
}

fn python_repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_string(),
        Value::Bool(true) => "True".to_string(),
        Value::Bool(false) => "False".to_string(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => python_float(float),
            None => number.to_string(),
        },
        Value::String(text) => python_quoted(text),
        Value::Array(list) => format!("[{}]", list.iter().map(python_repr).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{}: {}", python_quoted(key), python_repr(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn python_quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests;
