//! JSON tree with ordered objects. Multipaths and `@reverse` define their own order, which is visible in a var.

use serde_json::{Map, Number, Value};

/// Text length that counts as one step.
const BYTES_PER_STEP: usize = 64;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonNode {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<JsonNode>),
    /// Names may repeat: `@join` keeps both on request.
    Object(Vec<(String, JsonNode)>),
    /// List or map with its non-compact text, as produced by `@pretty`.
    Pretty(String, Box<JsonNode>),
}

impl JsonNode {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => JsonNode::Null,
            Value::Bool(truth) => JsonNode::Bool(*truth),
            Value::Number(number) => JsonNode::Number(number.clone()),
            Value::String(text) => JsonNode::String(text.clone()),
            Value::Array(items) => JsonNode::Array(items.iter().map(JsonNode::of).collect()),
            Value::Object(fields) => {
                JsonNode::Object(fields.iter().map(|(k, v)| (k.clone(), JsonNode::of(v))).collect())
            }
        }
    }

    /// Parses the JSON value at the beginning of a text.
    pub(super) fn leading(text: &str) -> Option<Self> {
        // Deserialized in field order: `Value` sorts the fields.
        serde_json::Deserializer::from_str(text).into_iter::<OrderedNode>().next()?.ok().map(|ordered| ordered.0)
    }

    /// Returns the value without its layout.
    pub(super) fn plain(&self) -> &JsonNode {
        match self {
            JsonNode::Pretty(_, inner) => inner.plain(),
            other => other,
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            JsonNode::Null => Value::Null,
            JsonNode::Bool(truth) => Value::Bool(*truth),
            JsonNode::Number(number) => Value::Number(number.clone()),
            JsonNode::String(text) => Value::String(text.clone()),
            JsonNode::Array(items) => Value::Array(items.iter().map(JsonNode::value).collect()),
            JsonNode::Object(fields) => {
                let mut map = Map::new();
                for (name, node) in fields {
                    map.insert(name.clone(), node.value());
                }
                Value::Object(map)
            }
            JsonNode::Pretty(text, _) => Value::String(text.clone()),
        }
    }

    /// Returns the text of the value in a var.
    pub(super) fn text(&self) -> String {
        match self {
            JsonNode::Null => String::new(),
            JsonNode::String(text) => text.clone(),
            JsonNode::Number(number) => number_text(number),
            other => other.json(),
        }
    }

    /// Returns the value as JSON, compact unless pretty-printed.
    pub(super) fn json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            JsonNode::Null => out.push_str("null"),
            JsonNode::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            // As in Go, an integral number has no decimal point.
            JsonNode::Number(number) => {
                out.push_str(&switchboard_object::json::to_string(&Value::Number(number.clone())))
            }
            JsonNode::String(text) => out.push_str(&Value::from(text.as_str()).to_string()),
            JsonNode::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            JsonNode::Object(fields) => {
                out.push('{');
                for (index, (name, node)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(&Value::from(name.as_str()).to_string());
                    out.push(':');
                    node.write(out);
                }
                out.push('}');
            }
            JsonNode::Pretty(text, _) => out.push_str(text),
        }
    }

    /// Returns the number of steps that the value counts for.
    pub(super) fn weight(&self) -> u32 {
        let text = |text: &str| 1 + u32::try_from(text.len() / BYTES_PER_STEP).unwrap_or(u32::MAX - 1);
        match self {
            JsonNode::String(own) | JsonNode::Pretty(own, _) => text(own),
            JsonNode::Array(items) => items.iter().fold(1, |sum, item| sum.saturating_add(item.weight())),
            JsonNode::Object(fields) => {
                fields.iter().fold(1, |sum, (name, node)| sum.saturating_add(text(name)).saturating_add(node.weight()))
            }
            JsonNode::Null | JsonNode::Bool(_) | JsonNode::Number(_) => 1,
        }
    }

    pub(super) fn number(&self) -> f64 {
        match self {
            JsonNode::Number(number) => number.as_f64().unwrap_or_default(),
            _ => 0.0,
        }
    }
}

/// Formats integers as they are, and other numbers without an exponent.
fn number_text(number: &Number) -> String {
    let text = number.to_string();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return text;
    }
    number.as_f64().map_or(text, |float| format!("{float}"))
}

/// A node deserialized in field order.
struct OrderedNode(JsonNode);

impl<'de> serde::Deserialize<'de> for OrderedNode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor).map(OrderedNode)
    }
}

struct NodeVisitor;

impl<'de> serde::de::Visitor<'de> for NodeVisitor {
    type Value = JsonNode;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<JsonNode, E> {
        Ok(JsonNode::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<JsonNode, E> {
        Ok(JsonNode::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<JsonNode, E> {
        Ok(JsonNode::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<JsonNode, E> {
        Ok(JsonNode::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<JsonNode, E> {
        Ok(Number::from_f64(number).map_or(JsonNode::Null, JsonNode::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonNode, E> {
        Ok(JsonNode::String(text.to_string()))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<JsonNode, A::Error> {
        let mut read = Vec::new();
        while let Some(OrderedNode(item)) = items.next_element()? {
            read.push(item);
        }
        Ok(JsonNode::Array(read))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut fields: A) -> Result<JsonNode, A::Error> {
        let mut read = Vec::new();
        while let Some((name, OrderedNode(node))) = fields.next_entry::<String, OrderedNode>()? {
            read.push((name, node));
        }
        Ok(JsonNode::Object(read))
    }
}
