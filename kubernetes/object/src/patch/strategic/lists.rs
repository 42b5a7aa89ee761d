//! Merge of lists: scalars as sets, maps by their merge key, in the order that the patch requests.

use std::collections::{BTreeMap, BTreeSet};

use super::lookup::{PatchField, PatchSchema};
use super::order::{ItemOrder, identity};
use super::{
    DIRECTIVE, SET_ELEMENT_ORDER, StrategicResult, bad_patch_type, bad_request, bad_type, directive_key, merge_maps,
    no_merge_key, strategy, unexpected, without_directives,
};
use crate::patch::PatchError;
use crate::schema::Schema;
use crate::{Map, Value, go_format};

type JsonArray = Vec<Value>;

/// Kind of a list's items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Maps,
    Scalars,
}

/// Merges a patch's list into the object's list.
pub(super) fn merge(target: JsonArray, patch: JsonArray, field: &PatchField<'_>) -> StrategicResult<JsonArray> {
    if target.is_empty() && patch.is_empty() {
        return Ok(target);
    }
    let items = kind_of(&target, &patch)?;
    let key = field.merge_key;
    if items == ItemKind::Scalars {
        let mut seen = BTreeSet::new();
        let both = target.iter().chain(&patch).filter(|v| seen.insert(identity(v, "", items))).cloned().collect();
        return ItemOrder { items, key }.arrange(both, &patch, &target);
    }
    if key.is_empty() {
        let name = field.typed.schema.map_or("struct", go_kind);
        return Err(unexpected(format!("cannot merge lists without merge key for {name}")));
    }
    let (target, patch) = apply_directives(target, patch, key)?;
    let order = patch.clone();
    let before = target.clone();
    let merged = merge_items(target, patch, key, field.typed)?;
    ItemOrder { items: ItemKind::Maps, key }.arrange(merged, &order, &before)
}

fn go_kind(schema: &Schema) -> &'static str {
    match schema.kind {
        crate::schema::SchemaType::String => "string",
        _ => "struct",
    }
}

fn kind_of(target: &[Value], patch: &[Value]) -> StrategicResult<ItemKind> {
    let mut all = target.iter().chain(patch);
    let Some(first) = all.next() else { return Err(unexpected("no elements in any of the given slices".to_string())) };
    if first.is_array() {
        return Err(PatchError::Unprocessable("lists of lists are not supported".to_string()));
    }
    if first.is_null() || !all.all(|v| go_format::type_name(v) == go_format::type_name(first)) {
        let list = |l: &[Value]| go_format::value(&Value::Array(l.to_vec()));
        let lists = format!("[{} {}]", list(target), list(patch));
        return Err(unexpected(format!("list element types are not identical: {lists}")));
    }
    Ok(if first.is_object() { ItemKind::Maps } else { ItemKind::Scalars })
}

// Applies the directives of items: `{"$patch": "delete", <key>: ..}` removes items, `{"$patch": "replace"}` replaces
// all items with those of the patch.
fn apply_directives(mut target: JsonArray, patch: JsonArray, key: &str) -> StrategicResult<(JsonArray, JsonArray)> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut deleted = BTreeSet::new();
    let mut replace = false;
    for item in patch {
        let Value::Object(map) = &item else { continue };
        match map.get(DIRECTIVE).map(|d| (d, d.as_str())) {
            None => plain.push(item),
            Some((_, Some("delete"))) => {
                let value = map.get(key).ok_or_else(|| no_merge_key(map, key))?;
                deleted.insert(value.to_string());
            }
            Some((_, Some("replace"))) => replace = true,
            Some((_, Some("merge"))) => {
                return Err(unexpected("merging lists cannot yet be specified in the patch".to_string()));
            }
            Some((directive, _)) => return Err(bad_patch_type(directive, map)),
        }
    }
    if replace {
        return Ok((plain, Vec::new()));
    }
    target.retain(|item| !item.get(key).is_some_and(|v| deleted.contains(&v.to_string())));
    Ok((target, plain))
}

