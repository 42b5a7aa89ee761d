//! Regular expressions. Those whose names do not begin with `must` panic in Go, which changes the text of the error.

use std::rc::Rc;

use super::{Answer, Table, bytes, int, sig};
use crate::error::Error;
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
    pair(table, ["regexReplaceAll", "mustRegexReplaceAll"], sig!(STRING, STRING, STRING => STRING), |regexp, args| {
        Value::string(regexp.replace_all(bytes(args, 1), bytes(args, 2)))
    });
    let literal = ["regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"];
    pair(table, literal, sig!(STRING, STRING, STRING => STRING), |regexp, args| {
        Value::string(regexp.replace_all_literal(bytes(args, 1), bytes(args, 2)))
    });
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

fn pair(
    table: &mut Table,
    [name, must]: [&str; 2],
    signature: &'static Signature,
    body: impl Fn(&Regexp, &[Value]) -> Value + Clone + Send + Sync + 'static,
) {
    let must_body = body.clone();
    table.add(&[name], signature, move |_, args| -> Answer {
        let pattern = bytes(args, 0);
        let panicked = |why: String| Error::call(format!("regexp: Compile({}): {why}", quoted(pattern)));
        Ok(body(&*regexp::compile(pattern).map_err(panicked)?, args))
    });
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
