//! Filters: what is compared, and how.

use std::cmp::Ordering;

use regex::Regex;
use serde_json::Value;

use super::Step;
use super::eval::{Visits, walk};

#[derive(Clone, Debug)]
pub(super) enum Expression {
    Any(Vec<Expression>),
    All(Vec<Expression>),
    Not(Box<Expression>),
    Holds(Operand),
    Compare(Operand, Comparison, Operand),
    Matches { operand: Operand, pattern: Regex, wanted: bool },
}

#[derive(Clone, Debug)]
pub(super) enum Operand {
    Constant(Value),
    Current(Vec<Step>),
    Root(Vec<Step>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Match,
    NoMatch,
}

/// What a filter does with an item it cannot judge: it is passed over.
struct Unknown;

impl Comparison {
    /// Longer signs first.
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

impl Expression {
    pub fn compare(left: Operand, comparison: Comparison, right: Operand) -> Result<Self, String> {
        let wanted = comparison == Comparison::Match;
        if !wanted && comparison != Comparison::NoMatch {
            return Ok(Self::Compare(left, comparison, right));
        }
        let Operand::Constant(Value::String(pattern)) = right else {
            return Err("behind =~ stands a quoted pattern".into());
        };
        let pattern = Regex::new(&pattern).map_err(|error| format!("`{pattern}` is no pattern: {error}"))?;
        Ok(Self::Matches { operand: left, pattern, wanted })
    }

    /// Whether an item passes. Whatever cannot be judged, such as an item that lacks the field, does not.
    pub fn passes(&self, root: &Value, item: &Value, visits: &mut Visits) -> bool {
        self.judge(root, item, visits).unwrap_or(false)
    }

    fn judge(&self, root: &Value, item: &Value, visits: &mut Visits) -> Result<bool, Unknown> {
        match self {
            Self::Any(any) => {
                for one in any {
                    if one.judge(root, item, visits)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::All(all) => {
                for one in all {
                    if !one.judge(root, item, visits)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Not(one) => one.judge(root, item, visits).map(|truth| !truth),
            Self::Holds(operand) => truth(&operand.value(root, item, visits)?),
            Self::Compare(left, comparison, right) => {
                compare(&left.value(root, item, visits)?, *comparison, &right.value(root, item, visits)?)
            }
            Self::Matches { operand, pattern, wanted } => {
                let value = operand.value(root, item, visits)?;
                let text = value.as_str().ok_or(Unknown)?;
                Ok(pattern.is_match(text) == *wanted)
            }
        }
    }
}

impl Operand {
    fn value(&self, root: &Value, item: &Value, visits: &mut Visits) -> Result<Value, Unknown> {
        let (steps, from) = match self {
            Self::Constant(value) => return Ok(value.clone()),
            Self::Current(steps) => (steps, item),
            Self::Root(steps) => (steps, root),
        };
        let mut found = Vec::new();
        walk(steps, root, from, &mut Vec::new(), visits, &mut found).map_err(|_| Unknown)?;
        if steps.iter().all(Step::is_plain) {
            return found.into_iter().next().map(|found| found.value.clone()).ok_or(Unknown);
        }
        Ok(Value::Array(found.into_iter().map(|found| found.value.clone()).collect()))
    }
}

fn truth(value: &Value) -> Result<bool, Unknown> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        Value::Number(number) => Ok(number.as_f64() != Some(0.0)),
        Value::String(text) if matches!(text.as_str(), "true" | "TRUE") => Ok(true),
        Value::String(text) if matches!(text.as_str(), "false" | "FALSE") => Ok(false),
        _ => Err(Unknown),
    }
}

fn compare(left: &Value, comparison: Comparison, right: &Value) -> Result<bool, Unknown> {
    if matches!(comparison, Comparison::Equal | Comparison::Unequal) {
        let equal = match (left.as_f64(), right.as_f64()) {
            (Some(left), Some(right)) => left == right,
            _ => left == right,
        };
        return Ok(equal == (comparison == Comparison::Equal));
    }
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => number(left)?.partial_cmp(&number(right)?).ok_or(Unknown)?,
    };
    Ok(match comparison {
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        _ => order != Ordering::Less,
    })
}

fn number(value: &Value) -> Result<f64, Unknown> {
    match value {
        Value::String(text) => text.parse().map_err(|_| Unknown),
        other => other.as_f64().ok_or(Unknown),
    }
}
