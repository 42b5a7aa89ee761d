//! Round trip of built-in kinds through Go's typed decoder and encoder.
//!
//! Drops unknown fields and nulls, adds the zero values that the encoder emits, and brings times and quantities to
//! their canonical form. A value of the wrong type is refused in the words of Go's `json` package.

use super::builtin::builtin;
use super::go_base64;
use super::go_time;
use super::go_type::{GoField, GoShape, GoStruct, GoType};
use crate::kind::GroupVersionKind;
use crate::quantity::Quantity;
use crate::quote::quote;
use crate::{Map, Value, json_type};

/// Decoding error, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Value of the wrong type, or one that its type cannot parse.
    #[error("{0}")]
    Value(String),
    /// Kind that is not built in.
    #[error("no kind {} is registered", quote(.0))]
    UnknownKind(String),
}

/// Decodes and encodes an object of a built-in kind. Also returns the errors of strict decoding, in the order of the
/// (sorted) fields: `unknown field "spec.replicass"`.
pub fn decode(kind: &GroupVersionKind, object: Value) -> Result<(Value, Vec<String>), DecodeError> {
    let definition = builtin().definition(kind).ok_or_else(|| DecodeError::UnknownKind(kind.to_string()))?;
    decode_definition(&definition, object)
}

/// Decodes and encodes a value of any definition, such as `io.k8s.api.core.v1.PodSpec`.
pub fn decode_definition(definition: &str, object: Value) -> Result<(Value, Vec<String>), DecodeError> {
    let (value, paths) = decode_paths(definition, object)?;
    Ok((value, paths.into_iter().map(|path| format!("unknown field {}", quote(&path))).collect()))
}

/// Decodes and encodes a value of any definition, and returns the bare paths of unknown fields.
pub(super) fn decode_paths(definition: &str, object: Value) -> Result<(Value, Vec<String>), DecodeError> {
    let Some(shape) = GoStruct::of(definition) else { return Err(DecodeError::UnknownKind(definition.to_string())) };
    let mut decoder = Decoder::default();
    let root = GoType { text: go_name(definition).into(), shape: GoShape::Struct(definition.into()) };
    let decoded = decoder.value(&root, object, shape.keeps_empty_lists);
    match (decoded, decoder.saved) {
        // An error of a type with its own decoder ends decoding, and takes precedence over type errors saved before it.
        (Err(fatal), _) => Err(DecodeError::Value(fatal)),
        (Ok(_), Some(saved)) => Err(DecodeError::Value(saved)),
        (Ok(value), None) => Ok((value, decoder.unknown)),
    }
}

/// Reads `apiVersion` and `kind` like the serializer's first step; empty if absent.
pub fn interpret(object: &Value) -> Result<(&str, &str), DecodeError> {
    let failed = |text: String| DecodeError::Value(format!("couldn't get version/kind; json parse error: {text}"));
    let Some(map) = object.as_object() else {
        const TARGET: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
                              Kind string \"json:\\\"kind,omitempty\\\"\" }";
        return match object {
            Value::Null => Ok(("", "")),
            other => Err(failed(format!("json: cannot unmarshal {} into Go value of type {TARGET}", json_type(other)))),
        };
    };
    let text = |key: &str| match map.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => Err(failed(format!(
            "json: cannot unmarshal {} into Go struct field .{key} of type string",
            json_type(other)
        ))),
    };
    Ok((text("apiVersion")?, text("kind")?))
}

/// Bound on the errors of strict decoding.
const MAX_STRICT_ERRORS: usize = 100;

#[derive(Default)]
struct Decoder {
    /// Path with list indexes, as in strict errors.
    strict_path: String,
    /// Field names without indexes, as in type errors.
    field_path: String,
    /// Struct whose field is being decoded.
    in_struct: &'static str,
    unknown: Vec<String>,
    saved: Option<String>,
    /// Whether the decoder is inside a type with its own decoder, where strict decoding has no effect.
    lenient: bool,
}

impl Decoder {
    /// Decodes a value and returns its encoded form.
    fn value(&mut self, go: &GoType, value: Value, keep_empty: bool) -> Result<Value, String> {
        match (&go.shape, value) {
            (_, Value::Null) => Ok(zero(go, keep_empty)),
            (GoShape::Struct(name), Value::Object(map)) => {
                let Some(shape) = GoStruct::of(name) else { return Ok(Value::Object(map)) };
                self.object(shape, map, keep_empty).map(Value::Object)
            }
            (GoShape::Slice(item), Value::Array(items)) => self.slice(item, items, keep_empty),
            (GoShape::Map(item), Value::Object(map)) => self.map(item, map, keep_empty),
            (GoShape::String, Value::String(text)) => Ok(Value::String(text)),
            (GoShape::Bool, Value::Bool(bool)) => Ok(Value::Bool(bool)),
            (GoShape::Int32, Value::Number(n)) if n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => {
                Ok(Value::Number(n))
            }
            (GoShape::Int64, Value::Number(n)) if n.is_i64() => Ok(Value::Number(n)),
            (GoShape::Int32 | GoShape::Int64, Value::Number(n)) => Ok(self.mismatch(&format!("number {n}"), &go.text)),
            (GoShape::Float, Value::Number(n)) => Ok(float(n)),
            (GoShape::Bytes, Value::String(text)) => Ok(self.bytes(text)),
            (GoShape::Raw | GoShape::Json, value) => Ok(value),
            (GoShape::Time, Value::String(text)) => go_time::time(&text).map(Value::String),
            (GoShape::MicroTime, Value::String(text)) => go_time::micro_time(&text).map(Value::String),
            (GoShape::Time | GoShape::MicroTime, other) => Err(self.message(json_type(&other), "string")),
            (GoShape::Quantity, value) => quantity(value),
            (GoShape::IntOrString, value) => self.int_or_string(value),
            (GoShape::SchemaOrBool | GoShape::SchemaOrArray | GoShape::SchemaOrStrings, value) => {
                self.schema(go, value)
            }
            (_, other) => Ok(self.mismatch(json_type(&other), &go.text)),
        }
    }

