//! Regular expressions. Those whose names do not begin with `must` panic in Go, which changes the text of the error.

use std::rc::Rc;

use super::{Answer, Table, bytes, int, sig};
use crate::error::Error;
use crate::exec::Execution;
use crate::function::Signature;
use crate::sprig::regexp::{self, Fuel, Refused, Regexp};
use crate::value::{List, Type, Value};

pub(super) fn add(table: &mut Table) {
    table.add(&["regexMatch"], sig!(STRING, STRING => BOOL), |execution, args| {
        match regexp::compile(execution, bytes(args, 0)) {
            Ok(regexp) => {
                execution.charge(regexp.steps(bytes(args, 1).len()))?;
                Ok(Value::Bool(regexp.is_match(bytes(args, 1))))
            }
            Err(Refused::Wrong(_)) => Ok(Value::Bool(false)),
            Err(Refused::Costly(error)) => Err(error),
        }
    });
    table.add_v3(&["mustRegexMatch"], sig!(STRING, STRING => BOOL), |execution, args| {
        Ok(Value::Bool(must_compile(execution, args)?.is_match(bytes(args, 1))))
    });
    pair(
        table,
        ["regexFindAll", "mustRegexFindAll"],
        sig!(STRING, STRING, INT => STRINGS),
        |execution, regexp, args| {
            let mut fuel = Fuel::new(execution.steps_left());
            let found = regexp.find_all(bytes(args, 1), most(execution, int(args, 2)), &mut fuel);
            execution.charge(fuel.burnt)?;
            execution.charge_memory(bytes(args, 1).len())?;
            execution.charge_list(found.as_ref().map_or(0, Vec::len) as u64)?;
            Ok(strings(found))
        },
    );
    pair(table, ["regexFind", "mustRegexFind"], sig!(STRING, STRING => STRING), |_, regexp, args| {
        Ok(Value::string(regexp.find(bytes(args, 1)).unwrap_or_default()))
    });
    replacing(table, ["regexReplaceAll", "mustRegexReplaceAll"], Regexp::replace_all);
    replacing(table, ["regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"], Regexp::replace_all_literal);
    pair(table, ["regexSplit", "mustRegexSplit"], sig!(STRING, STRING, INT => STRINGS), |execution, regexp, args| {
        let mut fuel = Fuel::new(execution.steps_left());
        let most = most(execution, int(args, 2));
        let parts = regexp.split(bytes(args, 1), most, bytes(args, 0).is_empty(), &mut fuel);
        execution.charge(fuel.burnt)?;
        execution.charge_memory(bytes(args, 1).len())?;
        execution.charge_list(parts.as_ref().map_or(0, Vec::len) as u64)?;
        Ok(strings(parts))
    });
    table.add_v3(&["regexQuoteMeta"], sig!(STRING => STRING), |_, args| {
        Ok(Value::string(regexp::quote_meta(bytes(args, 0))))
    });
}

/// How many matches are looked for: as many as were asked for, or one more than a list may have.
fn most(execution: &Execution<'_>, asked: i64) -> i64 {
    let limit = (execution.options().limits.output_bytes / size_of::<Value>()) as i64 + 1;
    if (0..limit).contains(&asked) { asked } else { limit }
}

/// `[]string`, nil for nothing.
fn strings(found: Option<Vec<&[u8]>>) -> Value {
    match found {
        Some(found) => Value::strings(found),
        None => Value::List(Type::STRINGS, Rc::new(List::nil())),
    }
}

type Replace = fn(&Regexp, &[u8], &[u8], usize, &mut Fuel) -> Option<Vec<u8>>;

/// A function and its must-form whose result may be much longer than what it is given.
fn replacing(table: &mut Table, names: [&str; 2], replace: Replace) {
    pair(table, names, sig!(STRING, STRING, STRING => STRING), move |execution, regexp, args| {
        let limit = execution.options().limits.output_bytes;
        let mut fuel = Fuel::new(execution.steps_left());
        let text = replace(regexp, bytes(args, 1), bytes(args, 2), limit, &mut fuel);
        execution.charge(fuel.burnt)?;
        let text = text.ok_or_else(|| Error::call(format!("result is larger than the limit of {limit} bytes")))?;
        execution.charge_bytes(text.len())?;
        Ok(Value::string(text))
    });
}

/// The expression that is the first argument, and the price of going through the second with it.
fn compiled(execution: &mut Execution<'_>, args: &[Value], wrong: fn(&[u8], String) -> Error) -> Compiled {
    let pattern = bytes(args, 0);
    let regexp = regexp::compile(execution, pattern).map_err(|refused| match refused {
        Refused::Wrong(why) => wrong(pattern, why),
        Refused::Costly(error) => error,
    })?;
    execution.charge(regexp.steps(bytes(args, 1).len()))?;
    Ok(regexp)
}

type Compiled = Result<Rc<Regexp>, Error>;

fn must_compile(execution: &mut Execution<'_>, args: &[Value]) -> Compiled {
    compiled(execution, args, |_, why| Error::call(why))
}

fn panicking(pattern: &[u8], why: String) -> Error {
    Error::call(format!("regexp: Compile({}): {why}", quoted(pattern)))
}

fn pair(
    table: &mut Table,
    [name, must]: [&str; 2],
    signature: &'static Signature,
    body: impl Fn(&mut Execution<'_>, &Regexp, &[Value]) -> Answer + Clone + Send + Sync + 'static,
) {
    let must_body = body.clone();
    table.add(&[name], signature, move |execution, args| {
        let regexp = compiled(execution, args, panicking)?;
        body(execution, &regexp, args)
    });
    table.add_v3(&[must], signature, move |execution, args| {
        let regexp = must_compile(execution, args)?;
        must_body(execution, &regexp, args)
    });
}

/// In backquotes where that can be.
fn quoted(pattern: &[u8]) -> String {
    match std::str::from_utf8(pattern) {
        Ok(text) if crate::format::quote::can_backquote(pattern) => format!("`{text}`"),
        _ => crate::format::quote::quote(pattern),
    }
}
