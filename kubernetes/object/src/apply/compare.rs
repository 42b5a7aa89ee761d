//! Comparison of two objects: removed, modified and added paths.

use crate::Value;
use crate::schema::Definitions;

use super::atom::{Atom, AtomForm, AtomForms, ListAtom, MapAtom, TypeRef};
use super::element::PathElement;
use super::scalar::same;
use super::schema_mismatch::SchemaMismatches;
use super::set::{FieldSet, FieldSetNode};
use super::validate::{scalar_mismatch, validate};

/// Differences between two objects.
#[derive(Debug, Default)]
pub(crate) struct ObjectComparison<'a> {
    pub(crate) removed: FieldSet<'a>,
    pub(crate) modified: FieldSet<'a>,
    pub(crate) added: FieldSet<'a>,
}

/// Change of a value's own path.
#[derive(Clone, Copy, Default)]
struct OwnPathChange {
    removed: bool,
    modified: bool,
    added: bool,
}

/// Compares two objects of one type.
pub(crate) fn compare<'a>(
    old: &'a Value,
    new: &'a Value,
    ty: TypeRef<'a>,
    definitions: &'a Definitions,
) -> Result<ObjectComparison<'a>, SchemaMismatches> {
    let mut changes = ObjectComparison::default();
    CompareWalker { definitions }.values(Some(old), Some(new), ty, &mut changes)?;
    Ok(changes)
}

impl<'a> ObjectComparison<'a> {
    /// Returns all three sets.
    pub(crate) fn sets(&mut self) -> [&mut FieldSet<'a>; 3] {
        [&mut self.removed, &mut self.modified, &mut self.added]
    }

    fn graft(&mut self, element: PathElement<'a>, own: OwnPathChange, below: ObjectComparison<'a>) {
        // Usually only one of the three applies, so the element is not copied.
        let modified = own.modified || !below.modified.is_empty();
        let removed = own.removed || !below.removed.is_empty();
        let added = own.added || !below.added.is_empty();
        if modified && (removed || added) {
            self.modified.insert_subtree(element.clone(), own.modified, below.modified);
        } else if modified {
            return self.modified.insert_subtree(element, own.modified, below.modified);
        }
        if removed && added {
            self.removed.insert_subtree(element.clone(), own.removed, below.removed);
        } else if removed {
            return self.removed.insert_subtree(element, own.removed, below.removed);
        }
        self.added.insert_subtree(element, own.added, below.added);
    }
}

impl OwnPathChange {
    fn leaf(old: Option<&Value>, new: Option<&Value>) -> Self {
        match (old, new) {
            (None, _) => OwnPathChange { added: true, ..OwnPathChange::default() },
            (_, None) => OwnPathChange { removed: true, ..OwnPathChange::default() },
            (Some(old), Some(new)) => OwnPathChange { modified: !same(new, old), ..OwnPathChange::default() },
        }
    }
}

struct CompareWalker<'a> {
    definitions: &'a Definitions,
}

impl<'a> CompareWalker<'a> {
    /// Adds the changes below two values to `below`, and returns the change of the values' own path.
    fn values(
        &self,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
        ty: TypeRef<'a>,
        below: &mut ObjectComparison<'a>,
    ) -> Result<OwnPathChange, SchemaMismatches> {
        if let (None, Some(new)) = (old, new) {
            self.added(new, ty, &mut below.added)?;
            return Ok(OwnPathChange { added: true, ..OwnPathChange::default() });
        }
        let atom = ty.resolve(self.definitions);
        let old_forms = old.map_or(AtomForms::All, |v| atom.forms(v));
        let new_forms = new.map_or(AtomForms::All, |v| atom.forms(v));
        let forms = if new.is_none() { old_forms } else { new_forms };
        check(&atom, old, old_forms)?;
        check(&atom, new, new_forms)?;
        let mut first = OwnPathChange::default();
        if old.is_some() && new.is_some() && old_forms != new_forms {
            // The two sides have different forms, so the changes of both forms count.
            first = self.form(ty, &atom, atom.first(old_forms), (old, new), below)?;
        }
        let own = self.form(ty, &atom, atom.first(forms), (old, new), below)?;
        Ok(OwnPathChange { modified: own.modified || first.modified, ..own })
    }

    /// Adds every path below a new value. Most of the work of a create happens here.
    fn added(&self, new: &'a Value, ty: TypeRef<'a>, set: &mut FieldSet<'a>) -> Result<(), SchemaMismatches> {
        let atom = ty.resolve(self.definitions);
        let forms = atom.forms(new);
        check(&atom, Some(new), forms)?;
        match (atom.first(forms), &atom.map, &atom.list, new) {
            (AtomForm::Map, Some(map), _, Value::Object(fields)) if !map.atomic && !fields.is_empty() => {
                set.nodes.reserve_exact(fields.len());
                for (name, field) in fields {
                    let Some(ty) = map.field_or_element(name) else {
                        return Err(format!("field {name} not declared in schema").into());
                    };
                    let mut children = FieldSet::default();
                    self.added(field, ty, &mut children)?;
                    set.nodes.push(FieldSetNode { element: PathElement::Field(name), member: true, children });
                }
                Ok(())
            }
            (AtomForm::List, _, Some(list), Value::Array(items)) if !list.atomic && !items.is_empty() => {
                let mut changes = ObjectComparison::default();
                self.lists(list, None, Some(new), &mut changes)?;
                set.union_with(changes.added);
                Ok(())
            }
            (AtomForm::Scalar, ..) => Ok(()),
            _ => validate(new, ty, self.definitions, true),
        }
    }

