//! The paths an object states: its leaves, its items, its empty and unnamed fields.

use crate::Value;
use crate::schema::Definitions;

use super::atom::{Form, ListAtom, MapAtom, Ty};
use super::element::Element;
use super::set::Set;

/// The set of paths that `value` states. The value must be valid.
pub(crate) fn collect<'a>(value: &'a Value, ty: Ty<'a>, definitions: &'a Definitions) -> Set<'a> {
    walk(value, ty, definitions).1
}

/// Whether the path of the value itself is in the set, and the paths below it.
fn walk<'a>(value: &'a Value, ty: Ty<'a>, definitions: &'a Definitions) -> (bool, Set<'a>) {
    let atom = ty.resolve(definitions);
    match (atom.first(atom.forms(value)), &atom.map, &atom.list) {
        (Form::Map, Some(map), _) if !map.atomic => (false, fields(value, map, definitions)),
        (Form::List, _, Some(list)) if !list.atomic => (false, items(value, list, definitions)),
        _ => (true, Set::default()),
    }
}

fn fields<'a>(value: &'a Value, map: &MapAtom<'a>, definitions: &'a Definitions) -> Set<'a> {
    let mut set = Set::default();
    for (name, field) in value.as_object().into_iter().flatten() {
        let named = map.field(name);
        let Some(ty) = named.or(map.element) else { continue };
        let (member, below) = walk(field, ty, definitions);
        let empty = field.is_null() || field.as_object().is_some_and(|m| m.is_empty());
        set.graft(Element::Field(name), member || empty || named.is_none(), below);
    }
    set
}

fn items<'a>(value: &'a Value, list: &ListAtom<'a>, definitions: &'a Definitions) -> Set<'a> {
    let mut found: Vec<(Element<'a>, &'a Value)> = Vec::new();
    for item in value.as_array().into_iter().flatten() {
        if let Ok(element) = list.element_of(item) {
            found.push((element, item));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let mut set = Set::default();
    let mut rest = found.into_iter().peekable();
    while let Some((element, item)) = rest.next() {
        let mut twice = false;
        while rest.next_if(|(next, _)| *next == element).is_some() {
            twice = true;
        }
        // What stands twice is owned as a whole.
        let below = if twice { Set::default() } else { walk(item, list.item, definitions).1 };
        set.graft(element, true, below);
    }
    set
}

/// The set with every named field on the way to a path added.
pub(crate) fn with_named_fields<'a>(mut set: Set<'a>, ty: Option<Ty<'_>>, definitions: &Definitions) -> Set<'a> {
    let atom = ty.map(|ty| ty.resolve(definitions));
    for node in &mut set.nodes {
        if node.children.is_empty() {
            continue;
        }
        let below = match (&node.element, &atom) {
            (Element::Field(name), Some(atom)) => atom.map.and_then(|map| {
                let named = map.field(name);
                node.member |= named.is_some();
                named.or(map.element)
            }),
            (Element::Key(_), Some(atom)) => atom.list.map(|list| list.item),
            _ => None,
        };
        node.children = with_named_fields(std::mem::take(&mut node.children), below, definitions);
    }
    set
}
