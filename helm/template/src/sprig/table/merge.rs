//! `merge`: mergo on maps, whose rules for lists and empty values are its own: 1.0.1 under sprig v3, 0.3.8 under v2.

use std::rc::Rc;

use super::Answer;
use super::defaults::is_empty;
use crate::error::Error;
use crate::sprig::Sprig;
use crate::value::{Kind, List, Map, Type, Value};

/// Deepest maps that are merged; Go would die of a map that holds itself.
pub(super) const MAX_DEPTH: usize = 1_000;

/// How maps are merged.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Whether what is there gives way.
    pub overwrite: bool,
    /// In v2, nil overwrites nothing, and no map or list takes the place of something else.
    pub sprig: Sprig,
}

/// Merges all behind the first into the first, and gives that.
pub(super) fn merge(args: &[Value], rules: Rules) -> Answer {
    let mut target = args[0].clone();
    for source in &args[1..] {
        let Some(from) = source.as_map() else { continue };
        // A nil map becomes one where there is something to put in.
        if target.is_nil() && !from.is_nil() {
            target = Value::typed_map(Type::MAP, Default::default());
        }
        if let Some(into) = target.as_map() {
            merge_maps(into, from, rules, 0)?;
        }
    }
    Ok(target)
}

fn merge_maps(into: &Rc<Map>, from: &Rc<Map>, rules: Rules, depth: usize) -> Result<(), Error> {
    let (overwrite, old) = (rules.overwrite, rules.sprig == Sprig::V2);
    if depth > MAX_DEPTH {
        return Err(Error::call("merge: maps nest too deeply"));
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
            (_, theirs) if theirs.kind() == Kind::Slice => {
                let kept = match &ours {
                    _ if overwrite || into.is_empty() => theirs.clone(),
                    None | Some(Value::Nil) => {
                        Value::List(theirs.type_of().unwrap_or(Type::LIST), Rc::new(List::new(Vec::new())))
                    }
                    Some(ours) => ours.clone(),
                };
                into.link(key.clone(), kept);
            }
            _ => {}
        }
        // Asked after the merge: what was empty may have been filled.
        let settled = ours.as_ref().filter(|ours| !is_zero(ours)).is_some_and(|ours| {
            theirs.kind() == Kind::Slice || (theirs.kind() == Kind::Map && (old || ours.kind() == Kind::Map))
        });
        if !settled && (overwrite || ours.as_ref().is_none_or(is_zero)) {
            into.link(key, theirs);
        }
    }
    Ok(())
}

/// Mergo's idea of empty: nil, 0, false, nothing in it; structs never are.
fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Nil) || (!matches!(value, Value::Object(_)) && is_empty(value))
}
