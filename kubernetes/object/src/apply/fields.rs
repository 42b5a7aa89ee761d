//! `fieldsV1`: sets of paths as JSON.

use crate::{Map, Value};

use super::element::Element;
use super::set::{Node, Set};

/// The set as a `fieldsV1` object.
pub(crate) fn encode(set: &Set<'_>) -> Value {
    encode_level(set, false)
}

fn encode_level(set: &Set<'_>, own: bool) -> Value {
    let mut map = Map::new();
    if own && !set.is_empty() {
        map.insert(".".into(), Value::Object(Map::new()));
    }
    for node in &set.nodes {
        map.insert(node.element.encode(), encode_level(&node.children, node.member));
    }
    Value::Object(map)
}

/// Reads a `fieldsV1` object. Elements of kinds we do not know are dropped.
pub(crate) fn decode(fields: &Value) -> Result<Set<'_>, String> {
    Ok(decode_level(fields)?.0)
}

/// The paths below, and whether the path that ends here is in the set: stated by `.`, or because nothing is below.
fn decode_level(fields: &Value) -> Result<(Set<'_>, bool), String> {
    let mut set = Set::default();
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
        let Some(element) = Element::decode(key)? else { continue };
        let (children, is_member) = decode_level(below)?;
        unsorted |= set.nodes.last().is_some_and(|last| last.element >= element);
        set.nodes.push(Node { element, member: is_member, children });
    }
    if unsorted {
        // Keys with numbers sort otherwise as text; two spellings of one key become one.
        set.nodes.sort_by(|a, b| a.element.cmp(&b.element));
        set.nodes.dedup_by(|later, first| {
            let same = later.element == first.element;
            if same {
                first.member |= later.member;
                first.children.unite(std::mem::take(&mut later.children));
            }
            same
        });
    }
    let member = member || set.is_empty();
    Ok((set, member))
}

/// Is any path of the set among the fields? Reads no more of them than that takes.
pub(crate) fn touches(fields: &Value, set: &Set<'_>, buffer: &mut String) -> bool {
    let Some(fields) = fields.as_object() else { return false };
    set.nodes.iter().any(|node| {
        buffer.clear();
        node.element.encode_into(buffer);
        let Some(below) = fields.get(buffer.as_str()) else { return false };
        (node.member && states_itself(below)) || touches(below, &node.children, buffer)
    })
}

/// Is the path that ends here in the set?
pub(crate) fn states_itself(fields: &Value) -> bool {
    fields.as_object().is_none_or(|fields| fields.is_empty() || fields.contains_key("."))
}
