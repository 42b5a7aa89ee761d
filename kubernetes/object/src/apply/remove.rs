//! Removal and extraction of paths.

use crate::schema::Definitions;
use crate::{Map, Value};

use super::atom::{AtomForm, ListAtom, MapAtom, TypeRef};
use super::element::PathElement;
use super::set::{FieldSet, FieldSetNode};

/// Returns the value without the items and fields in the set.
pub(crate) fn remove<'a>(
    value: &'a Value,
    paths: &FieldSet<'_>,
    ty: TypeRef<'a>,
    definitions: &'a Definitions,
) -> Value {
    RemoveWalker { definitions, extract: false }.value(value, paths, ty)
}

/// Returns only the items and fields in the set.
pub(crate) fn extract<'a>(
    value: &'a Value,
    paths: &FieldSet<'_>,
    ty: TypeRef<'a>,
    definitions: &'a Definitions,
) -> Value {
    RemoveWalker { definitions, extract: true }.value(value, paths, ty)
}

struct RemoveWalker<'a> {
    definitions: &'a Definitions,
    extract: bool,
}

impl<'a> RemoveWalker<'a> {
    fn value(&self, value: &'a Value, paths: &FieldSet<'_>, ty: TypeRef<'a>) -> Value {
        let atom = ty.resolve(self.definitions);
        let empty = match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        match (atom.first(atom.forms(value)), &atom.map, &atom.list, value) {
            (AtomForm::Scalar, ..) => value.clone(),
            (AtomForm::Map, Some(map), _, Value::Object(fields)) if !empty && !map.atomic => {
                self.map(map, fields, paths)
            }
            (AtomForm::List, _, Some(list), Value::Array(items)) if !empty && !list.atomic => {
                self.list(list, items, paths)
            }
            // An empty or atomic value is extracted as a whole, and not removed at all.
            (AtomForm::Map, _, _, Value::Object(_)) | (AtomForm::List, _, _, Value::Array(_)) if self.extract => {
                value.clone()
            }
            _ => Value::Null,
        }
    }

    fn map(&self, map: &MapAtom<'a>, fields: &'a Map, paths: &FieldSet<'_>) -> Value {
        let mut out = Map::new();
        let mut touched = false;
        for (name, value) in fields {
            let ty = map.field_or_element(name).unwrap_or(TypeRef::Deduced);
            let kept = match paths.get(&PathElement::Field(name)) {
                Some(FieldSetNode { member: true, .. }) if !self.extract => continue,
                Some(FieldSetNode { member: true, .. }) => self.value(value, paths, ty),
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

    fn list(&self, list: &ListAtom<'a>, items: &'a [Value], paths: &FieldSet<'_>) -> Value {
        let mut out = Vec::with_capacity(items.len());
        let mut touched = false;
        for item in items {
            let node = list.element_of(item).ok().and_then(|element| paths.get(&element));
            match node {
                Some(FieldSetNode { member: true, .. }) if !self.extract => continue,
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

    /// Returns what remains of a value after parts of it were taken. A container stays a container, even if it becomes
    /// empty.
    fn below(&self, value: &'a Value, paths: &FieldSet<'_>, ty: TypeRef<'a>) -> Value {
        match (self.value(value, paths, ty), value) {
            (Value::Null, Value::Object(_)) if !self.extract => Value::Object(Map::new()),
            (Value::Null, Value::Array(_)) if !self.extract => Value::Array(Vec::new()),
            (left, _) => left,
        }
    }
}