    fn object(&mut self, shape: &'static GoStruct, map: Map, keep_empty: bool) -> Result<Map, String> {
        let mut out = Map::new();
        let outer = self.in_struct;
        for (key, value) in map {
            let Some(field) = shape.fields.get(key.as_str()) else {
                self.refuse_unknown(&key);
                continue;
            };
            if value.is_null() {
                continue;
            }
            let (strict, path) = (self.strict_path.len(), self.field_path.len());
            push(&mut self.strict_path, &key);
            push(&mut self.field_path, &field.via);
            self.field_path.push_str(&key);
            self.in_struct = shape.name;
            let encoded = self.value(&field.go, value, keep_empty)?;
            self.strict_path.truncate(strict);
            self.field_path.truncate(path);
            if field.pointer || !is_omitted(field, &encoded) {
                out.insert(key, encoded);
            }
        }
        self.in_struct = outer;
        emit_zeros(shape, &mut out, keep_empty);
        Ok(out)
    }

    fn slice(&mut self, item: &GoType, items: Vec<Value>, keep_empty: bool) -> Result<Value, String> {
        let mut out = Vec::with_capacity(items.len());
        for (index, value) in items.into_iter().enumerate() {
            let strict = self.strict_path.len();
            self.strict_path.push_str(&format!("[{index}]"));
            out.push(self.value(item, value, keep_empty)?);
            self.strict_path.truncate(strict);
        }
        Ok(if out.is_empty() && !keep_empty { Value::Null } else { Value::Array(out) })
    }

    fn map(&mut self, item: &GoType, map: Map, keep_empty: bool) -> Result<Value, String> {
        let mut out = Map::new();
        for (key, value) in map {
            let strict = self.strict_path.len();
            push(&mut self.strict_path, &key);
            let encoded = self.value(item, value, keep_empty)?;
            // Storage turns nil bytes in a map into empty bytes.
            let nil_bytes = encoded.is_null() && matches!(item.shape, GoShape::Bytes);
            out.insert(key, if nil_bytes { Value::from("") } else { encoded });
            self.strict_path.truncate(strict);
        }
        Ok(if out.is_empty() && !keep_empty { Value::Null } else { Value::Object(out) })
    }

    fn bytes(&mut self, text: String) -> Value {
        match go_base64::decode(&text) {
            Ok(bytes) => Value::String(go_base64::encode(&bytes)),
            Err(at) => {
                self.save(format!("illegal base64 data at input byte {at}"));
                Value::Null
            }
        }
    }

    fn int_or_string(&mut self, value: Value) -> Result<Value, String> {
        match value {
            Value::String(_) => Ok(value),
            Value::Number(ref n) if n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => Ok(value),
            Value::Number(n) => Err(self.message(&format!("number {n}"), "int32")),
            other => Err(self.message(json_type(&other), "int32")),
        }
    }

    /// Decodes the unions of apiextensions. Each decodes its value with a separate decoder, which is not strict.
    fn schema(&mut self, go: &GoType, value: Value) -> Result<Value, String> {
        const PROPS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
        let props = || GoType { text: "v1.JSONSchemaProps".into(), shape: GoShape::Struct(PROPS.into()) };
        let inner = match (&go.shape, &value) {
            (_, Value::Object(_)) => props(),
            (GoShape::SchemaOrBool, Value::Bool(_)) => return Ok(value),
            (GoShape::SchemaOrBool, _) => return Err("boolean or JSON schema expected".into()),
            (GoShape::SchemaOrArray, Value::Array(_)) => {
                GoType { text: "[]v1.JSONSchemaProps".into(), shape: GoShape::Slice(Box::new(props())) }
            }
            (GoShape::SchemaOrStrings, Value::Array(_)) => {
                let string = GoType { text: "string".into(), shape: GoShape::String };
                GoType { text: "[]string".into(), shape: GoShape::Slice(Box::new(string)) }
            }
            // Any other value is decoded as nothing.
            _ => return Ok(Value::Null),
        };
        let (lenient, in_struct) = (std::mem::replace(&mut self.lenient, true), self.in_struct);
        let saved = self.saved.take();
        let decoded = self.value(&inner, value, true);
        self.lenient = lenient;
        // An error saved by the inner decoder ends the outer one, which reports its own struct.
        let inner_error = std::mem::replace(&mut self.saved, saved);
        match inner_error {
            Some(text) if decoded.is_ok() => Err(rename_struct(&text, in_struct)),
            _ => decoded,
        }
    }

