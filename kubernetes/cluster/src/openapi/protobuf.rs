//! Protobuf form of the v2 document, in the message types of gnostic's `openapi.v2` package, which client-go reads.
//!
//! Field numbers are those of `OpenAPIv2.proto`. Only the output of [`super::v2_document`] is supported.

use switchboard_object::{Map, Value};

/// Encodes a v2 document.
pub fn encode(document: &Value) -> Vec<u8> {
    let mut out = ProtobufMessage::default();
    out.string(1, &document["swagger"]);
    out.message(2, &info(&document["info"]));
    let mut paths = ProtobufMessage::default();
    for (name, item) in fields(&document["paths"]) {
        paths.message(2, &named_message(name, &path_item(item)));
    }
    out.message(8, &paths);
    let mut definitions = ProtobufMessage::default();
    for (name, definition) in fields(&document["definitions"]) {
        definitions.message(1, &named_message(name, &schema(definition)));
    }
    out.message(9, &definitions);
    out.bytes
}

fn info(info: &Value) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    out.string(1, &info["title"]);
    out.string(2, &info["version"]);
    out
}

fn path_item(item: &Value) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    for (number, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if let Some(found) = item.get(method) {
            out.message(number, &operation(found));
        }
    }
    for found in items(&item["parameters"]) {
        out.message(9, &parameters_item(found));
    }
    out
}

fn operation(operation: &Value) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    out.string(5, &operation["operationId"]);
    items(&operation["produces"]).for_each(|p| out.string(6, p));
    items(&operation["consumes"]).for_each(|c| out.string(7, c));
    items(&operation["parameters"]).for_each(|p| out.message(8, &parameters_item(p)));
    let mut responses = ProtobufMessage::default();
    for (code, response) in fields(&operation["responses"]) {
        responses.message(1, &named_message(code, &response_value(response)));
    }
    out.message(9, &responses);
    items(&operation["schemes"]).for_each(|s| out.string(10, s));
    extensions(&mut out, 13, operation);
    out
}

fn response_value(response: &Value) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    out.string(1, &response["description"]);
    if let Some(found) = response.get("schema") {
        out.message(2, &wrapped(1, &schema(found)));
    }
    wrapped(1, &out)
}

/// Encodes `ParametersItem { parameter: Parameter { body or non-body } }`.
fn parameters_item(parameter: &Value) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    let body = parameter["in"] == "body";
    if body {
        out.string(2, &parameter["name"]);
        out.string(3, &parameter["in"]);
        out.boolean(4, &parameter["required"]);
        out.message(5, &schema(&parameter["schema"]));
        return wrapped(1, &wrapped(1, &out));
    }
    let query = parameter["in"] == "query";
    // Query parameters have one more field than path parameters, so all later numbers are one higher.
    let (kind_at, unique_at, variant) = if query { (6, 20, 3) } else { (5, 19, 4) };
    out.boolean(1, &parameter["required"]);
    out.string(2, &parameter["in"]);
    out.string(4, &parameter["name"]);
    out.string(kind_at, &parameter["type"]);
    out.boolean(unique_at, &parameter["uniqueItems"]);
    wrapped(1, &wrapped(2, &wrapped(variant, &out)))
}

fn schema(schema: &Value) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    for (key, value) in fields(schema) {
        match key.as_str() {
            "$ref" => out.string(1, value),
            "format" => out.string(2, value),
            "title" => out.string(3, value),
            "description" => out.string(4, value),
            "default" => out.message(5, &any(value)),
            "multipleOf" => out.double(6, value),
            "maximum" => out.double(7, value),
            "exclusiveMaximum" => out.boolean(8, value),
            "minimum" => out.double(9, value),
            "exclusiveMinimum" => out.boolean(10, value),
            "maxLength" => out.integer(11, value),
            "minLength" => out.integer(12, value),
            "pattern" => out.string(13, value),
            "maxItems" => out.integer(14, value),
            "minItems" => out.integer(15, value),
            "uniqueItems" => out.boolean(16, value),
            "maxProperties" => out.integer(17, value),
            "minProperties" => out.integer(18, value),
            "required" => items(value).for_each(|r| out.string(19, r)),
            "enum" => items(value).for_each(|e| out.message(20, &any(e))),
            "additionalProperties" => out.message(21, &additional(value)),
            "type" => out.message(22, &type_item(value)),
            "items" => out.message(23, &wrapped(1, &self::schema(value))),
            "properties" => out.message(25, &properties(value)),
            "example" => out.message(30, &any(value)),
            _ => {}
        }
    }
    extensions(&mut out, 31, schema);
    out
}

fn additional(value: &Value) -> ProtobufMessage {
    match value {
        Value::Bool(_) => {
            let mut out = ProtobufMessage::default();
            out.boolean(2, value);
            out
        }
        other => wrapped(1, &schema(other)),
    }
}

fn type_item(value: &Value) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    out.string(1, value);
    out
}

fn properties(value: &Value) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    for (name, property) in fields(value) {
        out.message(1, &named_message(name, &schema(property)));
    }
    out
}

fn extensions(out: &mut ProtobufMessage, number: u32, object: &Value) {
    for (name, value) in fields(object).filter(|(name, _)| name.starts_with("x-")) {
        out.message(number, &named_message(name, &any(value)));
    }
}

/// Encodes `Any { yaml }`. JSON is YAML.
fn any(value: &Value) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    out.text(2, &value.to_string());
    out
}

fn named_message(name: &str, value: &ProtobufMessage) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    out.text(1, name);
    out.message(2, value);
    out
}

fn wrapped(number: u32, inner: &ProtobufMessage) -> ProtobufMessage {
    let mut out = ProtobufMessage::default();
    out.message(number, inner);
    out
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Encoder of a protobuf message.
#[derive(Default)]
struct ProtobufMessage {
    bytes: Vec<u8>,
}

impl ProtobufMessage {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn key(&mut self, number: u32, wire_type: u64) {
        self.varint(u64::from(number) << 3 | wire_type);
    }

    fn text(&mut self, number: u32, text: &str) {
        self.key(number, 2);
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Writes a string. Proto3 omits empty ones.
    fn string(&mut self, number: u32, value: &Value) {
        if let Some(text) = value.as_str().filter(|t| !t.is_empty()) {
            self.text(number, text);
        }
    }

    fn boolean(&mut self, number: u32, value: &Value) {
        if value == true {
            self.key(number, 0);
            self.varint(1);
        }
    }

    fn integer(&mut self, number: u32, value: &Value) {
        if let Some(found) = value.as_i64().filter(|v| *v != 0) {
            self.key(number, 0);
            self.varint(found as u64);
        }
    }

    fn double(&mut self, number: u32, value: &Value) {
        if let Some(found) = value.as_f64().filter(|v| *v != 0.0) {
            self.key(number, 1);
            self.bytes.extend_from_slice(&found.to_le_bytes());
        }
    }

    fn message(&mut self, number: u32, inner: &ProtobufMessage) {
        self.key(number, 2);
        self.varint(inner.bytes.len() as u64);
        self.bytes.extend_from_slice(&inner.bytes);
    }
}
