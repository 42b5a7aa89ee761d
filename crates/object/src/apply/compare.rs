//! What changed between two objects: paths removed, modified, added.

use crate::Value;
use crate::schema::Definitions;

use super::atom::{Atom, Form, Forms, ListAtom, MapAtom, Ty};
use super::element::Element;
use super::problem::Problems;
use super::scalar::same;
use super::set::Set;
use super::validate::{scalar_problem, validate};

/// What differs between two objects.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) removed: Set<'a>,
    pub(crate) modified: Set<'a>,
    pub(crate) added: Set<'a>,
}

/// What differs at one value: the change of the value's own path, and the changes below it.
#[derive(Default)]
struct Found<'a> {
    removed: bool,
    modified: bool,
    added: bool,
    below: Option<Box<Changes<'a>>>,
}

/// Compares two objects of one type.
pub(crate) fn compare<'a>(
    old: &'a Value,
    new: &'a Value,
    ty: Ty<'a>,
    definitions: &'a Definitions,
) -> Result<Changes<'a>, Problems> {
    let found = Walk { definitions }.values(Some(old), Some(new), ty)?;
    Ok(found.below.map(|b| *b).unwrap_or_default())
}

impl<'a> Changes<'a> {
    /// Without the paths in `fields` and all below them.
    pub(crate) fn without(self, fields: Option<&Set<'_>>) -> Self {
        let Some(fields) = fields.filter(|f| !f.is_empty()) else { return self };
        Self {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }

    fn graft(&mut self, element: Element<'a>, found: Found<'a>) {
        let below = found.below.map(|b| *b).unwrap_or_default();
        if found.modified || !below.modified.is_empty() {
            self.modified.graft(element.clone(), found.modified, below.modified);
        }
        if found.removed || !below.removed.is_empty() {
            self.removed.graft(element.clone(), found.removed, below.removed);
        }
        if found.added || !below.added.is_empty() {
            self.added.graft(element, found.added, below.added);
        }
    }

    fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }
}

impl<'a> Found<'a> {
    fn nothing(&self) -> bool {
        !self.removed && !self.modified && !self.added && self.below.is_none()
    }

    fn leaf(old: Option<&Value>, new: Option<&Value>) -> Self {
        match (old, new) {
            (None, _) => Found { added: true, ..Found::default() },
            (_, None) => Found { removed: true, ..Found::default() },
            (Some(old), Some(new)) => Found { modified: !same(new, old), ..Found::default() },
        }
    }

    fn within(mut changes: Changes<'a>, other: Option<Box<Changes<'a>>>) -> Option<Box<Changes<'a>>> {
        if let Some(other) = other {
            changes.removed = changes.removed.union(&other.removed);
            changes.modified = changes.modified.union(&other.modified);
            changes.added = changes.added.union(&other.added);
        }
        (!changes.is_empty()).then(|| Box::new(changes))
    }
}

struct Walk<'a> {
    definitions: &'a Definitions,
}

