//! The little language of `--set`: `a.b[0].c=1,d={x,y}`, exactly as Helm reads it, its odd corners included.

use serde_json::Deserializer;
use switchboard_object::quote::quote;
use switchboard_object::{Map, Value};

use crate::values;

/// The highest index a list may be given.
const MAX_INDEX: i64 = 65_536;
/// How many names may follow each other with dots.
const MAX_NESTED_NAMES: usize = 30;
/// How many indexes may follow each other. Helm has no bound here; its stack grows.
const MAX_NESTED_INDEXES: usize = 256;

/// What is made of the text behind `=`.
pub enum Kind<'a> {
    /// `--set`: numbers, booleans and null are what they look like.
    Typed,
    /// `--set-string`: everything is text.
    Text,
    /// `--set-json`: values are JSON.
    Json,
    /// `--set-literal`: the rest of the line is the text.
    Literal,
    /// `--set-file`: the text is the name of a file, which this reads.
    File(&'a dyn Fn(&str) -> Result<Value, String>),
}

/// A line that cannot be understood, in Helm's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SetError(String);

/// Reads a line and puts what it says into the values.
///
/// # Errors
/// When the line is not of the language, or does not fit what is already there.
pub fn set(line: &str, kind: &Kind<'_>, into: &mut Map) -> Result<(), SetError> {
    let mut parser = Parser { text: line, at: 0, kind, indexes: 0 };
    loop {
        match parser.key(into, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Error(text)) => return Err(SetError(text)),
        }
    }
}

/// Why reading stops. Helm takes an end anywhere, even inside an index, for the end of the line.
enum Stop {
    End,
    Error(String),
}

fn error<T>(text: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Error(text.into()))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    kind: &'a Kind<'a>,
    indexes: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.text[self.at..].chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// The text up to one of the stops, and the stop; none at the end.
    fn until(&mut self, stops: &str) -> (String, Option<char>) {
        let mut text = String::new();
        let escapes = !matches!(self.kind, Kind::Literal);
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

    fn key(&mut self, data: &mut Map, level: usize) -> Result<(), Stop> {
        let stops = if matches!(self.kind, Kind::Literal) { "=[." } else { "=[,." };
        let (key, stop) = self.until(stops);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => error(format!("key {} has no value", quote(&key))),
            Some('[') => self.list_of(data, key, level),
            Some('=') => self.value_of(data, key),
            Some(',') => error(format!("key {} has no value (cannot end with ,)", quote(&key))),
            Some(_) => self.map_of(data, key, level + 1),
        }
    }

    fn list_of(&mut self, data: &mut Map, key: String, level: usize) -> Result<(), Stop> {
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

    fn map_of(&mut self, data: &mut Map, key: String, level: usize) -> Result<(), Stop> {
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

    fn value_of(&mut self, data: &mut Map, key: String) -> Result<(), Stop> {
        let (value, end) = self.value()?;
        put(data, key, value);
        if end { Err(Stop::End) } else { Ok(()) }
    }

    /// The value behind `=`, and whether the line ended right there.
    fn value(&mut self) -> Result<(Value, bool), Stop> {
        match self.kind {
            Kind::Literal => {
                let rest = self.text[self.at..].to_string();
                self.at = self.text.len();
                Ok((Value::String(rest), false))
            }
            Kind::Json => Ok((self.json()?, false)),
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

    fn json(&mut self) -> Result<Value, Stop> {
        if self.nothing() {
            return Ok(Value::Null);
        }
        let mut values = Deserializer::from_str(&self.text[self.at..]).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            Some(Err(problem)) => return error(problem.to_string()),
            None => return Err(Stop::End),
        };
        self.at += values.byte_offset();
        self.nothing();
        Ok(values::floats(value))
    }

    /// Passes blanks; true when a comma, which is passed too, or the end comes first.
    fn nothing(&mut self) -> bool {
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

    fn braces(&mut self) -> Result<Value, Stop> {
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

    fn read(&self, text: String) -> Result<Value, Stop> {
        match self.kind {
            Kind::Typed => Ok(typed(text)),
            Kind::File(read) => read(&text).map_err(Stop::Error),
            _ => Ok(Value::String(text)),
        }
    }

    fn index(&mut self) -> Result<i64, Stop> {
        let (text, stop) = self.until("]");
        if stop.is_none() {
            return Err(Stop::End);
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

    fn item(&mut self, list: &mut Vec<Value>, index: i64, level: usize) -> Result<(), Stop> {
        let Ok(at) = usize::try_from(index) else {
            return error(format!("negative {index} index not allowed"));
        };
        self.indexes += 1;
        if self.indexes > MAX_NESTED_INDEXES {
            return error(format!("more than {MAX_NESTED_INDEXES} indexes follow each other"));
        }
        let (between, stop) = self.until("[.=");
        if !between.is_empty() {
            let shown: Vec<String> = between.chars().map(|c| format!("'{c}'")).collect();
            return error(format!("unexpected data at end of array index: [{}]", shown.join(" ")));
        }
        match stop {
            None => Err(Stop::End),
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

fn put_at(list: &mut Vec<Value>, index: i64, value: Value) -> Result<(), Stop> {
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

/// What Go says when a value is not of the type it is taken for.
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
