//! Built-in functions of Go's text/template.

mod compare;
mod escape;
mod index;

use crate::error::Error;
use crate::exec::{Execution, ReflectValue};
use crate::format;
use crate::function::Signature;
use crate::value::{ReflectType, Value};

/// A function that every template can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltinFunction {
    And,
    Or,
    Not,
    Call,
    Html,
    Js,
    UrlQuery,
    Index,
    Slice,
    Len,
    Print,
    Printf,
    Println,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

const ONE_OR_MORE: Signature = Signature::variadic(&[ReflectType::REFLECT, ReflectType::REFLECT], ReflectType::REFLECT);
const ONE: Signature = Signature::new(&[ReflectType::REFLECT], ReflectType::BOOL);
const LENGTH: Signature = Signature::new(&[ReflectType::REFLECT], ReflectType::INT);
const TWO: Signature = Signature::new(&[ReflectType::REFLECT, ReflectType::REFLECT], ReflectType::BOOL);
const EQUAL: Signature = Signature::variadic(&[ReflectType::REFLECT, ReflectType::REFLECT], ReflectType::BOOL);
const TEXT: Signature = Signature::variadic(&[ReflectType::ANY], ReflectType::STRING);
const FORMAT: Signature = Signature::variadic(&[ReflectType::STRING, ReflectType::ANY], ReflectType::STRING);

impl BuiltinFunction {
    pub(crate) fn by_name(name: &str) -> Option<BuiltinFunction> {
        Some(match name {
            "and" => BuiltinFunction::And,
            "or" => BuiltinFunction::Or,
            "not" => BuiltinFunction::Not,
            "call" => BuiltinFunction::Call,
            "html" => BuiltinFunction::Html,
            "js" => BuiltinFunction::Js,
            "urlquery" => BuiltinFunction::UrlQuery,
            "index" => BuiltinFunction::Index,
            "slice" => BuiltinFunction::Slice,
            "len" => BuiltinFunction::Len,
            "print" => BuiltinFunction::Print,
            "printf" => BuiltinFunction::Printf,
            "println" => BuiltinFunction::Println,
            "eq" => BuiltinFunction::Eq,
            "ne" => BuiltinFunction::Ne,
            "lt" => BuiltinFunction::Lt,
            "le" => BuiltinFunction::Le,
            "gt" => BuiltinFunction::Gt,
            "ge" => BuiltinFunction::Ge,
            _ => return None,
        })
    }

    pub(crate) fn signature(self) -> &'static Signature {
        match self {
            BuiltinFunction::And
            | BuiltinFunction::Or
            | BuiltinFunction::Call
            | BuiltinFunction::Index
            | BuiltinFunction::Slice => &ONE_OR_MORE,
            BuiltinFunction::Not => &ONE,
            BuiltinFunction::Len => &LENGTH,
            BuiltinFunction::Html
            | BuiltinFunction::Js
            | BuiltinFunction::UrlQuery
            | BuiltinFunction::Print
            | BuiltinFunction::Println => &TEXT,
            BuiltinFunction::Printf => &FORMAT,
            BuiltinFunction::Eq => &EQUAL,
            BuiltinFunction::Ne
            | BuiltinFunction::Lt
            | BuiltinFunction::Le
            | BuiltinFunction::Gt
            | BuiltinFunction::Ge => &TWO,
        }
    }

    /// Runs the function on arguments that fit its signature. The caller handles `and`, `or` and `call`.
    pub(crate) fn run(self, args: &[ReflectValue]) -> Result<ReflectValue, Error> {
        let bool = |answer: bool| Ok(ReflectValue::concrete(Value::Bool(answer)));
        match self {
            BuiltinFunction::Not => bool(!args[0].value.is_true()),
            BuiltinFunction::Index => index::index(&args[0], &args[1..]),
            BuiltinFunction::Slice => index::slice(&args[0], &args[1..]),
            BuiltinFunction::Len => {
                index::length(&args[0]).map(|length| ReflectValue::concrete(Value::Int(length as i64)))
            }
            BuiltinFunction::Eq => bool(compare::equal(&args[0].value, &args[1..])?),
            BuiltinFunction::Ne => bool(!compare::equal(&args[0].value, &args[1..])?),
            BuiltinFunction::Lt => bool(compare::less(&args[0].value, &args[1].value)?),
            BuiltinFunction::Le => bool(compare::less_or_equal(&args[0].value, &args[1..])?),
            BuiltinFunction::Gt => bool(!compare::less_or_equal(&args[0].value, &args[1..])?),
            BuiltinFunction::Ge => bool(!compare::less(&args[0].value, &args[1].value)?),
            // The caller handles `and`, `or` and `call`, and [`BuiltinFunction::text`] the functions that return text.
            _ => Err(Error::call("not a function on values")),
        }
    }

    /// Whether the function returns a text made of its arguments.
    pub(crate) fn is_text(self) -> bool {
        use BuiltinFunction::{Html, Js, Print, Printf, Println, UrlQuery};
        matches!(self, Print | Printf | Println | Html | Js | UrlQuery)
    }

    /// Prints arguments that fit the signature, and escapes the text for `html`, `js` and `urlquery`.
    pub(crate) fn text(self, execution: &mut Execution<'_>, values: &[Value]) -> Result<Value, Error> {
        let text = execution.capture(|execution| {
            let (out, limit) = execution.output();
            // The text alone may be as long as the output limit, wherever it is used.
            let end = limit.saturating_add(out.len());
            let outcome = match (self, values) {
                (BuiltinFunction::Printf, [Value::String(text), values @ ..]) => format::printf(out, text, values, end),
                (BuiltinFunction::Println, values) => format::println(out, values, end),
                (BuiltinFunction::Print, values) => format::print(out, values, end),
                // The escaping functions print nil as an action does.
                (_, values) => {
                    let shown = |value: &Value| match value {
                        Value::Nil => Value::string("<no value>"),
                        value => value.clone(),
                    };
                    format::print(out, &values.iter().map(shown).collect::<Vec<_>>(), end)
                }
            };
            outcome.map_err(|refusal| Error::call(refusal.message(limit)))
        })?;
        execution.charge_bytes(text.len())?;
        Ok(Value::String(match self {
            BuiltinFunction::Html => escape::html(text),
            BuiltinFunction::Js => escape::js(&text),
            BuiltinFunction::UrlQuery => escape::query(&text),
            _ => text,
        }))
    }
}
