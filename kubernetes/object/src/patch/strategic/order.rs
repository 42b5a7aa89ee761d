//! Order of a merged list: the patch's items in the patch's order, the object's own items at their previous positions.

use std::collections::BTreeMap;

use super::lists::ItemKind;
use super::{DIRECTIVE, StrategicResult, bad_type, no_merge_key, unexpected};
use crate::{Value, go_format};

/// Identification of items for ordering a list.
#[derive(Clone, Copy)]
pub(super) struct ItemOrder<'a> {
    pub items: ItemKind,
    pub key: &'a str,
}

/// Returns the identity of an item: the item itself, or the value of its merge key.
pub(super) fn identity(item: &Value, key: &str, items: ItemKind) -> String {
    match items {
        ItemKind::Scalars => item.to_string(),
        ItemKind::Maps => item.get(key).unwrap_or(&Value::Null).to_string(),
    }
}

impl ItemOrder<'_> {
    /// Returns `merged` with the items of `wanted` in the order of `wanted`, and all other items positioned by `live`.
    pub fn arrange(self, merged: Vec<Value>, wanted: &[Value], live: &[Value]) -> StrategicResult<Vec<Value>> {
        let wanted = self.positions(wanted)?;
        let live = self.positions(live)?;
        self.positions(&merged)?;
        let id = |item: &Value| identity(item, self.key, self.items);
        let (mut patched, mut own): (Vec<_>, Vec<_>) = merged.into_iter().partition(|i| wanted.contains_key(&id(i)));
        let last = usize::MAX;
        patched.sort_by_key(|i| *wanted.get(&id(i)).unwrap_or(&last));
        own.sort_by_key(|i| *live.get(&id(i)).unwrap_or(&last));
        Ok(interleave(own, patched, |item| live.get(&id(item)).copied()))
    }

    // Returns the first position of each item. Every map must have its key.
    fn positions(self, list: &[Value]) -> StrategicResult<BTreeMap<String, usize>> {
        let mut positions = BTreeMap::new();
        for (index, item) in list.iter().enumerate() {
            if self.items == ItemKind::Maps {
                let map = item.as_object().ok_or_else(|| bad_type("map[string]interface {}", item))?;
                map.get(self.key).ok_or_else(|| no_merge_key(map, self.key))?;
            }
            positions.entry(identity(item, self.key, self.items)).or_insert(index);
        }
        Ok(positions)
    }

    /// Checks that the patch's list has its items in the order of `$setElementOrder`, and no others.
    pub fn check(self, patch: &[Value], order: &[Value]) -> StrategicResult<()> {
        if patch.is_empty() || order.is_empty() {
            return Ok(());
        }
        let by_key = !self.key.is_empty();
        let mut kept = Vec::with_capacity(patch.len());
        for item in patch {
            if by_key && !item.is_object() {
                return Err(bad_type("map[string]interface {}", item));
            }
            // Deletions and other directives are not part of the order.
            if item.get(DIRECTIVE).is_none() {
                kept.push(item);
            }
        }
        let mut remaining = kept.iter().peekable();
        for wanted in order {
            let Some(item) = remaining.peek() else { return Ok(()) };
            if self.same(item, wanted)? {
                remaining.next();
            }
        }
        if remaining.peek().is_none() {
            return Ok(());
        }
        let list = |l: &[Value]| go_format::value(&Value::Array(l.to_vec()));
        Err(unexpected(format!(
            "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
            list(patch),
            list(order)
        )))
    }

    fn same(self, a: &Value, b: &Value) -> StrategicResult<bool> {
        if self.key.is_empty() {
            return Ok(a == b);
        }
        let value = |item: &Value| {
            let map = item.as_object().ok_or_else(|| bad_type("map[string]interface {}", item))?;
            map.get(self.key).cloned().ok_or_else(|| no_merge_key(map, self.key))
        };
        Ok(value(a)? == value(b)?)
    }
}

// Interleaves the object's own items: one comes before a patched item only if it did so before.
fn interleave(own: Vec<Value>, patched: Vec<Value>, position: impl Fn(&Value) -> Option<usize>) -> Vec<Value> {
    let mut out = Vec::with_capacity(own.len() + patched.len());
    let mut own = own.into_iter().peekable();
    for item in patched {
        while let Some(next) = own.peek() {
            let before = matches!((position(next), position(&item)), (Some(a), Some(b)) if a < b);
            if !before {
                break;
            }
            out.extend(own.next());
        }
        out.push(item);
    }
    out.extend(own);
    out
}
