//! Merge of an applied configuration into the live object.

use crate::schema::Definitions;
use crate::{Map, Value};

use super::atom::{AtomForm, AtomForms, ListAtom, MapAtom, TypeRef};
use super::element::PathElement;

/// Merges a configuration into the live object. Nothing is removed. If both set a leaf, the configuration wins. Lists
/// keep the live order unless the configuration orders them otherwise. Both values must be valid.
pub(crate) fn merge<'a>(live: &'a Value, config: &'a Value, ty: TypeRef<'a>, definitions: &'a Definitions) -> Value {
    MergeWalker { definitions }.values(Some(live), Some(config), ty).unwrap_or(Value::Null)
}

struct MergeWalker<'a> {
    definitions: &'a Definitions,
}

impl<'a> MergeWalker<'a> {
    fn values(&self, live: Option<&'a Value>, config: Option<&'a Value>, ty: TypeRef<'a>) -> Option<Value> {
        // Values that the configuration does not set stay as they are.
        let Some(stated) = config else { return live.cloned() };
        let atom = ty.resolve(self.definitions);
        let form = match atom.first(atom.forms(stated)) {
            // A null takes the form of the other side.
            _ if live.is_none() => return config.cloned(),
            form => form,
        };
        let differ = live.is_some_and(|live| atom.forms(live) != atom.forms(stated));
        match (form, &atom.map, &atom.list) {
            (AtomForm::Map, Some(map), _) if !map.atomic => self.maps(map, live, config),
            (AtomForm::List, _, Some(list)) if !list.atomic => self.lists(list, live, config),
            _ if differ && stated.is_null() && matches!(atom.forms(stated), AtomForms::One(_)) => live.cloned(),
            _ => config.cloned(),
        }
    }

    fn maps(&self, map: &MapAtom<'a>, live: Option<&'a Value>, config: Option<&'a Value>) -> Option<Value> {
        let old = live.and_then(Value::as_object).filter(|m| !m.is_empty());
        let new = config.and_then(Value::as_object).filter(|m| !m.is_empty());
        if old.is_none() && new.is_none() {
            // Both are empty: a leaf, so that empty and null differ.
            return config.or(live).cloned();
        }
        let mut out = Map::new();
        for (name, value) in old.into_iter().flatten() {
            let ty = map.field_or_element(name).unwrap_or(TypeRef::Deduced);
            let stated = new.and_then(|m| m.get(name));
            if let Some(merged) = self.values(Some(value), stated, ty) {
                out.insert(name.clone(), merged);
            }
        }
        for (name, value) in new.into_iter().flatten() {
            if old.is_none_or(|m| !m.contains_key(name)) {
                out.insert(name.clone(), value.clone());
            }
        }
        (!out.is_empty()).then_some(Value::Object(out))
    }

    fn lists(&self, list: &ListAtom<'a>, live: Option<&'a Value>, config: Option<&'a Value>) -> Option<Value> {
        let old = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let new = config.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if old.is_empty() && new.is_empty() {
            return config.or(live).cloned();
        }
        let out = ListZip::new(list, old, new).run(|live, config| self.values(live, config, list.item));
        (!out.is_empty()).then_some(Value::Array(out))
    }
}

/// Parallel walk over two associative lists.
struct ListZip<'a> {
    old: Vec<(PathElement<'a>, &'a Value)>,
    new: Vec<(PathElement<'a>, &'a Value)>,
    old_index: Vec<(PathElement<'a>, usize, bool)>,
    new_index: Vec<(PathElement<'a>, usize, bool)>,
}

impl<'a> ListZip<'a> {
    fn new(list: &ListAtom<'a>, old: &'a [Value], new: &'a [Value]) -> Self {
        let keyed = |items: &'a [Value]| -> Vec<(PathElement<'a>, &'a Value)> {
            items.iter().filter_map(|item| Some((list.element_of(item).ok()?, item))).collect()
        };
        let (old, new) = (keyed(old), keyed(new));
        let (old_index, new_index) = (index(&old), index(&new));
        Self { old, new, old_index, new_index }
    }

    /// Returns the live item with this key; null if the key occurs twice, because nothing is merged into such an item.
    fn live(&self, element: &PathElement<'a>) -> Option<&'a Value> {
        let (_, place, twice) = find(&self.old_index, element)?;
        Some(if *twice { &Value::Null } else { self.old[*place].1 })
    }

    fn run(&self, mut merge: impl FnMut(Option<&'a Value>, Option<&'a Value>) -> Option<Value>) -> Vec<Value> {
        let mut out = Vec::with_capacity(self.old.len().max(self.new.len()));
        let mut shared = self.new.iter().map(|(e, _)| e).filter(|e| find(&self.old_index, e).is_some());
        let mut next_shared = shared.next();
        let mut merged = vec![false; self.new.len()];
        let (mut i, mut j) = (0, 0);
        while i < self.old.len() || j < self.new.len() {
            if let (Some((left, _)), Some((right, value))) = (self.old.get(i), self.new.get(j)) {
                if left == right {
                    merged[j] = true;
                    out.extend(merge(self.live(left), Some(value)));
                    (i, j) = (i + 1, j + 1);
                    next_shared = shared.next();
                    continue;
                }
                let stated = find(&self.new_index, left).is_some();
                if stated && next_shared.is_some_and(|next| next != left) {
                    // Both lists have the item, but another one comes first.
                    i += 1;
                    continue;
                }
            }
            if let Some((left, value)) = self.old.get(i) {
                match find(&self.new_index, left) {
                    None => {
                        out.extend(merge(Some(value), None));
                        i += 1;
                        continue;
                    }
                    Some((_, place, _)) if merged[*place] => i += 1,
                    Some(_) => {}
                }
            }
            if let Some((right, value)) = self.new.get(j) {
                merged[j] = true;
                out.extend(merge(self.live(right), Some(value)));
                j += 1;
                if next_shared == Some(right) {
                    next_shared = shared.next();
                }
            }
        }
        out
    }
}

fn index<'a>(items: &[(PathElement<'a>, &'a Value)]) -> Vec<(PathElement<'a>, usize, bool)> {
    let mut index: Vec<_> = items.iter().enumerate().map(|(i, (e, _))| (e.clone(), i, false)).collect();
    index.sort_by(|a, b| a.0.cmp(&b.0));
    index.dedup_by(|later, first| {
        let same = later.0 == first.0;
        first.2 |= same;
        same
    });
    index
}

fn find<'s, 'a>(
    index: &'s [(PathElement<'a>, usize, bool)],
    element: &PathElement<'_>,
) -> Option<&'s (PathElement<'a>, usize, bool)> {
    index.get(index.binary_search_by(|entry| entry.0.cmp(element)).ok()?)
}
