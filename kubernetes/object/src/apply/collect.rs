//! Paths that an object sets: leaves, list items, empty fields, and fields without a schema of their own.

use crate::Value;
use crate::schema::Definitions;

use super::atom::{AtomForm, ListAtom, MapAtom, TypeRef};
use super::element::PathElement;
use super::set::FieldSet;

/// Collects the paths that `value` sets. The value must be valid.
pub(crate) fn collect<'a>(value: &'a Value, ty: TypeRef<'a>, definitions: &'a Definitions) -> FieldSet<'a> {
    collect_paths(value, ty, definitions).1
}

/// Returns whether the value's own path is in the set, and the paths below it.
fn collect_paths<'a>(value: &'a Value, ty: TypeRef<'a>, definitions: &'a Definitions) -> (bool, FieldSet<'a>) {
    let atom = ty.resolve(definitions);
    match (atom.first(atom.forms(value)), &atom.map, &atom.list) {
        (AtomForm::Map, Some(map), _) if !map.atomic => (false, fields(value, map, definitions)),
        (AtomForm::List, _, Some(list)) if !list.atomic => (false, items(value, list, definitions)),
        _ => (true, FieldSet::default()),
    }
}

fn fields<'a>(value: &'a Value, map: &MapAtom<'a>, definitions: &'a Definitions) -> FieldSet<'a> {
    let mut set = FieldSet::default();
    for (name, field) in value.as_object().into_iter().flatten() {
        let named = map.field(name);
        let Some(ty) = named.or(map.element) else { continue };
        let (member, below) = collect_paths(field, ty, definitions);
        let empty = field.is_null() || field.as_object().is_some_and(|m| m.is_empty());
        set.insert_subtree(PathElement::Field(name), member || empty || named.is_none(), below);
    }
    set
}

fn items<'a>(value: &'a Value, list: &ListAtom<'a>, definitions: &'a Definitions) -> FieldSet<'a> {
    let mut found: Vec<(PathElement<'a>, &'a Value)> = Vec::new();
    for item in value.as_array().into_iter().flatten() {
        if let Ok(element) = list.element_of(item) {
            found.push((element, item));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let mut set = FieldSet::default();
    let mut rest = found.into_iter().peekable();
    while let Some((element, item)) = rest.next() {
        let mut twice = false;
        while rest.next_if(|(next, _)| *next == element).is_some() {
            twice = true;
        }
        // An item that occurs twice is owned as a whole.
        let below = if twice { FieldSet::default() } else { collect_paths(item, list.item, definitions).1 };
        set.insert_subtree(element, true, below);
    }
    set
}

/// Adds every named field on the way to a path to the set.
pub(crate) fn with_named_fields<'a>(
    mut set: FieldSet<'a>,
    ty: Option<TypeRef<'_>>,
    definitions: &Definitions,
) -> FieldSet<'a> {
    let atom = ty.map(|ty| ty.resolve(definitions));
    for node in &mut set.nodes {
        if node.children.is_empty() {
            continue;
        }
        let below = match (&node.element, &atom) {
            (PathElement::Field(name), Some(atom)) => atom.map.and_then(|map| {
                let named = map.field(name);
                node.member |= named.is_some();
                named.or(map.element)
            }),
            (PathElement::Key(_), Some(atom)) => atom.list.map(|list| list.item),
            _ => None,
        };
        node.children = with_named_fields(std::mem::take(&mut node.children), below, definitions);
    }
    set
}
