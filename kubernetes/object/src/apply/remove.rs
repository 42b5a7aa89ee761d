//! Taking paths out of an object, or keeping only them.

use crate::schema::Definitions;
use crate::{Map, Value};

use super::atom::{Form, ListAtom, MapAtom, Ty};
use super::element::Element;
use super::set::{Node, Set};

/// The value without the items and fields in the set.
pub(crate) fn remove<'a>(value: &'a Value, paths: &Set<'_>, ty: Ty<'a>, definitions: &'a Definitions) -> Value {
    Walk { definitions, extract: false }.value(value, paths, ty)
}

/// Only the items and fields in the set.
pub(crate) fn extract<'a>(value: &'a Value, paths: &Set<'_>, ty: Ty<'a>, definitions: &'a Definitions) -> Value {
    Walk { definitions, extract: true }.value(value, paths, ty)
}

struct Walk<'a> {
    definitions: &'a Definitions,
    extract: bool,
}

impl<'a> Walk<'a> {
    fn value(&self, value: &'a Value, paths: &Set<'_>, ty: Ty<'a>) -> Value {
        let atom = ty.resolve(self.definitions);
        let empty = match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        match (atom.first(atom.forms(value)), &atom.map, &atom.list, value) {
            (Form::Scalar, ..) => value.clone(),
            (Form::Map, Some(map), _, Value::Object(fields)) if !empty && !map.atomic => self.map(map, fields, paths),
            (Form::List, _, Some(list), Value::Array(items)) if !empty && !list.atomic => self.list(list, items, paths),
            // Empty or atomic: all of it when extracting, nothing of it when removing.
            (Form::Map, _, _, Value::Object(_)) | (Form::List, _, _, Value::Array(_)) if self.extract => value.clone(),
            _ => Value::Null,
        }
    }

    fn map(&self, map: &MapAtom<'a>, fields: &'a Map, paths: &Set<'_>) -> Value {
        let mut out = Map::new();
        let mut touched = false;
        for (name, value) in fields {
            let ty = map.field_or_element(name).unwrap_or(Ty::Deduced);
            let kept = match paths.get(&Element::Field(name)) {
                Some(Node { member: true, .. }) if !self.extract => continue,
                Some(Node { member: true, .. }) => self.value(value, paths, ty),
                Some(node) => {
                    touched = true;
                    self.below(value, &node.children, ty)
                }
                None if self.extract => continue,
                None => value.clone(),
            };
            out.insert(name.clone(), kept);
        }
        if out.is_empty() && (self.extract || !touched) { Value::Null } else { Value::Object(out) }
    }

    fn list(&self, list: &ListAtom<'a>, items: &'a [Value], paths: &Set<'_>) -> Value {
        let mut out = Vec::with_capacity(items.len());
        let mut touched = false;
        for item in items {
            let node = list.element_of(item).ok().and_then(|element| paths.get(&element));
            match node {
                Some(Node { member: true, .. }) if !self.extract => continue,
                Some(node) if !node.children.is_empty() => {
                    touched = true;
                    out.push(self.below(item, &node.children, list.item));
                }
                None if self.extract => continue,
                _ => out.push(item.clone()),
            }
        }
        if out.is_empty() && (self.extract || !touched) { Value::Null } else { Value::Array(out) }
    }

    /// What is left of a value of which parts are taken: a container stays one, even when nothing is left in it.
    fn below(&self, value: &'a Value, paths: &Set<'_>, ty: Ty<'a>) -> Value {
        match (self.value(value, paths, ty), value) {
            (Value::Null, Value::Object(_)) if !self.extract => Value::Object(Map::new()),
            (Value::Null, Value::Array(_)) if !self.extract => Value::Array(Vec::new()),
            (left, _) => left,
        }
    }
}
