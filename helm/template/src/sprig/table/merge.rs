//! `merge`: mergo on maps. Its rules for lists and empty values are those of mergo 1.0.1 in sprig v3, and of 0.3.8 in
//! v2.

use std::rc::Rc;

use super::FunctionResult;
use super::defaults::is_empty;
use crate::error::Error;
use crate::sprig::SprigVersion;
use crate::value::{GoMap, GoSlice, ReflectKind, ReflectType, Value};

/// Maximum depth of merged maps. Go overflows its stack for a map that contains itself.
pub(super) const MAX_DEPTH: usize = 1_000;

/// Options of a merge.
#[derive(Clone, Copy)]
pub(super) struct MergeRules {
    /// Whether existing values are overwritten.
    pub overwrite: bool,
    /// Version of sprig. In v2, nil overwrites nothing, and no map or list replaces another kind of value.
    pub sprig: SprigVersion,
}

/// Merges all other arguments into the first one and returns it.
pub(super) fn merge(args: &[Value], rules: MergeRules) -> FunctionResult {
    let mut target = args[0].clone();
    for source in &args[1..] {
        let Some(from) = source.as_map() else { continue };
        // A nil map is replaced by an empty one if there are entries to add.
        if target.is_nil() && !from.is_nil() {
            target = Value::typed_map(ReflectType::MAP, Default::default());
        }
        if let Some(into) = target.as_map() {
            merge_maps(into, from, rules, 0)?;
        }
    }
    Ok(target)
}

fn merge_maps(into: &Rc<GoMap>, from: &Rc<GoMap>, rules: MergeRules, depth: usize) -> Result<(), Error> {
    let (overwrite, old) = (rules.overwrite, rules.sprig == SprigVersion::V2);
    if depth > MAX_DEPTH {
        return Err(Error::call("merge: maps are nested too deeply"));
    }
    for (key, theirs) in from.snapshot() {
        let ours = into.get(&key);
        if matches!(theirs, Value::Nil) {
            if overwrite && !old {
                into.link(key, theirs);
            }
            continue;
        }
        match (&ours, &theirs) {
            (Some(Value::Map(_, ours)), Value::Map(_, theirs)) if !ours.is_nil() => {
                crate::stack::grow(|| merge_maps(ours, theirs, rules, depth + 1))?;
            }
            (_, theirs) if theirs.kind() == ReflectKind::Slice => {
                let kept = match &ours {
                    _ if overwrite || into.is_empty() => theirs.clone(),
                    None | Some(Value::Nil) => {
                        Value::List(theirs.type_of().unwrap_or(ReflectType::LIST), Rc::new(GoSlice::new(Vec::new())))
                    }
                    Some(ours) => ours.clone(),
                };
                into.link(key.clone(), kept);
            }
            _ => {}
        }
        // This check comes after the merge, because an empty value may have been filled.
        let settled = ours.as_ref().filter(|ours| !is_zero(ours)).is_some_and(|ours| {
            theirs.kind() == ReflectKind::Slice
                || (theirs.kind() == ReflectKind::Map && (old || ours.kind() == ReflectKind::Map))
        });
        if !settled && (overwrite || ours.as_ref().is_none_or(is_zero)) {
            into.link(key, theirs);
        }
    }
    Ok(())
}

/// Whether a value is empty for mergo: nil, 0, false, or without elements. Structs are never empty.
fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Nil) || (!matches!(value, Value::Object(_)) && is_empty(value))
}
