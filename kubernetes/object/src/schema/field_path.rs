//! Paths of fields in a schema: `.spec.a['b.c']`.

use super::embedded::child;
use super::structural::fields;
use crate::Value;

/// Resolves a path. Returns the field's path as shown in errors, and its schema; or an error.
pub(crate) fn resolve<'a>(path: &str, schema: &'a Value, brackets: bool) -> Result<(String, &'a Value), String> {
    let mut shown = String::new();
    let mut node = schema;
    let mut tokens = tokens(path).into_iter();
    while let Some(token) = tokens.next() {
        let name = match token {
            "[" if !brackets => return Err("array notation is not allowed".into()),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let inner = quoted.strip_prefix('\'').and_then(|q| q.strip_suffix('\''));
                inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?.replace("\\'", "'")
            }
            "." => tokens.next().ok_or("unexpected end of JSON path")?.to_string(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        if fields(node, "properties").next().is_some() {
            node = node["properties"].get(&name).ok_or("does not refer to a valid field")?;
            shown = child(&shown, &name);
        } else if !node["additionalProperties"].is_null() {
            node = &node["additionalProperties"];
            shown = format!("{shown}[{name}]");
        } else {
            return Err("does not refer to a valid field".into());
        }
        if token == "[" {
            match tokens.next() {
                Some("]") => {}
                Some(other) => return Err(format!("expected ] but got {other}")),
                None => return Err("unexpected end of JSON path".into()),
            }
        }
    }
    Ok((shown, node))
}

/// Splits a path into dots, brackets, quoted strings and the text between them.
fn tokens(path: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let length = if rest.starts_with('\'') {
            let bytes = rest.as_bytes();
            let end = (1..bytes.len()).find(|&at| bytes[at] == b'\'' && bytes[at - 1] != b'\\');
            end.map_or(rest.len(), |end| end + 1)
        } else {
            match rest.find(['.', '[', ']']) {
                Some(0) => 1,
                Some(at) => at,
                None => rest.len(),
            }
        };
        let (token, tail) = rest.split_at(length);
        out.push(token);
        rest = tail;
    }
    out
}
