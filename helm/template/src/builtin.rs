//! Go's own functions.

mod compare;
mod escape;
mod index;

use crate::error::Error;
use crate::exec::{Execution, Slot};
use crate::format;
use crate::function::Signature;
use crate::value::{Type, Value};

/// A function that every template has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
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

const ONE_OR_MORE: Signature = Signature::variadic(&[Type::REFLECT, Type::REFLECT], Type::REFLECT);
const ONE: Signature = Signature::new(&[Type::REFLECT], Type::BOOL);
const LENGTH: Signature = Signature::new(&[Type::REFLECT], Type::INT);
const TWO: Signature = Signature::new(&[Type::REFLECT, Type::REFLECT], Type::BOOL);
const EQUAL: Signature = Signature::variadic(&[Type::REFLECT, Type::REFLECT], Type::BOOL);
const TEXT: Signature = Signature::variadic(&[Type::ANY], Type::STRING);
const FORMAT: Signature = Signature::variadic(&[Type::STRING, Type::ANY], Type::STRING);

impl Builtin {
    pub(crate) fn named(name: &str) -> Option<Builtin> {
        Some(match name {
            "and" => Builtin::And,
            "or" => Builtin::Or,
            "not" => Builtin::Not,
            "call" => Builtin::Call,
            "html" => Builtin::Html,
            "js" => Builtin::Js,
            "urlquery" => Builtin::UrlQuery,
            "index" => Builtin::Index,
            "slice" => Builtin::Slice,
            "len" => Builtin::Len,
            "print" => Builtin::Print,
            "printf" => Builtin::Printf,
            "println" => Builtin::Println,
            "eq" => Builtin::Eq,
            "ne" => Builtin::Ne,
            "lt" => Builtin::Lt,
            "le" => Builtin::Le,
            "gt" => Builtin::Gt,
            "ge" => Builtin::Ge,
            _ => return None,
        })
    }

    pub(crate) fn signature(self) -> &'static Signature {
        match self {
            Builtin::And | Builtin::Or | Builtin::Call | Builtin::Index | Builtin::Slice => &ONE_OR_MORE,
            Builtin::Not => &ONE,
            Builtin::Len => &LENGTH,
            Builtin::Html | Builtin::Js | Builtin::UrlQuery | Builtin::Print | Builtin::Println => &TEXT,
            Builtin::Printf => &FORMAT,
            Builtin::Eq => &EQUAL,
            Builtin::Ne | Builtin::Lt | Builtin::Le | Builtin::Gt | Builtin::Ge => &TWO,
        }
    }

    /// Runs the function on arguments that fit its signature. `and`, `or` and `call` are the caller's.
    pub(crate) fn run(self, args: &[Slot]) -> Result<Slot, Error> {
        let bool = |answer: bool| Ok(Slot::concrete(Value::Bool(answer)));
        match self {
            Builtin::Not => bool(!args[0].value.is_true()),
            Builtin::Index => index::index(&args[0], &args[1..]),
            Builtin::Slice => index::slice(&args[0], &args[1..]),
            Builtin::Len => index::length(&args[0]).map(|length| Slot::concrete(Value::Int(length as i64))),
            Builtin::Eq => bool(compare::equal(&args[0].value, &args[1..])?),
            Builtin::Ne => bool(!compare::equal(&args[0].value, &args[1..])?),
            Builtin::Lt => bool(compare::less(&args[0].value, &args[1].value)?),
            Builtin::Le => bool(compare::less_or_equal(&args[0].value, &args[1..])?),
            Builtin::Gt => bool(!compare::less_or_equal(&args[0].value, &args[1..])?),
            Builtin::Ge => bool(!compare::less(&args[0].value, &args[1].value)?),
            // `and`, `or` and `call` are the caller's, and what makes text has a function of its own.
            _ => Err(Error::call("not a function of values")),
        }
    }

    /// Whether it makes a text of its arguments.
    pub(crate) fn is_text(self) -> bool {
        use Builtin::{Html, Js, Print, Printf, Println, UrlQuery};
        matches!(self, Print | Printf | Println | Html | Js | UrlQuery)
    }

    /// Prints arguments that fit the signature, and escapes the text where that is asked for.
    pub(crate) fn text(self, execution: &mut Execution<'_>, values: &[Value]) -> Result<Value, Error> {
        let text = execution.capture(|execution| {
            let (out, limit) = execution.output();
            // The text itself may be as long as the output, wherever it will go.
            let end = limit.saturating_add(out.len());
            let outcome = match (self, values) {
                (Builtin::Printf, [Value::String(text), values @ ..]) => format::printf(out, text, values, end),
                (Builtin::Println, values) => format::println(out, values, end),
                (Builtin::Print, values) => format::print(out, values, end),
                // Those that escape print nil as an action does.
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
            Builtin::Html => escape::html(text),
            Builtin::Js => escape::js(&text),
            Builtin::UrlQuery => escape::query(&text),
            _ => text,
        }))
    }
}
