//! Dictionary functions. Maps are shared: changes by `set` and `unset` are visible through every reference.

use std::rc::Rc;

use super::merge::{MAX_DEPTH, MergeRules, merge};
use super::strings::string_of;
use super::structure::deep_copy;
use super::{FunctionResult, FunctionTable, bytes, sig};
use crate::error::Error;
use crate::exec::Execution;
use crate::exec::cost::NEW_PART_STEPS;
use crate::value::{GoMap, ReflectType, Str, Value};

pub(super) fn add(table: &mut FunctionTable) {
    add_entries(table);
    add_selections(table);
    add_whole(table);
}

/// Returns a map argument.
fn map(args: &[Value], index: usize) -> Option<&Rc<GoMap>> {
    args.get(index).and_then(Value::as_map)
}

fn add_entries(table: &mut FunctionTable) {
    table.add(&["dict"], sig!(... ANY => MAP), |execution, args| {
        execution.charge(NEW_PART_STEPS)?;
        let entries = args.chunks(2).map(|pair| {
            let value = pair.get(1).cloned().unwrap_or_else(|| "".into());
            Ok((string_of(execution, &pair[0])?, value))
        });
        Ok(Value::typed_map(ReflectType::MAP, entries.collect::<Result<_, Error>>()?))
    });
    table.add_v3(&["get"], sig!(MAP, STRING => ANY), |_, args| {
        Ok(map(args, 0).and_then(|map| map.get(bytes(args, 1))).unwrap_or_else(|| "".into()))
    });
    table.add(&["set"], sig!(MAP, STRING, ANY => MAP), |execution, args| {
        execution.charge(NEW_PART_STEPS)?;
        let map = map(args, 0).filter(|map| !map.is_nil());
        let map = map.ok_or_else(|| Error::call("assignment to entry in nil map"))?;
        map.link(Str::new(bytes(args, 1)), args[2].clone());
        Ok(args[0].clone())
    });
    table.add(&["unset"], sig!(MAP, STRING => MAP), |_, args| {
        if let Some(map) = map(args, 0) {
            map.remove(bytes(args, 1));
        }
        Ok(args[0].clone())
    });
    table.add(&["hasKey"], sig!(MAP, STRING => BOOL), |_, args| {
        Ok(Value::Bool(map(args, 0).is_some_and(|map| map.contains(bytes(args, 1)))))
    });
    table.add_v3(&["dig"], sig!(... ANY => ANY), |_, args| dig(args));
}

/// Returns the number of entries that are read and copied.
fn entries_of(args: &[Value]) -> u64 {
    NEW_PART_STEPS + args.iter().filter_map(Value::as_map).map(|map| map.len() as u64).sum::<u64>()
}

fn add_selections(table: &mut FunctionTable) {
    table.add(&["pluck"], sig!(STRING; ... MAP => LIST), |_, args| {
        let found = args[1..].iter().filter_map(|dict| dict.as_map()?.get(bytes(args, 0)));
        Ok(Value::list(found.collect()))
    });
    // Go's order is random. Here the keys are sorted.
    table.add(&["keys"], sig!(... MAP => STRINGS), |execution, args| {
        execution.charge(entries_of(args))?;
        let keys = args.iter().filter_map(Value::as_map).flat_map(|map| map.snapshot());
        Ok(Value::strings(keys.map(|(key, _)| key)))
    });
    table.add(&["values"], sig!(MAP => LIST), |execution, args| {
        execution.charge(entries_of(args))?;
        let entries = map(args, 0).map(|map| map.snapshot()).unwrap_or_default();
        Ok(Value::list(entries.into_iter().map(|(_, value)| value).collect()))
    });
    table.add(&["pick"], sig!(MAP; ... STRING => MAP), |execution, args| {
        execution.charge(NEW_PART_STEPS)?;
        let named = args[1..].iter().filter_map(Value::as_str);
        let found = named.filter_map(|key| Some((key.clone(), map(args, 0)?.get(key)?)));
        Ok(Value::map(found.collect::<Vec<_>>()))
    });
    table.add(&["omit"], sig!(MAP; ... STRING => MAP), |execution, args| {
        // Every key is compared with every name.
        execution.charge(entries_of(args).saturating_mul(args.len() as u64))?;
        let entries = map(args, 0).map(|map| map.snapshot()).unwrap_or_default();
        let omitted = |key: &Str| args[1..].iter().any(|name| name.as_str() == Some(key));
        Ok(Value::map(entries.into_iter().filter(|(key, _)| !omitted(key))))
    });
}

fn add_whole(table: &mut FunctionTable) {
    let fill = MergeRules { overwrite: false, sprig: table.sprig };
    let overwrite = MergeRules { overwrite: true, sprig: table.sprig };
    table.add(&["merge"], sig!(MAP; ... MAP => ANY), move |execution, args| merged(execution, args, fill));
    table
        .add(&["mergeOverwrite"], sig!(MAP; ... MAP => ANY), move |execution, args| merged(execution, args, overwrite));
    table.add_v3(&["mustMerge"], sig!(MAP; ... MAP => ANY), move |execution, args| merged(execution, args, fill));
    table.add_v3(&["mustMergeOverwrite"], sig!(MAP; ... MAP => ANY), move |execution, args| {
        merged(execution, args, overwrite)
    });
    table.add(&["deepCopy"], sig!(ANY => ANY), copied);
    table.add_v3(&["mustDeepCopy"], sig!(ANY => ANY), copied);
}

fn merged(execution: &mut Execution<'_>, args: &[Value], rules: MergeRules) -> FunctionResult {
    execution.charge_traversal_to_depth(args, NEW_PART_STEPS, MAX_DEPTH)?;
    merge(args, rules)
}

fn copied(execution: &mut Execution<'_>, args: &[Value]) -> FunctionResult {
    execution.charge_traversal(args, NEW_PART_STEPS)?;
    deep_copy(&args[0])
}

/// Creates Go's error for a value that does not have the single accepted type.
fn conversion(value: &Value, wanted: ReflectType) -> Error {
    let found = value.type_of().map_or_else(|| "nil".to_string(), |found| found.to_string());
    Error::call(format!("interface conversion: interface {{}} is {found}, not {wanted}"))
}

/// Returns a map of exactly `map[string]interface {}`. As in Go, a named map type does not qualify.
fn plain_map(value: &Value) -> Result<&Rc<GoMap>, Error> {
    match value {
        Value::Map(found, map) if *found == ReflectType::MAP => Ok(map),
        other => Err(conversion(other, ReflectType::MAP)),
    }
}

fn dig(args: &[Value]) -> FunctionResult {
    let [keys @ .., default, dict] = args else {
        return Err(Error::call("dig needs at least three arguments"));
    };
    if keys.is_empty() {
        return Err(Error::call("dig needs at least three arguments"));
    }
    let mut here = Rc::clone(plain_map(dict)?);
    for key in keys {
        if key.as_str().is_none() {
            return Err(conversion(key, ReflectType::STRING));
        }
    }
    for (index, key) in keys.iter().enumerate() {
        let Some(found) = here.get(key.as_str().map_or(&[], |key| key.as_bytes())) else { return Ok(default.clone()) };
        if index + 1 == keys.len() {
            return Ok(found);
        }
        here = Rc::clone(plain_map(&found)?);
    }
    Ok(default.clone())
}
