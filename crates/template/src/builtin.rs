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
    pub(crate) fn run(self, execution: &mut Execution<'_>, args: &[Slot]) -> Result<Slot, Error> {
        let bool = |answer: bool| Ok(Slot::concrete(Value::Bool(answer)));
        match self {
            Builtin::And | Builtin::Or | Builtin::Call => Err(Error::call("unreachable")),
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
            text => text.text(execution, args),
        }
    }

    fn text(self, execution: &mut Execution<'_>, args: &[Slot]) -> Result<Slot, Error> {
        let values: Vec<Value> = args.iter().map(|arg| arg.value.clone()).collect();
        let limit = execution.options().limits.output_bytes;
        let mut out = Vec::new();
        match (self, values.as_slice()) {
            (Builtin::Printf, [Value::String(text), values @ ..]) => format::printf(&mut out, text, values, limit)?,
            (Builtin::Println, values) => format::println(&mut out, values, limit)?,
            (_, values) => format::print(&mut out, values, limit)?,
        }
        execution.charge_bytes(out.len())?;
        let out = match self {
            Builtin::Html => escape::html(out),
            Builtin::Js => escape::js(out),
            Builtin::UrlQuery => escape::query(&out),
            _ => out,
        };
        Ok(Slot::concrete(Value::String(out.into())))
    }
}
