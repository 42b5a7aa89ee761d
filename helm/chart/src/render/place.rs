//! Where in a chart something went wrong, for people: file, line, column, the value that caused it, a hint.

use std::fmt;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use switchboard_object::Map;
use switchboard_object::quote::quote;
use switchboard_template::{Error, Set, Value, format};

use super::mark::{Marks, mark};
use super::{Assembled, Request, Template};
use crate::manifest::ManifestError;

/// How much of a value is shown.
const MAX_SHOWN_CHARS: usize = 60;

static VALUE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\.Values((?:\.[A-Za-z_][A-Za-z0-9_]*)+)").expect("a constant"));
static NIL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^nil pointer evaluating .*\.([A-Za-z0-9_]+)$").expect("a constant"));

/// A place in a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The template's file, such as `shop/templates/service.yaml`.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// The column, counted from one, where it is known.
    pub column: Option<usize>,
    /// What is wrong there, with the value that caused it.
    pub what: String,
    /// What may help.
    pub hint: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}:{}", self.file, self.line)?;
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Where a template failed.
pub(super) fn of_error(error: &Error) -> Option<Box<Place>> {
    let spot = error.innermost()?;
    let (what, hint) = match NIL.captures(&spot.problem).map(|found| found[1].to_string()) {
        Some(field) => unset(&spot.node, &field),
        None => (spot.problem.clone(), None),
    };
    let column = spot.column.map(|column| column + 1);
    Some(Box::new(Place { file: spot.file.clone(), line: spot.line, column, what, hint }))
}

/// A field of something that is not there: what is not there, and how to bring it.
fn unset(node: &str, field: &str) -> (String, Option<String>) {
    let parent = node.split(&format!(".{field}")).next().unwrap_or(node);
    let what = format!("`{parent}` is not set, so it has no `{field}`");
    let hint = parent.strip_prefix(".Values.").map(|path| {
        format!("set it, for example with --set {path}.{field}=..., or ask first: {{{{ with {parent} }}}}")
    });
    (what, hint)
}

/// Where a document that cannot be read comes from: the template is rendered once more, with marks in its text.
pub(super) fn of_manifest(
    error: &ManifestError,
    assembled: &Assembled,
    request: &Request,
    values: &Map,
    rendered: &str,
) -> Option<Box<Place>> {
    let template = assembled.templates.iter().find(|template| template.name == error.source_file)?;
    let (line, _) = error.place.unwrap_or((1, 1));
    let document = &rendered[error.offset..];
    let before: usize = document.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let text = document[before..].split('\n').next().unwrap_or_default();
    let column = text.len() - text.trim_start().len();
    let mut place = Place {
        file: template.name.clone(),
        line: 1,
        what: format!("rendered {}", quote(&shortened(text.trim()))),
        ..Place::default()
    };
    let marked = [Whose::All, Whose::Own(&template.name)].into_iter().find_map(|whose| {
        let marks = marked(template, whose, assembled, request, values)?;
        (marks.text() == rendered).then(|| marks.last_before(error.offset + before + column))?
    });
    let Some(marked) = marked else { return Some(Box::new(place)) };
    let from = assembled.templates.get(marked.file)?;
    place.file.clone_from(&from.name);
    place.line = marked.line;
    place.column = Some(marked.column);
    let own = super::data::dots(&assembled.root, values, &request.release, &request.capabilities);
    let own = own.get(template.chart)?.as_map()?.get(b"Values")?;
    let source = from.text.to_text();
    if let Some((path, value)) = culprit(source.lines().nth(marked.line - 1).unwrap_or_default(), &own) {
        let shown = shortened(&String::from_utf8_lossy(&format::sprint(std::slice::from_ref(&value))));
        place.what = format!("{}, where `{path}` is {}", place.what, quote(&shown));
        place.hint = Some(remedy(&path, &value));
    }
    Some(Box::new(place))
}

/// Which templates are marked. Some do more with what a helper writes than to print it, and marks would change that.
#[derive(Clone, Copy)]
enum Whose<'a> {
    All,
    Own(&'a str),
}

fn marked(
    template: &Template,
    whose: Whose<'_>,
    assembled: &Assembled,
    request: &Request,
    values: &Map,
) -> Option<Marks> {
    let mut set = Set::layer(assembled.set.as_ref().ok()?);
    for (number, other) in assembled.templates.iter().enumerate() {
        if matches!(whose, Whose::All) || matches!(whose, Whose::Own(name) if name == other.name) {
            set.parse(&other.name, mark(&other.text.to_text(), number)).ok()?;
        }
    }
    let (rendered, _) = super::execute_with(&Arc::new(set), assembled, request, values, Some(&template.name)).ok()?;
    Some(Marks::read(rendered.get(&template.name)?))
}

/// The value on a line that most likely does not fit: a text with what YAML reads as more than text.
fn culprit(line: &str, values: &Value) -> Option<(String, Value)> {
    let mut found = VALUE.captures_iter(line).filter_map(|found| {
        let mut value = values.clone();
        for part in found[1].split('.').skip(1) {
            value = value.as_map()?.get(part.as_bytes())?;
        }
        Some((found[0].to_string(), value))
    });
    found.find(|(_, value)| matches!(value, Value::String(_) | Value::Map(..) | Value::List(..)))
}

fn remedy(path: &str, value: &Value) -> String {
    match value {
        Value::String(text) if !text.contains(&b'\n') => format!("quote it: {{{{ {path} | quote }}}}"),
        Value::String(_) => format!("set it in as a block: |- and {{{{ {path} | nindent 4 }}}}"),
        _ => format!("write it as YAML: {{{{ toYaml {path} | nindent 4 }}}}"),
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_SHOWN_CHARS {
        return text.to_string();
    }
    text.chars().take(MAX_SHOWN_CHARS).chain(['…']).collect()
}