impl<'a> Walk<'a> {
    fn values(&self, old: Option<&'a Value>, new: Option<&'a Value>, ty: Ty<'a>) -> Result<Found<'a>, Problems> {
        let atom = ty.resolve(self.definitions);
        let old_forms = old.map_or(Forms::All, |v| atom.forms(v));
        let new_forms = new.map_or(Forms::All, |v| atom.forms(v));
        let forms = if new.is_none() { old_forms } else { new_forms };
        check(&atom, old, old_forms)?;
        check(&atom, new, new_forms)?;
        if old.is_none() || new.is_none() || old_forms == new_forms {
            return self.form(ty, &atom, atom.first(forms), old, new);
        }
        // The two sides have different forms: the changes of both readings count.
        let first = self.form(ty, &atom, atom.first(old_forms), old, new)?;
        let mut found = self.form(ty, &atom, atom.first(new_forms), old, new)?;
        found.modified |= first.modified;
        found.below = Found::within(found.below.map(|b| *b).unwrap_or_default(), first.below);
        Ok(found)
    }

    fn form(
        &self,
        ty: Ty<'a>,
        atom: &Atom<'a>,
        form: Form,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Result<Found<'a>, Problems> {
        let below = match (form, &atom.map, &atom.list) {
            (Form::Map, Some(map), _) if !map.atomic => self.maps(map, old, new)?,
            (Form::List, _, Some(list)) if !list.atomic => self.lists(list, old, new)?,
            _ => None,
        };
        let Some(below) = below else {
            let found = Found::leaf(old, new);
            if let (true, false, Some(new)) = (found.modified || found.added, form == Form::Scalar, new) {
                // What changed inside an atomic part is looked at, too.
                validate(new, ty, self.definitions, true)?;
            }
            return Ok(found);
        };
        let below = (!below.is_empty()).then(|| Box::new(below));
        Ok(Found { removed: new.is_none(), modified: false, added: old.is_none(), below })
    }

    /// `None` when both sides have no fields: such a pair is a leaf, so that empty and null stay apart.
    fn maps(
        &self,
        map: &MapAtom<'a>,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Result<Option<Changes<'a>>, Problems> {
        let old = old.and_then(Value::as_object).filter(|m| !m.is_empty());
        let new = new.and_then(Value::as_object).filter(|m| !m.is_empty());
        if old.is_none() && new.is_none() {
            return Ok(None);
        }
        let mut changes = Changes::default();
        let mut old = old.into_iter().flatten().peekable();
        let mut new = new.into_iter().flatten().peekable();
        loop {
            // Both maps are sorted: walk them side by side.
            let order = match (old.peek(), new.peek()) {
                (None, None) => return Ok(Some(changes)),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((a, _)), Some((b, _))) => a.cmp(b),
            };
            let left = if order.is_le() { old.next() } else { None };
            let right = if order.is_ge() { new.next() } else { None };
            let Some((name, _)) = left.or(right) else { return Ok(Some(changes)) };
            let (left, right) = (left.map(|f| f.1), right.map(|f| f.1));
            let Some(ty) = map.field_or_element(name) else {
                return Err(format!("field {name} not declared in schema").into());
            };
            let found = self.values(left, right, ty)?;
            if !found.nothing() {
                changes.graft(Element::Field(name), found);
            }
        }
    }

    fn lists(
        &self,
        list: &ListAtom<'a>,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Result<Option<Changes<'a>>, Problems> {
        let old = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let new = new.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if old.is_empty() && new.is_empty() {
            return Ok(None);
        }
        let mut groups = group(list, old, new)?;
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        let mut changes = Changes::default();
        let mut groups = groups.into_iter().peekable();
        while let Some((element, side, item)) = groups.next() {
            let (mut before, mut after) = (Vec::new(), Vec::new());
            if side {
                after.push(item)
            } else {
                before.push(item)
            }
            while let Some((_, side, item)) = groups.next_if(|g| g.0 == element) {
                if side { after.push(item) } else { before.push(item) }
            }
            let found = self.group(list, &before, &after)?;
            if !found.nothing() {
                changes.graft(element, found);
            }
        }
        Ok(Some(changes))
    }

    /// Compares the items that share a key. An item that stands twice is compared as a whole.
    fn group(&self, list: &ListAtom<'a>, old: &[&'a Value], new: &[&'a Value]) -> Result<Found<'a>, Problems> {
        if new.len() > 1 {
            new.iter().try_for_each(|item| validate(item, list.item, self.definitions, true))?;
        }
        match (old, new) {
            ([] | [_], [] | [_]) => self.values(old.first().copied(), new.first().copied(), list.item),
            ([_, _, ..], [_, _, ..]) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| same(a, b));
                Ok(Found { modified: !equal, ..Found::default() })
            }
            ([_, _, ..], _) => {
                let mut found = Found::default();
                if let Some(new) = new.first() {
                    found = self.values(None, Some(new), list.item)?;
                }
                Ok(Found { removed: true, ..found })
            }
            _ => {
                let mut found = Found::default();
                if let Some(old) = old.first() {
                    found = self.values(Some(old), None, list.item)?;
                }
                Ok(Found { added: true, ..found })
            }
        }
    }
}

/// All items of both sides with their elements; `true` marks the new side.
fn group<'a>(
    list: &ListAtom<'a>,
    old: &'a [Value],
    new: &'a [Value],
) -> Result<Vec<(Element<'a>, bool, &'a Value)>, Problems> {
    let mut groups = Vec::with_capacity(old.len() + new.len());
    let mut problems = Problems::default();
    for (side, items) in [(false, old), (true, new)] {
        for (i, item) in items.iter().enumerate() {
            match list.element_of(item) {
                Ok(element) => groups.push((element, side, item)),
                Err(why) => problems.add(format!("element {i}: {why}")),
            }
        }
    }
    problems.into_result()?;
    Ok(groups)
}

/// A value must be what its type says.
fn check(atom: &Atom<'_>, value: Option<&Value>, forms: Forms) -> Result<(), Problems> {
    let Some(value) = value else { return Ok(()) };
    let wrong = match (forms, value) {
        (Forms::One(Form::Scalar), _) => atom.scalar.and_then(|kind| scalar_problem(kind, value, "")),
        (_, Value::Null) | (Forms::One(Form::Map), Value::Object(_)) | (Forms::One(Form::List), Value::Array(_)) => {
            None
        }
        (Forms::One(Form::Map), other) => Some(format!("expected map, got {other}")),
        (Forms::One(Form::List), other) => Some(format!("expected list, got {other}")),
        (Forms::All, other) => Some(format!("unexpected {other}")),
    };
    wrong.map_or(Ok(()), |wrong| Err(wrong.into()))
}
