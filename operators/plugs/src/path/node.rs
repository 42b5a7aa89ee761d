//! A JSON tree whose objects keep their order: multipaths and `@reverse` make orders of their own, and a var may show them.

use serde_json::{Map, Number, Value};

/// Text of this length is as much as a value.
const BYTES_PER_STEP: usize = 64;

/// A value, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Node>),
    /// A name may stand twice: `@join` keeps both on request.
    Object(Vec<(String, Node)>),
    /// A list or map as text that is not compact: what `@pretty` made.
    Laid(String, Box<Node>),
}

impl Node {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Node::Null,
            Value::Bool(truth) => Node::Bool(*truth),
            Value::Number(number) => Node::Number(number.clone()),
            Value::String(text) => Node::String(text.clone()),
            Value::Array(items) => Node::Array(items.iter().map(Node::of).collect()),
            Value::Object(fields) => Node::Object(fields.iter().map(|(k, v)| (k.clone(), Node::of(v))).collect()),
        }
    }

    /// The first JSON value of a text, if it begins with one.
    pub(super) fn leading(text: &str) -> Option<Self> {
        // Through a reader that keeps the order of fields: `Value` sorts them.
        serde_json::Deserializer::from_str(text).into_iter::<Ordered>().next()?.ok().map(|ordered| ordered.0)
    }

    /// What it is under any layout.
    pub(super) fn plain(&self) -> &Node {
        match self {
            Node::Laid(_, inner) => inner.plain(),
            other => other,
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Node::Null => Value::Null,
            Node::Bool(truth) => Value::Bool(*truth),
            Node::Number(number) => Value::Number(number.clone()),
            Node::String(text) => Value::String(text.clone()),
            Node::Array(items) => Value::Array(items.iter().map(Node::value).collect()),
            Node::Object(fields) => {
                let mut map = Map::new();
                for (name, node) in fields {
                    map.insert(name.clone(), node.value());
                }
                Value::Object(map)
            }
            Node::Laid(text, _) => Value::String(text.clone()),
        }
    }

    /// As a var shows it.
    pub(super) fn text(&self) -> String {
        match self {
            Node::Null => String::new(),
            Node::String(text) => text.clone(),
            Node::Number(number) => number_text(number),
            other => other.json(),
        }
    }

    /// As JSON, compact unless laid out.
    pub(super) fn json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Node::Null => out.push_str("null"),
            Node::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            // As Go writes them: a whole number has no point, whatever it was before.
            Node::Number(number) => out.push_str(&switchboard_object::json::to_string(&Value::Number(number.clone()))),
            Node::String(text) => out.push_str(&Value::from(text.as_str()).to_string()),
            Node::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Node::Object(fields) => {
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
            Node::Laid(text, _) => out.push_str(text),
        }
    }

    /// How much it is: its values, and its text by the line.
    pub(super) fn weight(&self) -> u32 {
        let text = |text: &str| 1 + u32::try_from(text.len() / BYTES_PER_STEP).unwrap_or(u32::MAX - 1);
        match self {
            Node::String(own) | Node::Laid(own, _) => text(own),
            Node::Array(items) => items.iter().fold(1, |sum, item| sum.saturating_add(item.weight())),
            Node::Object(fields) => {
                fields.iter().fold(1, |sum, (name, node)| sum.saturating_add(text(name)).saturating_add(node.weight()))
            }
            Node::Null | Node::Bool(_) | Node::Number(_) => 1,
        }
    }

    pub(super) fn number(&self) -> f64 {
        match self {
            Node::Number(number) => number.as_f64().unwrap_or_default(),
            _ => 0.0,
        }
    }
}

/// Integers as they are; other numbers without an exponent, however large.
fn number_text(number: &Number) -> String {
    let text = number.to_string();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return text;
    }
    number.as_f64().map_or(text, |float| format!("{float}"))
}

/// A node read in the order it was written.
struct Ordered(Node);

impl<'de> serde::Deserialize<'de> for Ordered {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Ordered)
    }
}

struct Reader;

impl<'de> serde::de::Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Node, E> {
        Ok(Node::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Number::from_f64(number).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::String(text.to_string()))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut read = Vec::new();
        while let Some(Ordered(item)) = items.next_element()? {
            read.push(item);
        }
        Ok(Node::Array(read))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut read = Vec::new();
        while let Some((name, Ordered(node))) = fields.next_entry::<String, Ordered>()? {
            read.push((name, node));
        }
        Ok(Node::Object(read))
    }
}