    fn form(
        &self,
        ty: TypeRef<'a>,
        atom: &Atom<'a>,
        form: AtomForm,
        (old, new): (Option<&'a Value>, Option<&'a Value>),
        below: &mut ObjectComparison<'a>,
    ) -> Result<OwnPathChange, SchemaMismatches> {
        let walked = match (form, &atom.map, &atom.list) {
            (AtomForm::Map, Some(map), _) if !map.atomic => self.maps(map, old, new, below)?,
            (AtomForm::List, _, Some(list)) if !list.atomic => self.lists(list, old, new, below)?,
            _ => false,
        };
        if walked {
            return Ok(OwnPathChange { removed: new.is_none(), modified: false, added: old.is_none() });
        }
        let own = OwnPathChange::leaf(old, new);
        if let (true, false, Some(new)) = (own.modified || own.added, form == AtomForm::Scalar, new) {
            // Changes inside an atomic part are validated, too.
            validate(new, ty, self.definitions, true)?;
        }
        Ok(own)
    }

    /// Compares two maps. Returns `false` if both have no fields: such a pair is a leaf, so that empty and null differ.
    fn maps(
        &self,
        map: &MapAtom<'a>,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
        changes: &mut ObjectComparison<'a>,
    ) -> Result<bool, SchemaMismatches> {
        let old = old.and_then(Value::as_object).filter(|m| !m.is_empty());
        let new = new.and_then(Value::as_object).filter(|m| !m.is_empty());
        if old.is_none() && new.is_none() {
            return Ok(false);
        }
        let mut old = old.into_iter().flatten().peekable();
        let mut new = new.into_iter().flatten().peekable();
        loop {
            // Both maps are sorted, so one pass over both is enough.
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
            let mut below = ObjectComparison::default();
            let own = self.values(left, right, ty, &mut below)?;
            changes.graft(PathElement::Field(name), own, below);
        }
    }

    fn lists(
        &self,
        list: &ListAtom<'a>,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
        changes: &mut ObjectComparison<'a>,
    ) -> Result<bool, SchemaMismatches> {
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
            let mut below = ObjectComparison::default();
            let own = self.group(list, &before, &after, &mut below)?;
            changes.graft(element, own, below);
        }
        Ok(true)
    }

    /// Compares the items that share a key. An item that occurs twice is compared as a whole.
    fn group(
        &self,
        list: &ListAtom<'a>,
        old: &[&'a Value],
        new: &[&'a Value],
        below: &mut ObjectComparison<'a>,
    ) -> Result<OwnPathChange, SchemaMismatches> {
        if new.len() > 1 {
            new.iter().try_for_each(|item| validate(item, list.item, self.definitions, true))?;
        }
        match (old, new) {
            ([] | [_], [] | [_]) => self.values(old.first().copied(), new.first().copied(), list.item, below),
            ([_, _, ..], [_, _, ..]) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| same(a, b));
                Ok(OwnPathChange { modified: !equal, ..OwnPathChange::default() })
            }
            ([_, _, ..], _) => {
                let mut own = OwnPathChange::default();
                if let Some(new) = new.first() {
                    own = self.values(None, Some(new), list.item, below)?;
                }
                Ok(OwnPathChange { removed: true, ..own })
            }
            _ => {
                let mut own = OwnPathChange::default();
                if let Some(old) = old.first() {
                    own = self.values(Some(old), None, list.item, below)?;
                }
                Ok(OwnPathChange { added: true, ..own })
            }
        }
    }
}

/// Returns all items of both sides with their elements; `true` marks the new side.
fn group<'a>(
    list: &ListAtom<'a>,
    old: &'a [Value],
    new: &'a [Value],
) -> Result<Vec<(PathElement<'a>, bool, &'a Value)>, SchemaMismatches> {
    let mut groups = Vec::with_capacity(old.len() + new.len());
    let mut problems = SchemaMismatches::default();
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

/// Returns an error if a value does not fit its type.
fn check(atom: &Atom<'_>, value: Option<&Value>, forms: AtomForms) -> Result<(), SchemaMismatches> {
    let Some(value) = value else { return Ok(()) };
    let wrong = match (forms, value) {
        (AtomForms::One(AtomForm::Scalar), _) => atom.scalar.and_then(|kind| scalar_mismatch(kind, value, "")),
        (_, Value::Null)
        | (AtomForms::One(AtomForm::Map), Value::Object(_))
        | (AtomForms::One(AtomForm::List), Value::Array(_)) => None,
        (AtomForms::One(AtomForm::Map), other) => Some(format!("expected map, got {other}")),
        (AtomForms::One(AtomForm::List), other) => Some(format!("expected list, got {other}")),
        (AtomForms::All, other) => Some(format!("unexpected {other}")),
    };
    wrong.map_or(Ok(()), |wrong| Err(wrong.into()))
}
