//! List functions. In Go, those whose names begin with `must` return errors instead of panicking; the error texts are
//! the same.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::structure::deep_equal;
use super::{FunctionResult, FunctionTable, int, nil_dereference, sig};
use crate::error::Error;
use crate::exec::Execution;
use crate::exec::cost::{NEW_PART_STEPS, READ_PART_STEPS};
use crate::sprig::cast::{to_int, truncate};
use crate::sprig::table::defaults::is_empty;
use crate::sprig::{SprigVersion, json};
use crate::value::{GoSlice, ReflectType, Value};

pub(super) fn add(table: &mut FunctionTable) {
    table.add(&["list", "tuple"], sig!(... ANY => LIST), |execution, args| {
        execution.charge(NEW_PART_STEPS)?;
        Ok(Value::list(args.to_vec()))
    });
    add_growing(table);
    add_ends(table);
    add_filters(table);
    add_cuts(table);
}

/// Function that charges for a call before it runs.
type CostFn = fn(&mut Execution<'_>, &[Value]) -> Result<(), Error>;

/// Adds a function and its must form, which sprig v2 does not have.
fn pair(
    table: &mut FunctionTable,
    names: &[&str],
    musts: &[&str],
    signature: &'static crate::function::Signature,
    body: impl Fn(&[Value]) -> FunctionResult + Clone + Send + Sync + 'static,
) {
    add_with_cost(table, names, musts, signature, |execution, args| execution.charge(elements_of(args)), body);
}

fn add_with_cost(
    table: &mut FunctionTable,
    names: &[&str],
    musts: &[&str],
    signature: &'static crate::function::Signature,
    cost: CostFn,
    body: impl Fn(&[Value]) -> FunctionResult + Clone + Send + Sync + 'static,
) {
    let must = body.clone();
    table.add(names, signature, move |execution, args| {
        cost(execution, args)?;
        body(args)
    });
    table.add_v3(musts, signature, move |execution, args| {
        cost(execution, args)?;
        must(args)
    });
}

/// Returns the number of elements that are read and copied to a new list.
fn elements_of(args: &[Value]) -> u64 {
    let elements = |value: &Value| match value {
        Value::List(_, list) => list.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        _ => 0,
    };
    NEW_PART_STEPS + args.iter().map(elements).sum::<u64>()
}

/// Returns the elements of a list, or Go's error for another value.
fn elements<'v>(value: &'v Value, complaint: &str) -> Result<Cow<'v, [Value]>, Error> {
    match value {
        Value::Nil => Err(nil_dereference()),
        Value::List(_, list) => Ok(Cow::Borrowed(list)),
        other => match other.elements() {
            Some(items) => Ok(Cow::Owned(items)),
            None => Err(Error::call(format!("{complaint} {}", other.kind().name()))),
        },
    }
}

fn nil_list() -> Value {
    Value::List(ReflectType::LIST, Rc::new(GoSlice::nil()))
}

fn add_growing(table: &mut FunctionTable) {
    pair(table, &["append", "push"], &["mustAppend", "mustPush"], sig!(ANY, ANY => LIST), |args| {
        let mut list = elements(&args[0], "Cannot push on type")?.into_owned();
        list.push(args[1].clone());
        Ok(Value::list(list))
    });
    pair(table, &["prepend"], &["mustPrepend"], sig!(ANY, ANY => LIST), |args| {
        let mut list = elements(&args[0], "Cannot prepend on type")?.into_owned();
        list.insert(0, args[1].clone());
        Ok(Value::list(list))
    });
    table.add(&["concat"], sig!(... ANY => ANY), |execution, args| {
        let count = elements_of(args);
        execution.charge(count)?;
        execution.charge_list(count)?;
        let mut all = Vec::new();
        for list in args {
            if matches!(list, Value::Nil) {
                return Err(nil_dereference());
            }
            let wrong = || Error::call(format!("Cannot concat type {} as list", list.kind().name()));
            all.extend(list.elements().ok_or_else(wrong)?);
        }
        Ok(if all.is_empty() { nil_list() } else { Value::list(all) })
    });
}

fn add_ends(table: &mut FunctionTable) {
    pair(table, &["first"], &["mustFirst"], sig!(ANY => ANY), |args| {
        Ok(elements(&args[0], "Cannot find first on type")?.first().cloned().unwrap_or_default())
    });
    pair(table, &["last"], &["mustLast"], sig!(ANY => ANY), |args| {
        Ok(elements(&args[0], "Cannot find last on type")?.last().cloned().unwrap_or_default())
    });
    pair(table, &["rest"], &["mustRest"], sig!(ANY => LIST), |args| {
        let list = elements(&args[0], "Cannot find rest on type")?;
        Ok(if list.is_empty() { nil_list() } else { Value::list(list[1..].to_vec()) })
    });
    pair(table, &["initial"], &["mustInitial"], sig!(ANY => LIST), |args| {
        let list = elements(&args[0], "Cannot find initial on type")?;
        Ok(list.split_last().map_or_else(nil_list, |(_, list)| Value::list(list.to_vec())))
    });
    pair(table, &["reverse"], &["mustReverse"], sig!(ANY => LIST), |args| {
        let list = elements(&args[0], "Cannot find reverse on type")?;
        Ok(Value::list(list.iter().rev().cloned().collect()))
    });
}

