//! Dicts. Maps are shared: `set` and `unset` change what everybody sees.

use std::rc::Rc;

use super::merge::{MAX_DEPTH, Rules, merge};
use super::strings::string_of;
use super::structure::deep_copy;
use super::{Answer, Table, bytes, sig};
use crate::error::Error;
use crate::exec::Execution;
use crate::exec::whole::KEPT;
use crate::value::{Map, Str, Type, Value};

pub(super) fn add(table: &mut Table) {
    add_entries(table);
    add_selections(table);
    add_whole(table);
}

/// A map argument.
fn map(args: &[Value], index: usize) -> Option<&Rc<Map>> {
    args.get(index).and_then(Value::as_map)
}

fn add_entries(table: &mut Table) {
    table.add(&["dict"], sig!(... ANY => MAP), |execution, args| {
        execution.charge(KEPT)?;
        let entries = args.chunks(2).map(|pair| {
            let value = pair.get(1).cloned().unwrap_or_else(|| "".into());
            Ok((string_of(execution, &pair[0])?, value))
        });
        Ok(Value::typed_map(Type::MAP, entries.collect::<Result<_, Error>>()?))
    });
    table.add_v3(&["get"], sig!(MAP, STRING => ANY), |_, args| {
        Ok(map(args, 0).and_then(|map| map.get(bytes(args, 1))).unwrap_or_else(|| "".into()))
    });
    table.add(&["set"], sig!(MAP, STRING, ANY => MAP), |execution, args| {
        execution.charge(KEPT)?;
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

/// How many entries are gone through, and copied into something new.
fn entries_of(args: &[Value]) -> u64 {
    KEPT + args.iter().filter_map(Value::as_map).map(|map| map.len() as u64).sum::<u64>()
}

fn add_selections(table: &mut Table) {
    table.add(&["pluck"], sig!(STRING; ... MAP => LIST), |_, args| {
        let found = args[1..].iter().filter_map(|dict| dict.as_map()?.get(bytes(args, 0)));
        Ok(Value::list(found.collect()))
    });
    // Go's order is random; here it is that of the keys.
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
        execution.charge(KEPT)?;
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

fn add_whole(table: &mut Table) {
    let fill = Rules { overwrite: false, sprig: table.sprig };
    let overwrite = Rules { overwrite: true, sprig: table.sprig };
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

fn merged(execution: &mut Execution<'_>, args: &[Value], rules: Rules) -> Answer {
    execution.charge_parts(args, KEPT, MAX_DEPTH)?;
    merge(args, rules)
}

fn copied(execution: &mut Execution<'_>, args: &[Value]) -> Answer {
    execution.charge_whole(args, KEPT)?;
    deep_copy(&args[0])
}

/// What Go says where a value is not of the one type that is wanted.
fn conversion(value: &Value, wanted: Type) -> Error {
    let found = value.type_of().map_or_else(|| "nil".to_string(), |found| found.to_string());
    Error::call(format!("interface conversion: interface {{}} is {found}, not {wanted}"))
}

/// Exactly `map[string]interface {}`: a named map is none, as in Go.
fn plain_map(value: &Value) -> Result<&Rc<Map>, Error> {
    match value {
        Value::Map(found, map) if *found == Type::MAP => Ok(map),
        other => Err(conversion(other, Type::MAP)),
    }
}

fn dig(args: &[Value]) -> Answer {
    let [keys @ .., default, dict] = args else {
        return Err(Error::call("dig needs at least three arguments"));
    };
    if keys.is_empty() {
        return Err(Error::call("dig needs at least three arguments"));
    }
    let mut here = Rc::clone(plain_map(dict)?);
    for key in keys {
        if key.as_str().is_none() {
            return Err(conversion(key, Type::STRING));
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
