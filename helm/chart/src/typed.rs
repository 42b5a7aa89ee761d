//! Decoding of YAML into Go structs like `sigs.k8s.io/yaml`: field names in any case, scalars converted to text for
//! string fields, and type errors with the text of encoding/json.

use switchboard_object::{Map, Value, json_type, yaml};

/// Error of decoding a text, with Go's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub String);

/// Parses one YAML document.
///
/// # Errors
/// If the text is not YAML.
pub fn read(text: &str) -> Result<Value, DecodeError> {
    let document = yaml::read(text);
    document.map(|document| document.value).map_err(|e| DecodeError(format!("error converting YAML to JSON: {e}")))
}

/// Parses one YAML document from bytes, which may not be text.
///
/// # Errors
/// If the bytes are not YAML.
pub fn read_bytes(bytes: &[u8]) -> Result<Value, DecodeError> {
    let text = yaml::decode(bytes).map_err(|error| DecodeError(format!("error converting YAML to JSON: {error}")))?;
    read(&text)
}

/// Parses one YAML document that must be a mapping or empty.
///
/// # Errors
/// If the text is not YAML, or the document is something else.
pub fn read_map(text: &str) -> Result<Map, DecodeError> {
    match read(text)? {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(mismatch(&other, "Go value", "map[string]interface {}")),
    }
}

/// Creates the error of encoding/json for a value of the wrong type.
pub fn mismatch(value: &Value, place: &str, wanted: &str) -> DecodeError {
    DecodeError(format!("error unmarshaling JSON: while decoding JSON: {}", json_mismatch(value, place, wanted)))
}

/// Creates the error for a value of the wrong type in JSON instead of YAML.
pub fn json_mismatch(value: &Value, place: &str, wanted: &str) -> DecodeError {
    DecodeError(format!("json: cannot unmarshal {} into {place} of type {wanted}", json_type(value)))
}

/// Reader of the fields of one struct. As in Go, the first type error is the error of the whole struct.
pub struct StructFields<'a> {
    map: &'a Map,
    /// Go's name of the struct: `Metadata`, or `Metadata.dependencies`.
    place: &'static str,
    error: Option<DecodeError>,
    strict: bool,
}

impl<'a> StructFields<'a> {
    /// Creates a reader for this mapping.
    pub fn new(map: &'a Map, place: &'static str) -> Self {
        Self { map, place, error: None, strict: false }
    }

    /// Creates a reader that does not convert scalars to text.
    pub fn strict(map: &'a Map, place: &'static str) -> Self {
        Self { strict: true, ..Self::new(map, place) }
    }

    fn read_text(&self, value: &Value) -> Option<String> {
        if self.strict { value.as_str().map(str::to_string) } else { text_of(value) }
    }

    /// Finishes reading.
    ///
    /// # Errors
    /// The first error that occurred.
    pub fn finish(self) -> Result<(), DecodeError> {
        self.error.map_or(Ok(()), Err)
    }

    /// Records an error unless there is one already.
    pub fn record_error(&mut self, error: DecodeError) {
        self.error.get_or_insert(error);
    }

    fn type_error(&mut self, value: &Value, name: &str, wanted: &str) {
        let place = format!("Go struct field {}.{name}", self.place);
        self.record_error(mismatch(value, &place, wanted));
    }

    /// Returns a field by its name in any case. A null counts as missing.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        let exact = self.map.get(name);
        let any_case = || self.map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        exact.or_else(any_case).filter(|value| !value.is_null())
    }

    /// Reads a text. Numbers and booleans are converted, unless the reader is strict.
    pub fn text(&mut self, name: &str) -> String {
        let Some(value) = self.get(name) else { return String::new() };
        self.read_text(value).unwrap_or_else(|| {
            self.type_error(value, name, "string");
            String::new()
        })
    }

    /// Reads a bool.
    pub fn flag(&mut self, name: &str) -> bool {
        match self.get(name) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.type_error(other, name, "bool");
                false
            }
        }
    }

    /// Reads a list of any values.
    pub fn list(&mut self, name: &str, wanted: &str) -> Option<&'a [Value]> {
        match self.get(name)? {
            Value::Array(list) => Some(list),
            other => {
                self.type_error(other, name, wanted);
                None
            }
        }
    }

    /// Reads a list of texts.
    pub fn texts(&mut self, name: &str) -> Vec<String> {
        let items = self.list(name, "[]string").unwrap_or_default();
        items.iter().map(|item| self.item_text(item, name)).collect()
    }

    /// Reads a mapping of texts.
    pub fn text_map(&mut self, name: &str) -> Option<Vec<(String, String)>> {
        match self.get(name)? {
            Value::Object(map) => {
                Some(map.iter().map(|(key, value)| (key.clone(), self.item_text(value, name))).collect())
            }
            other => {
                self.type_error(other, name, "map[string]string");
                None
            }
        }
    }

    fn item_text(&mut self, item: &Value, name: &str) -> String {
        if item.is_null() {
            return String::new();
        }
        self.read_text(item).unwrap_or_else(|| {
            self.type_error(item, name, "string");
            String::new()
        })
    }
}

/// Converts a scalar to text, as the YAML parser does for a string field.
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
