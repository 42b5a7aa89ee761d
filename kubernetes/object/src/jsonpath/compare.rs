//! Comparisons in filters. Only values of the same kind can be compared, as in Go's templates.

use std::cmp::Ordering;

use crate::Value;

const BAD_TYPE: &str = "invalid type for comparison";
const BAD_PAIR: &str = "incompatible types for comparison";

#[derive(Clone, Copy, PartialEq, Eq)]
enum BasicKind {
    Bool,
    Integer,
    Float,
    Text,
}

/// Whether `left operator right` holds.
pub(super) fn compare(operator: &str, left: &Value, right: &Value) -> Result<bool, String> {
    match operator {
        "==" => equal(left, right),
        "!=" => equal(left, right).map(|same| !same),
        "<" => less(left, right),
        ">=" => less(left, right).map(|less| !less),
        "<=" => Ok(less(left, right)? || equal(left, right)?),
        ">" => Ok(!(less(left, right)? || equal(left, right)?)),
        other => Err(format!("unrecognized filter operator {other}")),
    }
}

fn kinds(left: &Value, right: &Value) -> Result<BasicKind, String> {
    let (left, right) = (kind(left)?, kind(right)?);
    if left == right { Ok(left) } else { Err(BAD_PAIR.to_string()) }
}

fn kind(value: &Value) -> Result<BasicKind, String> {
    match value {
        Value::Bool(_) => Ok(BasicKind::Bool),
        Value::Number(n) if n.is_f64() => Ok(BasicKind::Float),
        Value::Number(_) => Ok(BasicKind::Integer),
        Value::String(_) => Ok(BasicKind::Text),
        _ => Err(BAD_TYPE.to_string()),
    }
}

fn equal(left: &Value, right: &Value) -> Result<bool, String> {
    kinds(left, right).map(|_| left == right)
}

fn less(left: &Value, right: &Value) -> Result<bool, String> {
    let order = match kinds(left, right)? {
        BasicKind::Bool => return Err(BAD_TYPE.to_string()),
        BasicKind::Integer => left.as_i64().cmp(&right.as_i64()),
        BasicKind::Float => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
        BasicKind::Text => left.as_str().cmp(&right.as_str()),
    };
    Ok(order == Ordering::Less)
}
