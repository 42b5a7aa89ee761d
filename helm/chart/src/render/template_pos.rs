//! Positions of errors in a chart, for users: file, line, column, the value that caused it, and a hint.

use std::fmt;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use switchboard_object::Map;
use switchboard_object::quote::quote;
use switchboard_template::{Error, TemplateSet, Value, format};

use super::source_marks::{SourceMarks, add_marks};
use super::{AssembledChart, ChartTemplate, RenderRequest};
use crate::manifest::ManifestError;

/// Maximum number of characters shown of a value.
const MAX_SHOWN_CHARS: usize = 60;

static VALUE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\.Values((?:\.[A-Za-z_][A-Za-z0-9_]*)+)").expect("a constant"));
static NIL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^nil pointer evaluating .*\.([A-Za-z0-9_]+)$").expect("a constant"));

/// Position of an error in a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplatePos {
    /// File of the template, such as `shop/templates/service.yaml`.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column, counted from 1, if known.
    pub column: Option<usize>,
    /// Problem, including the value that caused it.
    pub problem: String,
    /// Suggested fix.
    pub hint: Option<String>,
}

impl fmt::Display for TemplatePos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}:{}", self.file, self.line)?;
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.problem)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Returns the position where a template failed.
pub(super) fn locate_error(error: &Error) -> Option<Box<TemplatePos>> {
    let details = error.innermost()?;
    let (problem, hint) = match NIL.captures(&details.problem).map(|found| found[1].to_string()) {
        Some(field) => unset_field(&details.node, &field),
        None => (details.problem.clone(), None),
    };
    let column = details.column.map(|column| column + 1);
    Some(Box::new(TemplatePos { file: details.file.clone(), line: details.line, column, problem, hint }))
}

/// Returns problem and hint for a field of a value that is not set.
fn unset_field(node: &str, field: &str) -> (String, Option<String>) {
    let parent = node.split(&format!(".{field}")).next().unwrap_or(node);
    let problem = format!("`{parent}` is not set, so it has no `{field}`");
    let hint = parent.strip_prefix(".Values.").map(|path| {
        format!("set it, for example with --set {path}.{field}=..., or test it first: {{{{ with {parent} }}}}")
    });
    (problem, hint)
}

/// Returns the source position of an invalid document. Renders the template again with marks in its text.
pub(super) fn locate_manifest(
    error: &ManifestError,
    assembled: &AssembledChart,
    request: &RenderRequest,
    values: &Map,
    rendered: &str,
) -> Option<Box<TemplatePos>> {
    let template = assembled.templates.iter().find(|template| template.name == error.source_file)?;
    let (line, _) = error.position.unwrap_or((1, 1));
    let document = &rendered[error.offset..];
    let before: usize = document.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let text = document[before..].split('\n').next().unwrap_or_default();
    let column = text.len() - text.trim_start().len();
    let mut position = TemplatePos {
        file: template.name.clone(),
        line: 1,
        problem: format!("rendered {}", quote(&shortened(text.trim()))),
        ..TemplatePos::default()
    };
    let marked = [MarkSelection::All, MarkSelection::Own(&template.name)].into_iter().find_map(|selection| {
        let marks = render_marked(template, selection, assembled, request, values)?;
        (marks.text() == rendered).then(|| marks.last_before(error.offset + before + column))?
    });
    let Some(marked) = marked else { return Some(Box::new(position)) };
    let from = assembled.templates.get(marked.file)?;
    position.file.clone_from(&from.name);
    position.line = marked.line;
    position.column = Some(marked.column);
    let own = super::data::template_data(&assembled.root, values, &request.release, &request.capabilities);
    let own = own.get(template.chart)?.as_map()?.get(b"Values")?;
    let source = from.text.to_text();
    if let Some((path, value)) = suspect_value(source.lines().nth(marked.line - 1).unwrap_or_default(), &own) {
        let shown = shortened(&String::from_utf8_lossy(&format::sprint(std::slice::from_ref(&value))));
        position.problem = format!("{}, where `{path}` is {}", position.problem, quote(&shown));
        position.hint = Some(fix_hint(&path, &value));
    }
    Some(Box::new(position))
}

/// Selection of templates to mark. Some templates process a helper's output further, and marks would change the result.
#[derive(Clone, Copy)]
enum MarkSelection<'a> {
    All,
    Own(&'a str),
}

fn render_marked(
    template: &ChartTemplate,
    selection: MarkSelection<'_>,
    assembled: &AssembledChart,
    request: &RenderRequest,
    values: &Map,
) -> Option<SourceMarks> {
    let mut set = TemplateSet::layer(assembled.set.as_ref().ok()?);
    for (number, other) in assembled.templates.iter().enumerate() {
        if matches!(selection, MarkSelection::All)
            || matches!(selection, MarkSelection::Own(name) if name == other.name)
        {
            set.parse(&other.name, add_marks(&other.text.to_text(), number)).ok()?;
        }
    }
    let (rendered, _) = super::execute_with(&Arc::new(set), assembled, request, values, Some(&template.name)).ok()?;
    Some(SourceMarks::extract(rendered.get(&template.name)?))
}

/// Returns the value on a line that most likely causes the problem: a text that YAML parses as something else, a map or
/// a list.
fn suspect_value(line: &str, values: &Value) -> Option<(String, Value)> {
    let mut found = VALUE.captures_iter(line).filter_map(|found| {
        let mut value = values.clone();
        for part in found[1].split('.').skip(1) {
            value = value.as_map()?.get(part.as_bytes())?;
        }
        Some((found[0].to_string(), value))
    });
    found.find(|(_, value)| matches!(value, Value::String(_) | Value::Map(..) | Value::List(..)))
}

fn fix_hint(path: &str, value: &Value) -> String {
    match value {
        Value::String(text) if !text.contains(&b'\n') => format!("quote it: {{{{ {path} | quote }}}}"),
        Value::String(_) => format!("write it as a block: |- and {{{{ {path} | nindent 4 }}}}"),
        _ => format!("write it as YAML: {{{{ toYaml {path} | nindent 4 }}}}"),
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_SHOWN_CHARS {
        return text.to_string();
    }
    text.chars().take(MAX_SHOWN_CHARS).chain(['…']).collect()
}
