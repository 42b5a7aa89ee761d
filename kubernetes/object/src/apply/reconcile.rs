//! Adaptation of a recorded set to a schema in which parts of the object became atomic.

use crate::Value;
use crate::schema::Definitions;

use super::atom::TypeRef;
use super::element::PathElement;
use super::set::FieldSet;

/// Replaces all paths below a part that is atomic now with the path of that part. Returns `None` if nothing changes.
pub(crate) fn reconcile<'a>(set: &FieldSet<'a>, ty: TypeRef<'_>, definitions: &Definitions) -> Option<FieldSet<'a>> {
    let (_, atomic) = walk(set, ty, false, definitions);
    if atomic.is_empty() {
        return None;
    }
    let mut fitted = set.clone();
    fitted.subtract_below(&atomic);
    fitted.union_with(atomic);
    Some(fitted)
}

/// Returns whether the value at this path became atomic, and the paths below it that did.
fn walk<'a>(set: &FieldSet<'a>, ty: TypeRef<'_>, whole: bool, definitions: &Definitions) -> (bool, FieldSet<'a>) {
    let atom = ty.resolve(definitions);
    let mut found = FieldSet::default();
    let mut visit = |element: &PathElement<'a>, member: bool, children: &FieldSet<'a>, ty: TypeRef<'_>| {
        let (atomic, below) = walk(children, ty, member && children.is_empty(), definitions);
        found.insert_subtree(element.clone(), atomic, below);
    };
    if let Some(map) = atom.map {
        if map.is_free_form() {
            return (false, found);
        }
        if !whole && map.atomic {
            return (!set.is_empty(), found);
        }
        for node in &set.nodes {
            let ty = match &node.element {
                PathElement::Field(name) => map.field_or_element(name),
                _ => map.element,
            };
            if let Some(ty) = ty {
                visit(&node.element, node.member, &node.children, ty);
            }
        }
    } else if let (None, Some(list)) = (atom.scalar, atom.list) {
        if !whole && list.atomic {
            return (true, found);
        }
        for node in &set.nodes {
            visit(&node.element, node.member, &node.children, list.item);
        }
    }
    (false, found)
}

/// Whether [`reconcile`] would change the set that these fields encode.
pub(crate) fn needs_reconcile(fields: &Value, ty: TypeRef<'_>, definitions: &Definitions) -> bool {
    is_outdated(fields, ty, false, definitions)
}

fn is_outdated(fields: &Value, ty: TypeRef<'_>, whole: bool, definitions: &Definitions) -> bool {
    let atom = ty.resolve(definitions);
    let below = |key: &String, children: &Value, ty: TypeRef<'_>| {
        let leaf = children.as_object().is_none_or(|c| c.keys().all(|key| key == "."));
        key != "." && is_outdated(children, ty, leaf, definitions)
    };
    let mut nodes = fields.as_object().into_iter().flatten();
    if let Some(map) = atom.map {
        if map.is_free_form() {
            return false;
        }
        if !whole && map.atomic {
            return true;
        }
        return nodes.any(|(key, children)| {
            let ty = key.strip_prefix("f:").map_or(map.element, |name| map.field_or_element(name));
            ty.is_some_and(|ty| below(key, children, ty))
        });
    }
    match (atom.scalar, atom.list) {
        (None, Some(list)) => (!whole && list.atomic) || nodes.any(|(key, children)| below(key, children, list.item)),
        _ => false,
    }
}
