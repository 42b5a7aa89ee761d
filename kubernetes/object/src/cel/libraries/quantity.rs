//! Quantities.

use std::sync::Arc;

use crate::cel::value::{CelValue, EvalError, EvalResult};
use crate::quantity::Quantity;

pub(in crate::cel) fn parse<'a>(text: &str) -> EvalResult<'a> {
    Quantity::parse(text)
        .map(|quantity| CelValue::Quantity(Arc::new(quantity)))
        .map_err(|error| EvalError::text(error.to_string()))
}

pub(in crate::cel) fn method<'a>(name: &str, quantity: &Quantity, rest: &[CelValue<'a>]) -> Option<EvalResult<'a>> {
    let made = |quantity: Quantity| Some(Ok(CelValue::Quantity(Arc::new(quantity))));
    Some(Ok(match (name, rest) {
        ("sign", []) => CelValue::Int(i64::from(quantity.sign())),
        ("isGreaterThan", [CelValue::Quantity(other)]) => CelValue::Bool(*quantity > **other),
        ("isLessThan", [CelValue::Quantity(other)]) => CelValue::Bool(*quantity < **other),
        ("compareTo", [CelValue::Quantity(other)]) => CelValue::Int(quantity.cmp(other) as i64),
        ("asApproximateFloat", []) => CelValue::Double(quantity.to_f64()),
        ("isInteger", []) => CelValue::Bool(quantity.as_integer().is_some()),
        ("asInteger", []) => {
            let value = quantity.as_integer().map(CelValue::Int);
            return Some(value.ok_or_else(|| EvalError::text("cannot convert value to integer")));
        }
        ("add", [CelValue::Quantity(other)]) => return made(quantity.plus(other)),
        ("add", [CelValue::Int(n)]) => return made(quantity.plus(&Quantity::from_integer(*n))),
        ("sub", [CelValue::Quantity(other)]) => return made(quantity.minus(other)),
        ("sub", [CelValue::Int(n)]) => return made(quantity.minus(&Quantity::from_integer(*n))),
        _ => return None,
    }))
}
