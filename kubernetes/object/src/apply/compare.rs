//! What changed between two objects: paths removed, modified, added.

use crate::Value;
use crate::schema::Definitions;

use super::atom::{Atom, Form, Forms, ListAtom, MapAtom, Ty};
use super::element::Element;
use super::problem::Problems;
use super::scalar::same;
use super::set::{Node, Set};
use super::validate::{scalar_problem, validate};

/// What differs between two objects.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) removed: Set<'a>,
    pub(crate) modified: Set<'a>,
    pub(crate) added: Set<'a>,
}

/// The change of a value's own path.
#[derive(Clone, Copy, Default)]
struct Own {
    removed: bool,
    modified: bool,
    added: bool,
}

/// Compares two objects of one type.
pub(crate) fn compare<'a>(
    old: &'a Value,
    new: &'a Value,
    ty: Ty<'a>,
    definitions: &'a Definitions,
) -> Result<Changes<'a>, Problems> {
    let mut changes = Changes::default();
    Walk { definitions }.values(Some(old), Some(new), ty, &mut changes)?;
    Ok(changes)
}

impl<'a> Changes<'a> {
    /// All three sets.
    pub(crate) fn sets(&mut self) -> [&mut Set<'a>; 3] {
        [&mut self.removed, &mut self.modified, &mut self.added]
    }

    fn graft(&mut self, element: Element<'a>, own: Own, below: Changes<'a>) {
        // Nearly always one of the three: the element need not be copied.
        let modified = own.modified || !below.modified.is_empty();
        let removed = own.removed || !below.removed.is_empty();
        let added = own.added || !below.added.is_empty();
        if modified && (removed || added) {
            self.modified.graft(element.clone(), own.modified, below.modified);
        } else if modified {
            return self.modified.graft(element, own.modified, below.modified);
        }
        if removed && added {
            self.removed.graft(element.clone(), own.removed, below.removed);
        } else if removed {
            return self.removed.graft(element, own.removed, below.removed);
        }
        self.added.graft(element, own.added, below.added);
    }
}

impl Own {
    fn leaf(old: Option<&Value>, new: Option<&Value>) -> Self {
        match (old, new) {
            (None, _) => Own { added: true, ..Own::default() },
            (_, None) => Own { removed: true, ..Own::default() },
            (Some(old), Some(new)) => Own { modified: !same(new, old), ..Own::default() },
        }
    }
}

struct Walk<'a> {
    definitions: &'a Definitions,
}

impl<'a> Walk<'a> {
    /// Adds what changed below the two values to `below`, and tells what changed of the values' own path.
    fn values(
        &self,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
        ty: Ty<'a>,
        below: &mut Changes<'a>,
    ) -> Result<Own, Problems> {
        if let (None, Some(new)) = (old, new) {
            self.added(new, ty, &mut below.added)?;
            return Ok(Own { added: true, ..Own::default() });
        }
        let atom = ty.resolve(self.definitions);
        let old_forms = old.map_or(Forms::All, |v| atom.forms(v));
        let new_forms = new.map_or(Forms::All, |v| atom.forms(v));
        let forms = if new.is_none() { old_forms } else { new_forms };
        check(&atom, old, old_forms)?;
        check(&atom, new, new_forms)?;
        let mut first = Own::default();
        if old.is_some() && new.is_some() && old_forms != new_forms {
            // The two sides have different forms: the changes of both readings count.
            first = self.form(ty, &atom, atom.first(old_forms), (old, new), below)?;
        }
        let own = self.form(ty, &atom, atom.first(forms), (old, new), below)?;
        Ok(Own { modified: own.modified || first.modified, ..own })
    }

    /// Adds every path below a value that was not there: most of what a create does.
    fn added(&self, new: &'a Value, ty: Ty<'a>, set: &mut Set<'a>) -> Result<(), Problems> {
        let atom = ty.resolve(self.definitions);
        let forms = atom.forms(new);
        check(&atom, Some(new), forms)?;
        match (atom.first(forms), &atom.map, &atom.list, new) {
            (Form::Map, Some(map), _, Value::Object(fields)) if !map.atomic && !fields.is_empty() => {
                set.nodes.reserve_exact(fields.len());
                for (name, field) in fields {
                    let Some(ty) = map.field_or_element(name) else {
                        return Err(format!("field {name} not declared in schema").into());
                    };
                    let mut children = Set::default();
                    self.added(field, ty, &mut children)?;
                    set.nodes.push(Node { element: Element::Field(name), member: true, children });
                }
                Ok(())
            }
            (Form::List, _, Some(list), Value::Array(items)) if !list.atomic && !items.is_empty() => {
                let mut changes = Changes::default();
                self.lists(list, None, Some(new), &mut changes)?;
                set.unite(changes.added);
                Ok(())
            }
            (Form::Scalar, ..) => Ok(()),
            _ => validate(new, ty, self.definitions, true),
        }
    }