fn add_filters(table: &mut FunctionTable) {
    pair(table, &["compact"], &["mustCompact"], sig!(ANY => LIST), |args| {
        let list = elements(&args[0], "Cannot compact on type")?;
        Ok(Value::list(list.iter().filter(|item| !is_empty(item)).cloned().collect()))
    });
    let every = |execution: &mut Execution<'_>, args: &[Value]| execution.charge_traversal(args, NEW_PART_STEPS);
    add_with_cost(table, &["uniq"], &["mustUniq"], sig!(ANY => LIST), every, |args| {
        let mut kept: Vec<Value> = Vec::new();
        // Equal values have the same text, so only those are compared.
        let mut known: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for item in elements(&args[0], "Cannot find uniq on type")?.iter() {
            let alike = known.entry(json::write(item, false).unwrap_or_default()).or_default();
            if !alike.iter().any(|index| deep_equal(item, &kept[*index])) {
                alike.push(kept.len());
                kept.push(item.clone());
            }
        }
        Ok(Value::list(kept))
    });
    let each_with_each = |execution: &mut Execution<'_>, args: &[Value]| {
        execution.charge_traversal(&args[1..], READ_PART_STEPS)?;
        execution.charge(elements_of(&args[..1]))?;
        execution.charge_traversal(&args[..1], READ_PART_STEPS * args.len() as u64)
    };
    add_with_cost(table, &["without"], &["mustWithout"], sig!(ANY; ... ANY => LIST), each_with_each, |args| {
        let list = elements(&args[0], "Cannot find without on type")?;
        let kept = |item: &&Value| !args[1..].iter().any(|other| deep_equal(item, other));
        Ok(Value::list(list.iter().filter(kept).cloned().collect()))
    });
    let compared = |execution: &mut Execution<'_>, args: &[Value]| execution.charge_traversal(args, READ_PART_STEPS);
    add_with_cost(table, &["has"], &["mustHas"], sig!(ANY, ANY => BOOL), compared, |args| {
        if matches!(args[1], Value::Nil) {
            return Ok(Value::Bool(false));
        }
        let list = elements(&args[1], "Cannot find has on type")?;
        Ok(Value::Bool(list.iter().any(|item| deep_equal(&args[0], item))))
    });
}

fn add_cuts(table: &mut FunctionTable) {
    let sprig = table.sprig;
    pair(table, &["slice"], &["mustSlice"], sig!(ANY; ... ANY => ANY), move |args| slice(args, sprig));
    if sprig == SprigVersion::V3 {
        pair(table, &["chunk"], &["mustChunk"], sig!(INT, ANY => LISTS), |args| chunk(int(args, 0), &args[1]));
    }
}

/// Returns a part of a list, which keeps the list's type.
fn slice(args: &[Value], sprig: SprigVersion) -> FunctionResult {
    let list = elements(&args[0], "list should be type of slice or array but")?;
    if list.is_empty() {
        return Ok(Value::Nil);
    }
    let start = args.get(1).map_or(0, |index| to_int(index, sprig));
    let end = args.get(2).map_or(list.len() as i64, |index| to_int(index, sprig));
    let bounds = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let part = bounds.and_then(|(start, end)| list.get(start..end));
    let part = part.ok_or_else(|| Error::call("reflect.Value.Slice: slice index out of bounds"))?;
    Ok(match &args[0] {
        Value::Bytes(bytes) => Value::Bytes(bytes[start as usize..end as usize].into()),
        other => Value::typed_list(other.type_of().unwrap_or(ReflectType::LIST), part.to_vec()),
    })
}

/// Splits a list into chunks. Sprig computes with floats, which matters for sizes that are not positive.
fn chunk(size: i64, value: &Value) -> FunctionResult {
    const LISTS: ReflectType = super::types::LISTS;
    let list = elements(value, "Cannot chunk type")?;
    let count = truncate(((list.len() as f64 - 1.0) / size as f64).floor() + 1.0);
    if count < 0 || (count > 0 && size < 0) {
        return Err(Error::call("runtime error: makeslice: len out of range"));
    }
    let size = usize::try_from(size).unwrap_or(1).max(1);
    let chunks = list.chunks(size).take(count as usize).map(|part| Value::list(part.to_vec()));
    Ok(Value::typed_list(LISTS, chunks.collect()))
}
