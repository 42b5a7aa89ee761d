//! Parameters of the chart's Template, and the precedence of their sources.
//!
//! From lowest to highest: the Template's own values, the environment's file, variables of the process that are
//! parameters of the Template, references to commits in the environment's file, references on the command line, and the
//! image.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::hash::python_float;
use crate::model::IntegrationEnvironment;
use crate::settings::RenderSettings;

/// Parameter of an environment with commits by repository.
const UPSTREAM_REPOS: &str = "INTEGRATION_UPSTREAM_REPOS";

/// Placeholder for the tag of an unknown commit, followed by the reason. No object may contain it.
pub const UNKNOWN: &str = "unknown commit: ";

/// Source of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterSource {
    /// Environment's file.
    Environment,
    /// Variable of the process.
    Variable,
    /// Reference in the environment's file.
    EnvironmentReference,
    /// Reference on the command line.
    Reference,
    /// Configured or default image.
    Image,
}

/// Value of a parameter, with its source.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SourcedParameter {
    /// Value.
    pub value: String,
    /// Source.
    pub from: ParameterSource,
}

/// Parameters by name.
pub type SourcedParameters = BTreeMap<String, SourcedParameter>;

/// Collects the parameters of an environment. `known` are the parameters of the Template.
///
/// # Errors
/// If a commit is unknown or a parameter has an invalid name.
pub fn collect(
    known: &BTreeSet<&str>,
    environment: &IntegrationEnvironment,
    settings: &RenderSettings,
    hash_length: usize,
) -> Result<SourcedParameters, String> {
    let compat = settings.scope.compat;
    let mut parameters = SourcedParameters::new();
    let mut give =
        |name: &str, value: String, from| drop(parameters.insert(name.to_string(), SourcedParameter { value, from }));
    for (name, value) in &environment.parameters {
        if compat && !is_variable_name(name) {
            return Err(format!("`{name}` is not a valid name of a parameter"));
        }
        if let Some(text) = if compat { Some(python_text(value)) } else { json_text(value) } {
            give(name, text, ParameterSource::Environment);
        }
    }
    for (name, value) in settings.variables.iter().filter(|(name, _)| known.contains(name.as_str())) {
        give(name, value.clone(), ParameterSource::Variable);
    }
    let mut tag = None;
    for one in environment.parameters.get(UPSTREAM_REPOS).and_then(Value::as_array).into_iter().flatten() {
        if one.get("repo").and_then(Value::as_str) == Some(settings.caller()) {
            let reference = one.get("ref").and_then(Value::as_str);
            let reference = reference.ok_or_else(|| format!("{UPSTREAM_REPOS} has no ref"))?;
            tag = Some((settings.commit(reference), ParameterSource::EnvironmentReference));
        }
    }
    if let Some(reference) = settings.image_tag_from_ref.get(&*environment.name) {
        tag = Some((settings.commit(reference), ParameterSource::Reference));
    }
    if let Some((commit, from)) = tag {
        let short = match commit {
            Ok(commit) => commit.chars().take(hash_length).collect(),
            Err(why) if compat => return Err(why),
            // Only objects that use the tag are affected.
            Err(why) => format!("{UNKNOWN}{why}"),
        };
        give("IMAGE_TAG", short, from);
        if !compat && known.contains("IMAGE_DIGEST") {
            // The digest belongs to another tag and would take precedence when the image is pulled.
            give("IMAGE_DIGEST", String::new(), from);
        }
    }
    give("IMAGE", settings.image().to_string(), ParameterSource::Image);
    Ok(parameters)
}

fn is_variable_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(fits)
}

/// Formats a value as JSON; null becomes no parameter.
fn json_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Formats a value like Python's `str`.
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
