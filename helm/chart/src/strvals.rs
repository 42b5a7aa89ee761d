//! Syntax of `--set`: `a.b[0].c=1,d={x,y}`, parsed exactly as in Helm, including its edge cases.

use serde_json::Deserializer;
use switchboard_object::quote::quote;
use switchboard_object::{Map, Value};

use crate::values;

/// Maximum index of a list.
const MAX_INDEX: i64 = 65_536;
/// Maximum number of names joined by dots.
const MAX_NESTED_NAMES: usize = 30;
/// Maximum number of consecutive indexes. Helm has no limit here; its stack grows.
const MAX_NESTED_INDEXES: usize = 256;

/// Conversion of the text after `=`.
pub enum SetKind<'a> {
    /// `--set`: texts that look like numbers, booleans or null are converted.
    Typed,
    /// `--set-string`: every value is a text.
    Text,
    /// `--set-json`: values are JSON.
    Json,
    /// `--set-literal`: the rest of the line is the value.
    Literal,
    /// `--set-file`: the text is the name of a file, which this function reads.
    File(&'a dyn Fn(&str) -> Result<Value, String>),
}

/// Error for an invalid line, with Helm's text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SetError(String);

/// Parses a line and sets its values.
///
/// # Errors
/// If the line has a syntax error or does not fit the existing values.
pub fn set(line: &str, kind: &SetKind<'_>, into: &mut Map) -> Result<(), SetError> {
    let mut parser = SetParser { text: line, at: 0, kind, indexes: 0 };
    loop {
        match parser.key(into, 0) {
            Ok(()) => {}
            Err(SetStop::End) => return Ok(()),
            Err(SetStop::Error(text)) => return Err(SetError(text)),
        }
    }
}

/// Reason why parsing stops. Helm accepts the end of the text anywhere, even inside an index, as the end of the line.
enum SetStop {
    End,
    Error(String),
}

fn error<T>(text: impl Into<String>) -> Result<T, SetStop> {
    Err(SetStop::Error(text.into()))
}

struct SetParser<'a> {
    text: &'a str,
    at: usize,
    kind: &'a SetKind<'a>,
    indexes: usize,
}

