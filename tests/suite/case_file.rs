//! Writes a case to its file in a canonical format that is easy to review.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::case::{CaseAnswer, CaseStep, ConformanceCase};

/// Maximum line width of flow style.
const WIDTH: usize = 120;
/// Keys that come first for readability.
const FIRST: [&str; 11] =
    ["do", "code", "type", "apiVersion", "kind", "metadata", "name", "generateName", "namespace", "reason", "message"];

/// Returns the text of a case.
pub fn write(case: &ConformanceCase) -> String {
    let mut out = format!("title: {}\nsteps:\n", plain_or_quoted(&case.title, false));
    for step in &case.steps {
        for (index, (key, value)) in step_fields(step).into_iter().enumerate() {
            out.push_str(if index == 0 { "- " } else { "  " });
            entry(&mut out, key, &value, 2);
        }
    }
    out
}

fn step_fields(step: &CaseStep) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("do", json!(step.act))];
    let mut add = |key, value: Value| {
        if !value.is_null() {
            fields.push((key, value));
        }
    };
    add("type", json!(step.content_type));
    add("accept", json!(step.accept));
    add("headers", nonempty(json!(step.headers)));
    add("as", json!(step.user));
    add("token", json!(step.token));
    add("body", json!(step.body));
    add("text", json!(step.text));
    add("open", json!(step.open));
    add("events", json!(step.events));
    add("bookmarks", if step.bookmarks { json!(true) } else { Value::Null });
    add("until", nonempty(json!(step.until)));
    add("save", nonempty(json!(step.save)));
    add("quiet", if step.quiet { json!(true) } else { Value::Null });
    add("keep", nonempty(json!(step.keep)));
    add("ignore", nonempty(json!(step.ignore)));
    add("differs", nonempty(json!(step.differs)));
    add("answer", step.answer.as_ref().map_or(Value::Null, answer_value));
    fields
}

fn answer_value(answer: &CaseAnswer) -> Value {
    let mut map = Map::new();
    map.insert("code".into(), json!(answer.code));
    if let Some(kind) = &answer.content_type {
        map.insert("type".into(), json!(kind));
    }
    if !answer.warnings.is_empty() {
        map.insert("warnings".into(), json!(answer.warnings));
    }
    if !answer.body.is_null() {
        map.insert("body".into(), answer.body.clone());
    }
    if let Some(events) = &answer.events {
        map.insert("events".into(), json!(events));
    }
    Value::Object(map)
}

fn nonempty(value: Value) -> Value {
    let empty = value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
    if empty { Value::Null } else { value }
}

/// Writes `key: value` at the current position, continued at `indent`.
fn entry(out: &mut String, key: &str, value: &Value, indent: usize) {
    let key = plain_or_quoted(key, true);
    let _ = write!(out, "{key}:");
    nested(out, value, indent, key.len() + 2);
}

fn nested(out: &mut String, value: &Value, indent: usize, used: usize) {
    if let Value::String(text) = value {
        if let Some(block) = literal(text, indent + 2) {
            let _ = write!(out, " {block}");
        } else {
            let _ = writeln!(out, " {}", plain_or_quoted(text, false));
        }
        return;
    }
    let line = flow(value);
    if indent + used + line.len() <= WIDTH {
        let _ = writeln!(out, " {line}");
        return;
    }
    out.push('\n');
    match value {
        Value::Object(map) => {
            for key in ordered(map) {
                out.push_str(&" ".repeat(indent + 2));
                entry(out, key, &map[key], indent + 2);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&" ".repeat(indent));
                list_item(out, item, indent);
            }
        }
        scalar => {
            let _ = writeln!(out, "{}{scalar}", " ".repeat(indent + 2));
        }
    }
}

fn list_item(out: &mut String, item: &Value, indent: usize) {
    let line = flow(item);
    match item {
        Value::Object(map) if indent + 2 + line.len() > WIDTH => {
            for (index, key) in ordered(map).into_iter().enumerate() {
                out.push_str(if index == 0 { "- " } else { "" });
                if index > 0 {
                    out.push_str(&" ".repeat(indent + 2));
                }
                entry(out, key, &map[key], indent + 2);
            }
        }
        Value::Array(_) if indent + 2 + line.len() > WIDTH => {
            out.push('-');
            nested(out, item, indent + 2, WIDTH);
        }
        Value::String(text) => {
            let _ = writeln!(out, "- {}", plain_or_quoted(text, false));
        }
        _ => {
            let _ = writeln!(out, "- {line}");
        }
    }
}

fn ordered(map: &Map<String, Value>) -> Vec<&String> {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_by_key(|key| (FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()), key.to_string()));
    keys
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let parts: Vec<String> =
                ordered(map).into_iter().map(|k| format!("{}: {}", plain_or_quoted(k, true), flow(&map[k]))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => plain_or_quoted(text, true),
        other => other.to_string(),
    }
}

/// Returns a literal block for multi-line text, if YAML can represent it unchanged.
fn literal(text: &str, indent: usize) -> Option<String> {
    let body = text.trim_end_matches('\n');
    let strange = body.chars().any(|c| c.is_control() && c != '\n');
    if !body.contains('\n') || strange || body.starts_with([' ', '\n']) || body.lines().any(|l| l.ends_with(' ')) {
        return None;
    }
    let chomp = match text.len() - body.len() {
        0 => "|-",
        1 => "|",
        _ => return None,
    };
    let mut out = format!("{chomp}\n");
    for line in body.lines() {
        if !line.is_empty() {
            let _ = write!(out, "{}{line}", " ".repeat(indent));
        }
        out.push('\n');
    }
    Some(out)
}

fn plain_or_quoted(text: &str, in_flow: bool) -> String {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '<');
    let tight = text.chars().all(|c| c.is_ascii_alphanumeric() || "_./<>-".contains(c));
    let loose = !in_flow
        && text.chars().all(|c| c.is_ascii_graphic() || c == ' ')
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' ']);
    let word = WORDS.contains(&text.to_ascii_lowercase().as_str());
    if starts_well && !word && (tight || loose) { text.to_string() } else { quoted(text) }
}

/// Quotes a string. JSON quoting is valid YAML, but YAML requires more escapes.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in Value::String(text.to_string()).to_string().chars() {
        if matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}') {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests;
