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
    pair(table, ["regexFindAll", "mustRegexFindAll"], sig!(STRING, STRING, INT => STRINGS), |regexp, args| {
        strings(regexp.find_all(bytes(args, 1), int(args, 2)))
    });
    pair(table, ["regexFind", "mustRegexFind"], sig!(STRING, STRING => STRING), |regexp, args| {
        Value::string(regexp.find(bytes(args, 1)).unwrap_or_default())
    });
    replacing(table, ["regexReplaceAll", "mustRegexReplaceAll"], Regexp::replace_all);
    replacing(table, ["regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"], Regexp::replace_all_literal);
    pair(table, ["regexSplit", "mustRegexSplit"], sig!(STRING, STRING, INT => STRINGS), |regexp, args| {
        strings(regexp.split(bytes(args, 1), int(args, 2), bytes(args, 0).is_empty()))
    });
    table.add_v3(&["regexQuoteMeta"], sig!(STRING => STRING), |_, args| {
        Ok(Value::string(regexp::quote_meta(bytes(args, 0))))
    });
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
    body: impl Fn(&Regexp, &[Value]) -> Value + Clone + Send + Sync + 'static,
) {
    let must_body = body.clone();
    table.add(&[name], signature, move |_, args| -> Answer { Ok(body(&*compiled(bytes(args, 0))?, args)) });
    table.add_v3(&[must], signature, move |_, args| -> Answer {
        Ok(must_body(&*regexp::compile(bytes(args, 0)).map_err(Error::call)?, args))
    });
}

/// In backquotes where that can be.
fn quoted(pattern: &[u8]) -> String {
    match std::str::from_utf8(pattern) {
        Ok(text) if crate::format::quote::can_backquote(pattern) => format!("`{text}`"),
        _ => crate::format::quote::quote(pattern),
    }
}
