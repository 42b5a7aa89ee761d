//! `fieldsV1`: the JSON form of path sets.

use crate::{Map, Value};

use super::element::PathElement;
use super::set::{FieldSet, FieldSetNode};

/// Encodes the set as a `fieldsV1` object.
pub(crate) fn encode(set: &FieldSet<'_>) -> Value {
    encode_level(set, false)
}

fn encode_level(set: &FieldSet<'_>, own: bool) -> Value {
    let mut map = Map::new();
    if own && !set.is_empty() {
        map.insert(".".into(), Value::Object(Map::new()));
    }
    for node in &set.nodes {
        map.insert(node.element.encode(), encode_level(&node.children, node.member));
    }
    Value::Object(map)
}

/// Decodes a `fieldsV1` object. Elements of unknown kinds are dropped.
pub(crate) fn decode(fields: &Value) -> Result<FieldSet<'_>, String> {
    Ok(decode_level(fields)?.0)
}

/// Returns the paths below, and whether the path that ends here is in the set: stated by `.`, or because nothing is
/// below.
fn decode_level(fields: &Value) -> Result<(FieldSet<'_>, bool), String> {
    let mut set = FieldSet::default();
    let mut member = false;
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null => return Ok((set, true)),
        other => return Err(format!("expected an object of fields, got {other}")),
    };
    let mut unsorted = false;
    for (key, below) in fields {
        if key == "." {
            member = true;
            continue;
        }
        let Some(element) = PathElement::decode(key)? else { continue };
        let (children, is_member) = decode_level(below)?;
        unsorted |= set.nodes.last().is_some_and(|last| last.element >= element);
        set.nodes.push(FieldSetNode { element, member: is_member, children });
    }
    if unsorted {
        // Keys with numbers sort differently as text, and two spellings of one key become one node.
        set.nodes.sort_by(|a, b| a.element.cmp(&b.element));
        set.nodes.dedup_by(|later, first| {
            let same = later.element == first.element;
            if same {
                first.member |= later.member;
                first.children.union_with(std::mem::take(&mut later.children));
            }
            same
        });
    }
    let member = member || set.is_empty();
    Ok((set, member))
}

/// Whether any path of the set is among the fields. Decodes only as much of the fields as needed.
pub(crate) fn intersects(fields: &Value, set: &FieldSet<'_>, buffer: &mut String) -> bool {
    let Some(fields) = fields.as_object() else { return false };
    set.nodes.iter().any(|node| {
        buffer.clear();
        node.element.encode_into(buffer);
        let Some(below) = fields.get(buffer.as_str()) else { return false };
        (node.member && contains_self(below)) || intersects(below, &node.children, buffer)
    })
}

/// Whether the path that ends here is in the set.
pub(crate) fn contains_self(fields: &Value) -> bool {
    fields.as_object().is_none_or(|fields| fields.is_empty() || fields.contains_key("."))
}