    fn refuse_unknown(&mut self, key: &str) {
        if self.lenient || self.unknown.len() >= MAX_STRICT_ERRORS {
            return;
        }
        let dot = if self.strict_path.is_empty() { "" } else { "." };
        self.unknown.push(format!("{}{dot}{key}", self.strict_path));
    }

    fn mismatch(&mut self, what: &str, target: &str) -> Value {
        let text = self.message(what, target);
        self.save(text);
        Value::Null
    }

    fn save(&mut self, text: String) {
        self.saved.get_or_insert(text);
    }

    fn message(&self, what: &str, target: &str) -> String {
        if self.field_path.is_empty() {
            return format!("json: cannot unmarshal {what} into Go value of type {target}");
        }
        let (in_struct, path) = (self.in_struct, &self.field_path);
        format!("json: cannot unmarshal {what} into Go struct field {in_struct}.{path} of type {target}")
    }
}

/// Appends a step to a path, separated by a dot.
fn push(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

fn go_name(definition: &str) -> String {
    let mut parts = definition.rsplitn(3, '.');
    let (name, version) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    format!("{version}.{name}")
}

fn rename_struct(text: &str, in_struct: &str) -> String {
    const MARK: &str = " into Go struct field ";
    match text.split_once(MARK).and_then(|(head, tail)| Some((head, tail.split_once('.')?.1))) {
        Some((head, path)) => format!("{head}{MARK}{in_struct}.{path}"),
        None => text.to_string(),
    }
}

/// Go writes a float without a fraction as an integer.
fn float(n: serde_json::Number) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match n.as_f64() {
        Some(f) if !n.is_i64() && !n.is_u64() && f.fract() == 0.0 && f.abs() < EXACT => Value::from(f as i64),
        _ => Value::Number(n),
    }
}

fn quantity(value: Value) -> Result<Value, String> {
    let text = match value {
        Value::String(text) => text.trim().to_string(),
        other => other.to_string(),
    };
    Quantity::parse(&text).map(|quantity| Value::String(quantity.to_string())).map_err(|error| error.to_string())
}

/// Whether `omitempty` omits an encoded value. Go never treats structs as empty.
fn is_omitted(field: &GoField, encoded: &Value) -> bool {
    if encoded.is_null() {
        // A list or map that became nil; `emit_zeros` decides.
        return true;
    }
    field.omit_empty
        && match (&field.go.shape, encoded) {
            (GoShape::Struct(_) | GoShape::Raw | GoShape::Json | GoShape::IntOrString | GoShape::Quantity, _) => false,
            (_, Value::String(text)) => text.is_empty(),
            (_, Value::Bool(bool)) => !bool,
            (_, Value::Number(n)) => n.as_f64() == Some(0.0),
            (_, Value::Array(items)) => items.is_empty(),
            (_, Value::Object(map)) => map.is_empty(),
            (_, Value::Null) => true,
        }
}

/// Adds the unset fields that the encoder writes anyway.
fn emit_zeros(shape: &GoStruct, out: &mut Map, keep_empty: bool) {
    for (name, field) in &shape.fields {
        if out.contains_key(name.as_ref()) {
            continue;
        }
        if field.pointer {
            if !field.omit_empty {
                out.insert(name.to_string(), Value::Null);
            }
            continue;
        }
        let struct_like = matches!(
            field.go.shape,
            GoShape::Struct(_)
                | GoShape::Time
                | GoShape::MicroTime
                | GoShape::Raw
                | GoShape::Json
                | GoShape::IntOrString
                | GoShape::Quantity
                | GoShape::SchemaOrBool
                | GoShape::SchemaOrArray
                | GoShape::SchemaOrStrings
        );
        if field.omit_zero || (field.omit_empty && !struct_like) {
            continue;
        }
        out.insert(name.to_string(), zero(&field.go, keep_empty));
    }
}

/// Returns the encoding of a type's zero value.
fn zero(go: &GoType, keep_empty: bool) -> Value {
    match &go.shape {
        GoShape::Struct(name) => {
            let mut out = Map::new();
            if let Some(shape) = GoStruct::of(name) {
                emit_zeros(shape, &mut out, keep_empty);
            }
            Value::Object(out)
        }
        GoShape::String => Value::from(""),
        GoShape::Bool => Value::Bool(false),
        GoShape::Int32 | GoShape::Int64 | GoShape::Float | GoShape::IntOrString => Value::from(0),
        GoShape::Quantity => Value::from("0"),
        GoShape::SchemaOrBool => Value::Bool(false),
        _ => Value::Null,
    }
}
