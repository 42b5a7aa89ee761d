//! YAML into Go's structs, as `sigs.k8s.io/yaml` does it: names in any case, scalars become text where text is wanted,
//! and a field of the wrong type is reported in encoding/json's words.

use switchboard_object::{Map, Value, json_type, yaml};

/// Text that is not what was to be read, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub String);

/// Reads one YAML document.
///
/// # Errors
/// When the text is not YAML.
pub fn read(text: &str) -> Result<Value, DecodeError> {
    let document = yaml::read(text);
    document.map(|document| document.value).map_err(|e| DecodeError(format!("error converting YAML to JSON: {e}")))
}

/// The same from bytes, which may be no text at all.
///
/// # Errors
/// When they are not YAML.
pub fn read_bytes(bytes: &[u8]) -> Result<Value, DecodeError> {
    let text = yaml::decode(bytes).map_err(|error| DecodeError(format!("error converting YAML to JSON: {error}")))?;
    read(&text)
}

/// Reads one YAML document that must be a mapping, or nothing.
///
/// # Errors
/// When the text is not YAML, or the document something else.
pub fn read_map(text: &str) -> Result<Map, DecodeError> {
    match read(text)? {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(mismatch(&other, "Go value", "map[string]interface {}")),
    }
}

/// What encoding/json says of a value that does not fit.
pub fn mismatch(value: &Value, place: &str, wanted: &str) -> DecodeError {
    DecodeError(format!("error unmarshaling JSON: while decoding JSON: {}", json_mismatch(value, place, wanted)))
}

/// The same where JSON is read and no YAML.
pub fn json_mismatch(value: &Value, place: &str, wanted: &str) -> DecodeError {
    DecodeError(format!("json: cannot unmarshal {} into {place} of type {wanted}", json_type(value)))
}

/// Reads the fields of one struct; the first that does not fit is the error of all, as in Go.
pub struct Fields<'a> {
    map: &'a Map,
    /// What Go calls the place: `Metadata`, or `Metadata.dependencies`.
    place: &'static str,
    error: Option<DecodeError>,
    strict: bool,
}

impl<'a> Fields<'a> {
    /// The fields of this mapping.
    pub fn of(map: &'a Map, place: &'static str) -> Self {
        Self { map, place, error: None, strict: false }
    }

    /// The same, where a text is only what is written as one.
    pub fn strict(map: &'a Map, place: &'static str) -> Self {
        Self { strict: true, ..Self::of(map, place) }
    }

    fn read_text(&self, value: &Value) -> Option<String> {
        if self.strict { value.as_str().map(str::to_string) } else { text_of(value) }
    }

    /// The first error there was.
    ///
    /// # Errors
    /// That error.
    pub fn done(self) -> Result<(), DecodeError> {
        self.error.map_or(Ok(()), Err)
    }

    /// Keeps an error, unless there was one before.
    pub fn note(&mut self, error: DecodeError) {
        self.error.get_or_insert(error);
    }

    fn wrong(&mut self, value: &Value, name: &str, wanted: &str) {
        let place = format!("Go struct field {}.{name}", self.place);
        self.note(mismatch(value, &place, wanted));
    }

    /// A field by its name, or by its name in another case; null is none.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        let exact = self.map.get(name);
        let any_case = || self.map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        exact.or_else(any_case).filter(|value| !value.is_null())
    }

    /// A text; numbers and booleans become one, unless they are refused.
    pub fn text(&mut self, name: &str) -> String {
        let Some(value) = self.get(name) else { return String::new() };
        self.read_text(value).unwrap_or_else(|| {
            self.wrong(value, name, "string");
            String::new()
        })
    }

    /// A truth value.
    pub fn flag(&mut self, name: &str) -> bool {
        match self.get(name) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.wrong(other, name, "bool");
                false
            }
        }
    }

    /// A list of anything.
    pub fn list(&mut self, name: &str, wanted: &str) -> Option<&'a [Value]> {
        match self.get(name)? {
            Value::Array(list) => Some(list),
            other => {
                self.wrong(other, name, wanted);
                None
            }
        }
    }

    /// A list of texts.
    pub fn texts(&mut self, name: &str) -> Vec<String> {
        let items = self.list(name, "[]string").unwrap_or_default();
        items.iter().map(|item| self.item_text(item, name)).collect()
    }

    /// A mapping of texts.
    pub fn text_map(&mut self, name: &str) -> Option<Vec<(String, String)>> {
        match self.get(name)? {
            Value::Object(map) => {
                Some(map.iter().map(|(key, value)| (key.clone(), self.item_text(value, name))).collect())
            }
            other => {
                self.wrong(other, name, "map[string]string");
                None
            }
        }
    }

    fn item_text(&mut self, item: &Value, name: &str) -> String {
        if item.is_null() {
            return String::new();
        }
        self.read_text(item).unwrap_or_else(|| {
            self.wrong(item, name, "string");
            String::new()
        })
    }
}

/// A scalar as text: how the YAML reader hands it to a field that wants one.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => crate::gotext::float(float),
            None => number.to_string(),
        }),
        _ => None,
    }
}
