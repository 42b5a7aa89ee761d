//! Fitting a recorded set to a schema that has since made parts of the object atomic.

use crate::Value;
use crate::schema::Definitions;

use super::atom::Ty;
use super::element::Element;
use super::set::Set;

/// The set with everything below a part that is atomic now replaced by that part; `None` when nothing changes.
pub(crate) fn reconcile<'a>(set: &Set<'a>, ty: Ty<'_>, definitions: &Definitions) -> Option<Set<'a>> {
    let (_, atomic) = walk(set, ty, false, definitions);
    if atomic.is_empty() {
        return None;
    }
    let mut fitted = set.clone();
    fitted.subtract_below(&atomic);
    fitted.unite(atomic);
    Some(fitted)
}

/// Whether the value at this path became atomic, and the paths below that did.
fn walk<'a>(set: &Set<'a>, ty: Ty<'_>, whole: bool, definitions: &Definitions) -> (bool, Set<'a>) {
    let atom = ty.resolve(definitions);
    let mut found = Set::default();
    let mut visit = |element: &Element<'a>, member: bool, children: &Set<'a>, ty: Ty<'_>| {
        let (atomic, below) = walk(children, ty, member && children.is_empty(), definitions);
        found.graft(element.clone(), atomic, below);
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
                Element::Field(name) => map.field_or_element(name),
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

/// Would [`reconcile`] change the set these fields stand for?
pub(crate) fn is_needed(fields: &Value, ty: Ty<'_>, definitions: &Definitions) -> bool {
    unfit(fields, ty, false, definitions)
}

fn unfit(fields: &Value, ty: Ty<'_>, whole: bool, definitions: &Definitions) -> bool {
    let atom = ty.resolve(definitions);
    let below = |key: &String, children: &Value, ty: Ty<'_>| {
        let leaf = children.as_object().is_none_or(|c| c.keys().all(|key| key == "."));
        key != "." && unfit(children, ty, leaf, definitions)
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