fn merge_items(
    mut target: JsonArray,
    patch: JsonArray,
    key: &str,
    typed: PatchSchema<'_>,
) -> StrategicResult<JsonArray> {
    let mut positions = BTreeMap::new();
    for (index, item) in target.iter().enumerate() {
        if let Some(value) = item.get(key) {
            positions.entry(value.to_string()).or_insert(index);
        }
    }
    for item in patch {
        let Value::Object(new) = item else { continue };
        let value = new.get(key).ok_or_else(|| no_merge_key(&new, key))?.to_string();
        match positions.get(&value) {
            Some(index) => {
                let Value::Object(old) = target[*index].take() else { continue };
                target[*index] = Value::Object(merge_maps(old, new, typed)?);
            }
            None => {
                positions.insert(value, target.len());
                target.push(Value::Object(new));
            }
        }
    }
    Ok(target)
}

/// Applies the `$setElementOrder/<list>` directives, each together with the patch's list.
pub(super) fn merge_ordered(target: &mut Map, patch: &mut Map, typed: PatchSchema<'_>) -> StrategicResult<()> {
    let directives: Vec<String> = patch.keys().filter(|k| k.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let order = patch.remove(&directive).unwrap_or(Value::Null);
        let Value::Array(order) = order else { return Err(bad_type("[]interface {}", &order)) };
        let words = "invalid patch format of setElementOrder list";
        let name = directive_key(&directive, SET_ELEMENT_ORDER, words)?;
        let live = list_of(target, name)?;
        let new = list_of(patch, name)?;
        let field = typed.list(name)?;
        let strategy = strategy(&field)?;
        let arrangement = ItemOrder { items: ItemKind::Maps, key: field.merge_key };
        arrangement.check(new.as_deref().unwrap_or_default(), &order)?;
        let merged = match (live.clone(), new.clone()) {
            (None, None) => continue,
            (Some(live), None) => live,
            (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
            (Some(live), Some(new)) if strategy == "merge" => merge(live, new, &field)?,
            (Some(_), Some(new)) => new,
        };
        let live = live.unwrap_or_default();
        let items = kind_of(&live, new.as_deref().unwrap_or_default())?;
        if items == ItemKind::Maps && field.merge_key.is_empty() {
            return Err(bad_request(words));
        }
        let live = if items == ItemKind::Maps {
            live_after_deletions(live, new.as_deref().unwrap_or_default(), &field)
        } else {
            live
        };
        let arranged = ItemOrder { items, key: field.merge_key }.arrange(merged, &order, &live)?;
        target.insert(name.to_string(), Value::Array(arranged));
        patch.remove(name);
    }
    Ok(())
}

// Returns the live list as kube-apiserver sees it when it orders items. It deletes from that list in place, and new
// items take the freed slots. This decides the position of the server's own items, so the same is done here.
fn live_after_deletions(live: JsonArray, patch: &[Value], field: &PatchField<'_>) -> JsonArray {
    let key = field.merge_key;
    let id = |item: &Value| identity(item, key, ItemKind::Maps);
    let directive = |item: &Value, word: &str| item.get(DIRECTIVE).and_then(Value::as_str) == Some(word);
    let deleted: BTreeSet<String> = patch.iter().filter(|i| directive(i, "delete")).map(id).collect();
    let before = live.len();
    let mut seen: JsonArray = live.into_iter().filter(|item| !deleted.contains(&id(item))).collect();
    let freed = before - seen.len();
    if !patch.iter().any(|i| directive(i, "replace")) {
        let mut known: BTreeSet<String> = seen.iter().map(id).collect();
        let added = patch.iter().filter(|i| i.get(DIRECTIVE).is_none() && known.insert(id(i)));
        seen.extend(added.take(freed).cloned());
    }
    seen
}

fn list_of(map: &Map, name: &str) -> StrategicResult<Option<JsonArray>> {
    match map.get(name) {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list.clone())),
        Some(other) => Err(bad_type("[]interface {}", other)),
    }
}

/// Applies one `$deleteFromPrimitiveList/<list>` directive.
pub(super) fn delete_from(target: &mut Map, name: &str, gone: Value, typed: PatchSchema<'_>) -> StrategicResult<()> {
    if gone.is_null() {
        target.remove(name);
        return Ok(());
    }
    let (Some(Value::Array(list)), Value::Array(gone)) = (target.get_mut(name), gone) else { return Ok(()) };
    if list.is_empty() && gone.is_empty() {
        return Ok(());
    }
    let field = typed.list(name)?;
    if kind_of(list, &gone)? == ItemKind::Maps {
        let merged = merge(std::mem::take(list), gone, &field)?;
        *list = merged;
    } else {
        let gone: BTreeSet<String> = gone.iter().map(Value::to_string).collect();
        list.retain(|v| !gone.contains(&v.to_string()));
    }
    Ok(())
}
