//! Rendering of single templates: hermetic, with the delimiters `{%` and `%}`, and strict about missing values.

use std::any::Any;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value as Json};
use switchboard_template::sprig::SystemInputs;
use switchboard_template::{Error, ExecutionLimits, ExecutionOptions, MissingKey, TemplateSet, Value};

use super::functions::functions;

/// Error of a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct TemplateRenderError {
    /// Path of the template in the spec, such as `spec.configTemplate.host`.
    pub path: String,
    /// Problem, in the wording of Go.
    pub problem: String,
}

/// Limits of a template: a config has a few words, an object a few pages.
const LIMITS: ExecutionLimits = ExecutionLimits { output_bytes: 1 << 20, depth: 100, steps: 5_000_000 };
/// Maximum depth of trees.
const MAX_DEPTH: usize = 64;

/// Template engine with a fixed time and seed, so that equal inputs render equal outputs.
#[derive(Clone)]
pub struct TemplateEngine {
    now: Timestamp,
    seed: String,
}

impl TemplateEngine {
    /// Creates an engine with a time and a seed, both constant during a coupling.
    pub fn new(now: Timestamp, seed: impl Into<String>) -> Self {
        Self { now, seed: seed.into() }
    }

    /// Renders a template.
    ///
    /// # Errors
    /// [`TemplateRenderError`] if the template is invalid or a value is missing.
    pub fn text(&self, place: &str, template: &str, root: &Value) -> Result<String, TemplateRenderError> {
        if !template.contains("{%") {
            return Ok(template.to_string());
        }
        let wrong = |error: &Error| TemplateRenderError { path: place.to_string(), problem: describe(error) };
        let mut set = TemplateSet::new(place, functions());
        set.set_delimiters("{%", "%}");
        set.parse_new(place, with_go_end(template)).map_err(|error| wrong(&error))?;
        // A seed for each template, so that its output does not depend on other templates.
        let ambient = SystemInputs::fixed(self.now, format!("{}\n{place}", self.seed).as_bytes());
        let hosts: [&dyn Any; 1] = [&ambient];
        let options = ExecutionOptions { missing_key: MissingKey::Strict, limits: LIMITS, hosts: &hosts };
        let bytes = Arc::new(set).render(place, root, &options).map_err(|error| wrong(&error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Renders the strings and keys of a tree one by one. A value can change a string, but never the structure.
    ///
    /// # Errors
    /// Same as [`TemplateEngine::text`], with the path of the leaf.
    pub fn tree(&self, place: &str, tree: &Json, root: &Value) -> Result<Json, TemplateRenderError> {
        self.render_tree(place, tree, root, 0)
    }

    fn render_tree(&self, place: &str, tree: &Json, root: &Value, depth: usize) -> Result<Json, TemplateRenderError> {
        if depth > MAX_DEPTH {
            return Err(TemplateRenderError {
                path: place.to_string(),
                problem: format!("nests deeper than {MAX_DEPTH}"),
            });
        }
        Ok(match tree {
            Json::String(text) => Json::String(self.text(place, text, root)?),
            Json::Array(items) => {
                let item = |(number, item)| self.render_tree(&format!("{place}[{number}]"), item, root, depth + 1);
                Json::Array(items.iter().enumerate().map(item).collect::<Result<_, _>>()?)
            }
            Json::Object(fields) => {
                let mut rendered = Map::new();
                for (key, value) in fields {
                    let place = format!("{place}.{key}");
                    rendered.insert(self.text(&place, key, root)?, self.render_tree(&place, value, root, depth + 1)?);
                }
                Json::Object(rendered)
            }
            other => other.clone(),
        })
    }
}

/// Returns the problem and its template node, without Go's prefix, because the path is known.
fn describe(error: &Error) -> String {
    match error.details() {
        Some(spot) if !spot.node.is_empty() => {
            let node = spot.node.trim_start_matches("{{").trim_end_matches("}}");
            format!("{} in {{% {node} %}}", spot.problem)
        }
        Some(spot) => spot.problem.clone(),
        None => error.to_string(),
    }
}

/// Replaces `endif` of the specification by `end` of Go.
fn with_go_end(template: &str) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find("{%") {
        let Some(length) = rest[start..].find("%}") else { break };
        let (before, action) = (&rest[..start], &rest[start..start + length + 2]);
        let bare = action.trim_start_matches("{%").trim_end_matches("%}").trim_matches('-').trim();
        out.push_str(before);
        out.push_str(&if bare == "endif" { action.replace("endif", "end") } else { action.to_string() });
        rest = &rest[start + length + 2..];
    }
    out.push_str(rest);
    out
}
