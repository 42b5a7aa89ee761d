//! Regular expressions. Those whose names do not begin with `must` panic in Go, which changes the text of the error.

use std::rc::Rc;

use super::{Answer, Table, bytes, int, sig};
use crate::error::Error;
use crate::exec::Execution;
use crate::function::Signature;
use crate::sprig::regexp::{self, Regexp};
use crate::value::{List, Type, Value};

pub(super) fn add(table: &mut Table) {
    table.add(&["regexMatch"], sig!(STRING, STRING => BOOL), |_, args| {
        Ok(Value::Bool(regexp::compile(bytes(args, 0)).is_ok_and(|regexp| regexp.is_match(bytes(args, 1)))))
    });
    table.add_v3(&["mustRegexMatch"], sig!(STRING, STRING => BOOL), |_, args| {
        Ok(Value::Bool(regexp::compile(bytes(args, 0)).map_err(Error::call)?.is_match(bytes(args, 1))))
    });
    pair(
        table,
        ["regexFindAll", "mustRegexFindAll"],
        sig!(STRING, STRING, INT => STRINGS),
        |execution, regexp, args| {
            let found = regexp.find_all(bytes(args, 1), most(execution, int(args, 2)));
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
        let parts = regexp.split(bytes(args, 1), most(execution, int(args, 2)), bytes(args, 0).is_empty());
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

type Replace = fn(&Regexp, &[u8], &[u8], usize) -> Option<Vec<u8>>;

/// A function and its must-form whose result may be much longer than what it is given.
fn replacing(table: &mut Table, [name, must]: [&str; 2], replace: Replace) {
    let replaced = move |execution: &mut Execution<'_>, regexp: &Regexp, args: &[Value]| -> Answer {
        let limit = execution.options().limits.output_bytes;
        let text = replace(regexp, bytes(args, 1), bytes(args, 2), limit);
        let text = text.ok_or_else(|| Error::call(format!("result is larger than the limit of {limit} bytes")))?;
        execution.charge_bytes(text.len())?;
        Ok(Value::string(text))
    };
    table.add(&[name], sig!(STRING, STRING, STRING => STRING), move |execution, args| {
        replaced(execution, &*compiled(bytes(args, 0))?, args)
    });
    table.add_v3(&[must], sig!(STRING, STRING, STRING => STRING), move |execution, args| {
        replaced(execution, &*regexp::compile(bytes(args, 0)).map_err(Error::call)?, args)
    });
}

fn compiled(pattern: &[u8]) -> Result<Rc<Regexp>, Error> {
    regexp::compile(pattern).map_err(|why| Error::call(format!("regexp: Compile({}): {why}", quoted(pattern))))
}

fn pair(
    table: &mut Table,
    [name, must]: [&str; 2],
    signature: &'static Signature,
    body: impl Fn(&mut Execution<'_>, &Regexp, &[Value]) -> Answer + Clone + Send + Sync + 'static,
) {
    let must_body = body.clone();
    table.add(&[name], signature, move |execution, args| body(execution, &*compiled(bytes(args, 0))?, args));
    table.add_v3(&[must], signature, move |execution, args| {
        must_body(execution, &*regexp::compile(bytes(args, 0)).map_err(Error::call)?, args)
    });
}

/// In backquotes where that can be.
fn quoted(pattern: &[u8]) -> String {
    match std::str::from_utf8(pattern) {
        Ok(text) if crate::format::quote::can_backquote(pattern) => format!("`{text}`"),
        _ => crate::format::quote::quote(pattern),
    }
}
