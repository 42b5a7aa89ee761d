//! Quantities.

use std::sync::Arc;

use crate::cel::value::{Fail, Outcome, Val};
use crate::quantity::Quantity;

pub(in crate::cel) fn parse<'a>(text: &str) -> Outcome<'a> {
    Quantity::parse(text)
        .map(|quantity| Val::Quantity(Arc::new(quantity)))
        .map_err(|error| Fail::text(error.to_string()))
}

pub(in crate::cel) fn method<'a>(name: &str, quantity: &Quantity, rest: &[Val<'a>]) -> Option<Outcome<'a>> {
    let made = |quantity: Quantity| Some(Ok(Val::Quantity(Arc::new(quantity))));
    Some(Ok(match (name, rest) {
        ("sign", []) => Val::Int(i64::from(quantity.sign())),
        ("isGreaterThan", [Val::Quantity(other)]) => Val::Bool(*quantity > **other),
        ("isLessThan", [Val::Quantity(other)]) => Val::Bool(*quantity < **other),
        ("compareTo", [Val::Quantity(other)]) => Val::Int(quantity.cmp(other) as i64),
        ("asApproximateFloat", []) => Val::Double(quantity.to_f64()),
        ("isInteger", []) => Val::Bool(quantity.as_integer().is_some()),
        ("asInteger", []) => {
            let value = quantity.as_integer().map(Val::Int);
            return Some(value.ok_or_else(|| Fail::text("cannot convert value to integer")));
        }
        ("add", [Val::Quantity(other)]) => return made(quantity.plus(other)),
        ("add", [Val::Int(n)]) => return made(quantity.plus(&Quantity::from_integer(*n))),
        ("sub", [Val::Quantity(other)]) => return made(quantity.minus(other)),
        ("sub", [Val::Int(n)]) => return made(quantity.minus(&Quantity::from_integer(*n))),
        _ => return None,
    }))
}
