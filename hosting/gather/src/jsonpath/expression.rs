//! Filter expressions.

use std::cmp::Ordering;

use regex::Regex;
use serde_json::Value;

use super::JsonPathStep;
use super::eval::{VisitCount, walk};

#[derive(Clone, Debug)]
pub(super) enum FilterExpression {
    Any(Vec<FilterExpression>),
    All(Vec<FilterExpression>),
    Not(Box<FilterExpression>),
    Holds(FilterOperand),
    Compare(FilterOperand, ComparisonOperator, FilterOperand),
    Matches { operand: FilterOperand, pattern: Regex, wanted: bool },
}

#[derive(Clone, Debug)]
pub(super) enum FilterOperand {
    Constant(Value),
    Current(Vec<JsonPathStep>),
    Root(Vec<JsonPathStep>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonOperator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Match,
    NoMatch,
}

/// Error for an item that a filter cannot evaluate. Such items are skipped.
struct Undecidable;

impl ComparisonOperator {
    /// Longer operators come first.
    pub const ALL: [(&'static str, Self); 8] = [
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("=~", Self::Match),
        ("!~", Self::NoMatch),
        ("<", Self::Less),
        (">", Self::Greater),
    ];
}

impl FilterExpression {
    pub fn compare(left: FilterOperand, comparison: ComparisonOperator, right: FilterOperand) -> Result<Self, String> {
        let wanted = comparison == ComparisonOperator::Match;
        if !wanted && comparison != ComparisonOperator::NoMatch {
            return Ok(Self::Compare(left, comparison, right));
        }
        let FilterOperand::Constant(Value::String(pattern)) = right else {
            return Err("`=~` requires a quoted pattern".into());
        };
        let pattern = Regex::new(&pattern).map_err(|error| format!("`{pattern}` is not a valid pattern: {error}"))?;
        Ok(Self::Matches { operand: left, pattern, wanted })
    }

    /// Whether an item matches. An item that cannot be evaluated, for example because it lacks the field, does not
    /// match.
    pub fn matches(&self, root: &Value, item: &Value, visits: &mut VisitCount) -> bool {
        self.evaluate(root, item, visits).unwrap_or(false)
    }

    fn evaluate(&self, root: &Value, item: &Value, visits: &mut VisitCount) -> Result<bool, Undecidable> {
        match self {
            Self::Any(any) => {
                for one in any {
                    if one.evaluate(root, item, visits)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::All(all) => {
                for one in all {
                    if !one.evaluate(root, item, visits)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Not(one) => one.evaluate(root, item, visits).map(|truth| !truth),
            Self::Holds(operand) => truth(&operand.value(root, item, visits)?),
            Self::Compare(left, comparison, right) => {
                compare(&left.value(root, item, visits)?, *comparison, &right.value(root, item, visits)?)
            }
            Self::Matches { operand, pattern, wanted } => {
                let value = operand.value(root, item, visits)?;
                let text = value.as_str().ok_or(Undecidable)?;
                Ok(pattern.is_match(text) == *wanted)
            }
        }
    }
}

impl FilterOperand {
    fn value(&self, root: &Value, item: &Value, visits: &mut VisitCount) -> Result<Value, Undecidable> {
        let (steps, from) = match self {
            Self::Constant(value) => return Ok(value.clone()),
            Self::Current(steps) => (steps, item),
            Self::Root(steps) => (steps, root),
        };
        let mut found = Vec::new();
        walk(steps, root, from, &mut Vec::new(), visits, &mut found).map_err(|_| Undecidable)?;
        if steps.iter().all(JsonPathStep::is_plain) {
            return found.into_iter().next().map(|found| found.value.clone()).ok_or(Undecidable);
        }
        Ok(Value::Array(found.into_iter().map(|found| found.value.clone()).collect()))
    }
}

fn truth(value: &Value) -> Result<bool, Undecidable> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        Value::Number(number) => Ok(number.as_f64() != Some(0.0)),
        Value::String(text) if matches!(text.as_str(), "true" | "TRUE") => Ok(true),
        Value::String(text) if matches!(text.as_str(), "false" | "FALSE") => Ok(false),
        _ => Err(Undecidable),
    }
}

fn compare(left: &Value, comparison: ComparisonOperator, right: &Value) -> Result<bool, Undecidable> {
    if matches!(comparison, ComparisonOperator::Equal | ComparisonOperator::Unequal) {
        let equal = match (left.as_f64(), right.as_f64()) {
            (Some(left), Some(right)) => left == right,
            _ => left == right,
        };
        return Ok(equal == (comparison == ComparisonOperator::Equal));
    }
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => number(left)?.partial_cmp(&number(right)?).ok_or(Undecidable)?,
    };
    Ok(match comparison {
        ComparisonOperator::Less => order == Ordering::Less,
        ComparisonOperator::LessOrEqual => order != Ordering::Greater,
        ComparisonOperator::Greater => order == Ordering::Greater,
        _ => order != Ordering::Less,
    })
}

fn number(value: &Value) -> Result<f64, Undecidable> {
    match value {
        Value::String(text) => text.parse().map_err(|_| Undecidable),
        other => other.as_f64().ok_or(Undecidable),
    }
}