impl SetParser<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.text[self.at..].chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Reads the text up to one of the stop characters. Also returns that character, or `None` at the end.
    fn until(&mut self, stops: &str) -> (String, Option<char>) {
        let mut text = String::new();
        let escapes = !matches!(self.kind, SetKind::Literal);
        while let Some(next) = self.next() {
            if stops.contains(next) {
                return (text, Some(next));
            }
            if next == '\\' && escapes {
                let Some(escaped) = self.next() else { break };
                text.push(escaped);
            } else {
                text.push(next);
            }
        }
        (text, None)
    }

    fn key(&mut self, data: &mut Map, level: usize) -> Result<(), SetStop> {
        let stops = if matches!(self.kind, SetKind::Literal) { "=[." } else { "=[,." };
        let (key, stop) = self.until(stops);
        match stop {
            None if key.is_empty() => Err(SetStop::End),
            None => error(format!("key {} has no value", quote(&key))),
            Some('[') => self.list_of(data, key, level),
            Some('=') => self.value_of(data, key),
            Some(',') => error(format!("key {} has no value (cannot end with ,)", quote(&key))),
            Some(_) => self.map_of(data, key, level + 1),
        }
    }

    fn list_of(&mut self, data: &mut Map, key: String, level: usize) -> Result<(), SetStop> {
        let index = self.index()?;
        let mut list = match data.remove(&key) {
            None => Vec::new(),
            Some(Value::Array(list)) => list,
            Some(other) => return error(conversion(Some(&other), "[]interface {}")),
        };
        let done = self.item(&mut list, index, level);
        put(data, key, Value::Array(list));
        done
    }

    fn map_of(&mut self, data: &mut Map, key: String, level: usize) -> Result<(), SetStop> {
        if level > MAX_NESTED_NAMES {
            return error(format!(
                "value name nested level is greater than maximum supported nested level of {MAX_NESTED_NAMES}"
            ));
        }
        let known = data.contains_key(&key);
        let mut inner = match data.remove(&key) {
            None => Map::new(),
            Some(Value::Object(map)) => map,
            Some(other) => return error(conversion(Some(&other), "map[string]interface {}")),
        };
        let done = self.key(&mut inner, level);
        if done.is_ok() && inner.is_empty() {
            return error(format!("key map {} has no value", quote(&key)));
        }
        if known || !inner.is_empty() {
            put(data, key, Value::Object(inner));
        }
        done
    }

    fn value_of(&mut self, data: &mut Map, key: String) -> Result<(), SetStop> {
        let (value, end) = self.value()?;
        put(data, key, value);
        if end { Err(SetStop::End) } else { Ok(()) }
    }

    /// Reads the value after `=`. Also returns whether the line ended there.
    fn value(&mut self) -> Result<(Value, bool), SetStop> {
        match self.kind {
            SetKind::Literal => {
                let rest = self.text[self.at..].to_string();
                self.at = self.text.len();
                Ok((Value::String(rest), false))
            }
            SetKind::Json => Ok((self.json()?, false)),
            _ => match self.text[self.at..].chars().next() {
                None => Ok((Value::String(String::new()), true)),
                Some('{') => Ok((self.braces()?, false)),
                Some(_) => {
                    let (text, _) = self.until(",");
                    Ok((self.read(text)?, false))
                }
            },
        }
    }

    fn json(&mut self) -> Result<Value, SetStop> {
        if self.skip_blanks_to_end() {
            return Ok(Value::Null);
        }
        let mut values = Deserializer::from_str(&self.text[self.at..]).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            Some(Err(problem)) => return error(problem.to_string()),
            None => return Err(SetStop::End),
        };
        self.at += values.byte_offset();
        self.skip_blanks_to_end();
        Ok(values::floats(value))
    }

    /// Skips blanks. Returns true if the end or a comma follows, and consumes the comma.
    fn skip_blanks_to_end(&mut self) -> bool {
        loop {
            let before = self.at;
            match self.next() {
                None | Some(',') => return true,
                Some(next) if next.is_whitespace() => {}
                Some(_) => {
                    self.at = before;
                    return false;
                }
            }
        }
    }

    fn braces(&mut self) -> Result<Value, SetStop> {
        self.next();
        let mut list = Vec::new();
        loop {
            let (text, stop) = self.until(",}");
            match stop {
                None => return error("list must terminate with '}'"),
                Some('}') => {
                    if self.text[self.at..].starts_with(',') {
                        self.at += 1;
                    }
                    list.push(self.read(text)?);
                    return Ok(Value::Array(list));
                }
                Some(_) => list.push(self.read(text)?),
            }
        }
    }

    fn read(&self, text: String) -> Result<Value, SetStop> {
        match self.kind {
            SetKind::Typed => Ok(typed(text)),
            SetKind::File(read) => read(&text).map_err(SetStop::Error),
            _ => Ok(Value::String(text)),
        }
    }

    fn index(&mut self) -> Result<i64, SetStop> {
        let (text, stop) = self.until("]");
        if stop.is_none() {
            return Err(SetStop::End);
        }
        let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
        match text.parse::<i64>() {
            Ok(index) => Ok(index),
            Err(_) => {
                let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                let problem = if numeric { "value out of range" } else { "invalid syntax" };
                error(format!("error parsing index: strconv.Atoi: parsing {}: {problem}", quote(&text)))
            }
        }
    }

    fn item(&mut self, list: &mut Vec<Value>, index: i64, level: usize) -> Result<(), SetStop> {
        let Ok(at) = usize::try_from(index) else {
            return error(format!("negative {index} index not allowed"));
        };
        self.indexes += 1;
        if self.indexes > MAX_NESTED_INDEXES {
            return error(format!("more than {MAX_NESTED_INDEXES} consecutive indexes"));
        }
        let (between, stop) = self.until("[.=");
        if !between.is_empty() {
            let shown: Vec<String> = between.chars().map(|c| format!("'{c}'")).collect();
            return error(format!("unexpected data at end of array index: [{}]", shown.join(" ")));
        }
        match stop {
            None => Err(SetStop::End),
            Some('=') => {
                self.indexes = 0;
                let (value, _) = self.value()?;
                put_at(list, index, value)
            }
            Some('[') => {
                let next = self.index()?;
                let nothing = list.get(at).is_some_and(Value::is_null);
                let mut inner = match list.get_mut(at).map(Value::take) {
                    None | Some(Value::Null) => Vec::new(),
                    Some(Value::Array(inner)) => inner,
                    Some(other) => return error(conversion(Some(&other), "[]interface {}")),
                };
                let done = self.item(&mut inner, next, level);
                if done.is_ok() {
                    return put_at(list, index, Value::Array(inner));
                }
                if at < list.len() && !nothing {
                    list[at] = Value::Array(inner);
                }
                done
            }
            Some(_) => {
                let known = at < list.len();
                let mut inner = match list.get_mut(at).map(Value::take) {
                    Some(Value::Object(inner)) => inner,
                    _ => Map::new(),
                };
                let done = self.key(&mut inner, level);
                if known {
                    list[at] = Value::Object(inner);
                    return done;
                }
                done?;
                put_at(list, index, Value::Object(inner))
            }
        }
    }
}

fn put(data: &mut Map, key: String, value: Value) {
    if !key.is_empty() {
        data.insert(key, value);
    }
}

fn put_at(list: &mut Vec<Value>, index: i64, value: Value) -> Result<(), SetStop> {
    if index > MAX_INDEX {
        return error(format!("index of {index} is greater than maximum supported index of {MAX_INDEX}"));
    }
    let at = usize::try_from(index).expect("negative indexes were refused");
    if list.len() <= at {
        list.resize(at + 1, Value::Null);
    }
    list[at] = value;
    Ok(())
}

/// Returns Go's error for a value with another type than expected.
fn conversion(value: Option<&Value>, wanted: &str) -> String {
    let got = match value {
        None | Some(Value::Null) => "nil",
        Some(Value::Bool(_)) => "bool",
        Some(Value::Number(number)) if number.is_f64() => "float64",
        Some(Value::Number(_)) => "int64",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "[]interface {}",
        Some(Value::Object(_)) => "map[string]interface {}",
    };
    format!("unable to parse key: interface conversion: interface {{}} is {got}, not {wanted}")
}

fn typed(text: String) -> Value {
    if text.eq_ignore_ascii_case("true") {
        return Value::Bool(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return Value::Bool(false);
    }
    if text.eq_ignore_ascii_case("null") {
        return Value::Null;
    }
    if text == "0" {
        return Value::from(0);
    }
    match text.parse::<i64>() {
        Ok(number) if !text.starts_with('0') => Value::from(number),
        _ => Value::String(text),
    }
}

#[cfg(test)]
mod tests;
