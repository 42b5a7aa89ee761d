//! Regular expression functions. In Go, those whose names do not begin with `must` panic, which changes the error text.

use std::rc::Rc;

use super::{FunctionResult, FunctionTable, bytes, int, sig};
use crate::error::Error;
use crate::exec::Execution;
use crate::function::Signature;
use crate::sprig::regexp::{self, Regexp, RegexpError, SearchBudget};
use crate::value::{GoSlice, ReflectType, Value};

pub(super) fn add(table: &mut FunctionTable) {
    table.add(&["regexMatch"], sig!(STRING, STRING => BOOL), |execution, args| {
        match regexp::compile(execution, bytes(args, 0)) {
            Ok(regexp) => {
                execution.charge(regexp.steps(bytes(args, 1).len()))?;
                Ok(Value::Bool(regexp.is_match(bytes(args, 1))))
            }
            Err(RegexpError::Syntax(_)) => Ok(Value::Bool(false)),
            Err(RegexpError::OverBudget(error)) => Err(error),
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
            let mut budget = SearchBudget::new(execution.steps_left());
            let found = regexp.find_all(bytes(args, 1), match_limit(execution, int(args, 2)), &mut budget);
            execution.charge(budget.spent)?;
            execution.charge_memory(bytes(args, 1).len())?;
            execution.charge_list(found.as_ref().map_or(0, Vec::len) as u64)?;
            Ok(strings(found))
        },
    );
    pair(table, ["regexFind", "mustRegexFind"], sig!(STRING, STRING => STRING), |_, regexp, args| {
        Ok(Value::string(regexp.find(bytes(args, 1)).unwrap_or_default()))
    });
    add_replace(table, ["regexReplaceAll", "mustRegexReplaceAll"], Regexp::replace_all);
    add_replace(table, ["regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"], Regexp::replace_all_literal);
    pair(table, ["regexSplit", "mustRegexSplit"], sig!(STRING, STRING, INT => STRINGS), |execution, regexp, args| {
        let mut budget = SearchBudget::new(execution.steps_left());
        let most = match_limit(execution, int(args, 2));
        let parts = regexp.split(bytes(args, 1), most, bytes(args, 0).is_empty(), &mut budget);
        execution.charge(budget.spent)?;
        execution.charge_memory(bytes(args, 1).len())?;
        execution.charge_list(parts.as_ref().map_or(0, Vec::len) as u64)?;
        Ok(strings(parts))
    });
    table.add_v3(&["regexQuoteMeta"], sig!(STRING => STRING), |_, args| {
        Ok(Value::string(regexp::quote_meta(bytes(args, 0))))
    });
}

/// Returns the number of matches to search for: the requested one, or one more than a list may have.
fn match_limit(execution: &Execution<'_>, requested: i64) -> i64 {
    let limit = (execution.options().limits.output_bytes / size_of::<Value>()) as i64 + 1;
    if (0..limit).contains(&requested) { requested } else { limit }
}

/// Creates a `[]string`, which is nil for `None`.
fn strings(found: Option<Vec<&[u8]>>) -> Value {
    match found {
        Some(found) => Value::strings(found),
        None => Value::List(ReflectType::STRINGS, Rc::new(GoSlice::nil())),
    }
}

type ReplaceFn = fn(&Regexp, &[u8], &[u8], usize, &mut SearchBudget) -> Option<Vec<u8>>;

/// Adds a function and its must form. The result may be much longer than the input.
fn add_replace(table: &mut FunctionTable, names: [&str; 2], replace: ReplaceFn) {
    pair(table, names, sig!(STRING, STRING, STRING => STRING), move |execution, regexp, args| {
        let limit = execution.options().limits.output_bytes;
        let mut budget = SearchBudget::new(execution.steps_left());
        let text = replace(regexp, bytes(args, 1), bytes(args, 2), limit, &mut budget);
        execution.charge(budget.spent)?;
        let text = text.ok_or_else(|| Error::call(format!("result is larger than the limit of {limit} bytes")))?;
        execution.charge_bytes(text.len())?;
        Ok(Value::string(text))
    });
}

/// Compiles the first argument and charges for searching the second one.
fn compile_charged(execution: &mut Execution<'_>, args: &[Value], wrong: fn(&[u8], String) -> Error) -> CompileResult {
    let pattern = bytes(args, 0);
    let regexp = regexp::compile(execution, pattern).map_err(|refused| match refused {
        RegexpError::Syntax(why) => wrong(pattern, why),
        RegexpError::OverBudget(error) => error,
    })?;
    execution.charge(regexp.steps(bytes(args, 1).len()))?;
    Ok(regexp)
}

type CompileResult = Result<Rc<Regexp>, Error>;

fn must_compile(execution: &mut Execution<'_>, args: &[Value]) -> CompileResult {
    compile_charged(execution, args, |_, why| Error::call(why))
}

fn panic_error(pattern: &[u8], why: String) -> Error {
    Error::call(format!("regexp: Compile({}): {why}", quoted(pattern)))
}

fn pair(
    table: &mut FunctionTable,
    [name, must]: [&str; 2],
    signature: &'static Signature,
    body: impl Fn(&mut Execution<'_>, &Regexp, &[Value]) -> FunctionResult + Clone + Send + Sync + 'static,
) {
    let must_body = body.clone();
    table.add(&[name], signature, move |execution, args| {
        let regexp = compile_charged(execution, args, panic_error)?;
        body(execution, &regexp, args)
    });
    table.add_v3(&[must], signature, move |execution, args| {
        let regexp = must_compile(execution, args)?;
        must_body(execution, &regexp, args)
    });
}

/// Quotes an expression, with backquotes if possible.
fn quoted(pattern: &[u8]) -> String {
    match std::str::from_utf8(pattern) {
        Ok(text) if switchboard_object::quote::can_backquote(pattern) => format!("`{text}`"),
        _ => switchboard_object::quote::quote_bytes(pattern),
    }
}