    fn form(
        &self,
        ty: Ty<'a>,
        atom: &Atom<'a>,
        form: Form,
        (old, new): (Option<&'a Value>, Option<&'a Value>),
        below: &mut Changes<'a>,
    ) -> Result<Own, Problems> {
        let walked = match (form, &atom.map, &atom.list) {
            (Form::Map, Some(map), _) if !map.atomic => self.maps(map, old, new, below)?,
            (Form::List, _, Some(list)) if !list.atomic => self.lists(list, old, new, below)?,
            _ => false,
        };
        if walked {
            return Ok(Own { removed: new.is_none(), modified: false, added: old.is_none() });
        }
        let own = Own::leaf(old, new);
        if let (true, false, Some(new)) = (own.modified || own.added, form == Form::Scalar, new) {
            // What changed inside an atomic part is looked at, too.
            validate(new, ty, self.definitions, true)?;
        }
        Ok(own)
    }

    /// `false` when both sides have no fields: such a pair is a leaf, so that empty and null stay apart.
    fn maps(
        &self,
        map: &MapAtom<'a>,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
        changes: &mut Changes<'a>,
    ) -> Result<bool, Problems> {
        let old = old.and_then(Value::as_object).filter(|m| !m.is_empty());
        let new = new.and_then(Value::as_object).filter(|m| !m.is_empty());
        if old.is_none() && new.is_none() {
            return Ok(false);
        }
        let mut old = old.into_iter().flatten().peekable();
        let mut new = new.into_iter().flatten().peekable();
        loop {
            // Both maps are sorted: walk them side by side.
            let order = match (old.peek(), new.peek()) {
                (None, None) => return Ok(true),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((a, _)), Some((b, _))) => a.cmp(b),
            };
            let left = if order.is_le() { old.next() } else { None };
            let right = if order.is_ge() { new.next() } else { None };
            let Some((name, _)) = left.or(right) else { return Ok(true) };
            let (left, right) = (left.map(|f| f.1), right.map(|f| f.1));
            let Some(ty) = map.field_or_element(name) else {
                return Err(format!("field {name} not declared in schema").into());
            };
            let mut below = Changes::default();
            let own = self.values(left, right, ty, &mut below)?;
            changes.graft(Element::Field(name), own, below);
        }
    }

    fn lists(
        &self,
        list: &ListAtom<'a>,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
        changes: &mut Changes<'a>,
    ) -> Result<bool, Problems> {
        let old = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let new = new.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if old.is_empty() && new.is_empty() {
            return Ok(false);
        }
        let mut groups = group(list, old, new)?;
        groups.sort_by(|a, b| a.0.cmp(&b.0));
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
            let mut below = Changes::default();
            let own = self.group(list, &before, &after, &mut below)?;
            changes.graft(element, own, below);
        }
        Ok(true)
    }

    /// Compares the items that share a key. An item that stands twice is compared as a whole.
    fn group(
        &self,
        list: &ListAtom<'a>,
        old: &[&'a Value],
        new: &[&'a Value],
        below: &mut Changes<'a>,
    ) -> Result<Own, Problems> {
        if new.len() > 1 {
            new.iter().try_for_each(|item| validate(item, list.item, self.definitions, true))?;
        }
        match (old, new) {
            ([] | [_], [] | [_]) => self.values(old.first().copied(), new.first().copied(), list.item, below),
            ([_, _, ..], [_, _, ..]) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| same(a, b));
                Ok(Own { modified: !equal, ..Own::default() })
            }
            ([_, _, ..], _) => {
                let mut own = Own::default();
                if let Some(new) = new.first() {
                    own = self.values(None, Some(new), list.item, below)?;
                }
                Ok(Own { removed: true, ..own })
            }
            _ => {
                let mut own = Own::default();
                if let Some(old) = old.first() {
                    own = self.values(Some(old), None, list.item, below)?;
                }
                Ok(Own { added: true, ..own })
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
