//! Label selectors: conjunctions of requirements on keys and values.

use std::fmt;

use super::{LabelSelectorError, parse};
use crate::field::FieldError;
use crate::{Map, Value, name};

/// Operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SelectorOperator {
    /// `key in (a,b)`.
    In,
    /// `key notin (a,b)`; an absent key matches.
    NotIn,
    /// `key=a`.
    Equals,
    /// `key==a`.
    DoubleEquals,
    /// `key!=a`; an absent key matches.
    NotEquals,
    /// `key`.
    Exists,
    /// `!key`.
    DoesNotExist,
    /// `key>1`.
    GreaterThan,
    /// `key<1`.
    LessThan,
}

/// Requirement of a label selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: SelectorOperator,
    values: Vec<String>,
}

/// Conjunction of requirements, or the selector that matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

impl LabelSelector {
    /// Returns the selector that matches every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Returns the selector that matches no object, the meaning of an absent `LabelSelector` object.
    pub fn nothing() -> Self {
        Self { requirements: Vec::new(), nothing: true }
    }

    /// Parses the string form, as in `?labelSelector=`.
    ///
    /// # Errors
    /// With the API server's text when the text is not a selector.
    pub fn parse(text: &str) -> Result<Self, LabelSelectorError> {
        Ok(Self::of(parse::requirements(text)?))
    }

    /// Parses the object form: `{"matchLabels": .., "matchExpressions": ..}`. An absent object selects nothing, an
    /// empty object selects everything.
    ///
    /// # Errors
    /// With the API server's text when a requirement is not valid.
    pub fn from_object(object: Option<&Value>) -> Result<Self, LabelSelectorError> {
        let Some(object) = object.filter(|o| !o.is_null()) else { return Ok(Self::nothing()) };
        let mut requirements = Vec::new();
        for (key, value) in object.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_string();
            requirements.push(Requirement::new(key.clone(), SelectorOperator::Equals, vec![value])?);
        }
        for expression in object.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            requirements.push(Requirement::from_expression(expression)?);
        }
        Ok(Self::of(requirements))
    }

    /// Returns a selector of objects that have all of these labels, the form of a Service's `spec.selector`.
    pub fn from_labels(labels: &Map) -> Self {
        let equals = |(key, value): (&String, &Value)| Requirement {
            key: key.clone(),
            operator: SelectorOperator::Equals,
            values: vec![value.as_str().unwrap_or_default().to_string()],
        };
        Self::of(labels.iter().map(equals).collect())
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements, nothing: false }
    }

    /// Whether the selector matches an object with these labels.
    pub fn matches(&self, labels: Option<&Map>) -> bool {
        let lookup = |key: &str| labels.and_then(|l| l.get(key)).map(|v| v.as_str().unwrap_or_default());
        !self.nothing && self.requirements.iter().all(|r| r.matches(lookup(&r.key)))
    }

    /// Whether the selector matches every object.
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Returns the requirements, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }
}

impl Requirement {
    /// Creates a requirement, if key, operator and values fit together.
    ///
    /// # Errors
    /// With the API server's text when they do not.
    pub fn new(key: String, operator: SelectorOperator, values: Vec<String>) -> Result<Self, LabelSelectorError> {
        let mut errors = Vec::new();
        let key_errors = name::qualified_name(&key);
        if !key_errors.is_empty() {
            errors.push(FieldError::invalid("key", key.as_str(), key_errors.join("; ")));
        }
        check_values(operator, &values, &mut errors);
        for (index, value) in values.iter().enumerate() {
            let value_errors = name::label_value(value);
            if !value_errors.is_empty() {
                let path = format!("values[{index}][{key}]");
                errors.push(FieldError::invalid(path, value.as_str(), value_errors.join("; ")));
            }
        }
        if errors.is_empty() { Ok(Self { key, operator, values }) } else { Err(aggregate(&errors)) }
    }

    fn from_expression(expression: &Value) -> Result<Self, LabelSelectorError> {
        let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
        let operator = match text("operator") {
            "In" => SelectorOperator::In,
            "NotIn" => SelectorOperator::NotIn,
            "Exists" => SelectorOperator::Exists,
            "DoesNotExist" => SelectorOperator::DoesNotExist,
            other => {
                let quoted = crate::quote::quote(other);
                return Err(LabelSelectorError(format!("{quoted} is not a valid label selector operator")));
            }
        };
        let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
        let values = values.map(|v| v.as_str().unwrap_or_default().to_string()).collect();
        Self::new(text("key").to_string(), operator, values)
    }

    /// Returns the label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the operator.
    pub fn operator(&self) -> SelectorOperator {
        self.operator
    }

    /// Returns the values to compare with; empty for `Exists` and `DoesNotExist`.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    fn matches(&self, label: Option<&str>) -> bool {
        let listed = |label: &str| self.values.iter().any(|v| v == label);
        match self.operator {
            SelectorOperator::In | SelectorOperator::Equals | SelectorOperator::DoubleEquals => {
                label.is_some_and(listed)
            }
            SelectorOperator::NotIn | SelectorOperator::NotEquals => !label.is_some_and(listed),
            SelectorOperator::Exists => label.is_some(),
            SelectorOperator::DoesNotExist => label.is_none(),
            SelectorOperator::GreaterThan | SelectorOperator::LessThan => {
                let bound = self.values.first().and_then(|v| integer(v));
                match (label.and_then(integer), bound) {
                    (Some(value), Some(bound)) if self.operator == SelectorOperator::GreaterThan => value > bound,
                    (Some(value), Some(bound)) => value < bound,
                    _ => false,
                }
            }
        }
    }
}

fn check_values(operator: SelectorOperator, values: &[String], errors: &mut Vec<FieldError>) {
    let wrong = match operator {
        SelectorOperator::In | SelectorOperator::NotIn if values.is_empty() => {
            "for 'in', 'notin' operators, values set can't be empty"
        }
        SelectorOperator::Equals | SelectorOperator::DoubleEquals | SelectorOperator::NotEquals
            if values.len() != 1 =>
        {
            "exact-match compatibility requires one single value"
        }
        SelectorOperator::Exists | SelectorOperator::DoesNotExist if !values.is_empty() => {
            "values set must be empty for exists and does not exist"
        }
        SelectorOperator::GreaterThan | SelectorOperator::LessThan if values.len() != 1 => {
            "for 'Gt', 'Lt' operators, exactly one value is required"
        }
        _ => "",
    };
    if !wrong.is_empty() {
        // In Go an empty list is nil and prints as null.
        let shown = if values.is_empty() { Value::Null } else { Value::from(values) };
        errors.push(FieldError::invalid("values", shown, wrong));
    }
    if matches!(operator, SelectorOperator::GreaterThan | SelectorOperator::LessThan) {
        for (index, value) in values.iter().enumerate().filter(|(_, v)| integer(v).is_none()) {
            let words = "for 'Gt', 'Lt' operators, the value must be an integer";
            errors.push(FieldError::invalid(format!("values[{index}]"), value.as_str(), words));
        }
    }
}

fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

fn aggregate(errors: &[FieldError]) -> LabelSelectorError {
    let mut texts: Vec<String> = Vec::new();
    for error in errors.iter().map(ToString::to_string) {
        if !texts.contains(&error) {
            texts.push(error);
        }
    }
    LabelSelectorError(match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    })
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut values = self.values.clone();
        values.sort();
        let values = values.join(",");
        match self.operator {
            SelectorOperator::In => write!(f, "{} in ({values})", self.key),
            SelectorOperator::NotIn => write!(f, "{} notin ({values})", self.key),
            SelectorOperator::Equals => write!(f, "{}={values}", self.key),
            SelectorOperator::DoubleEquals => write!(f, "{}=={values}", self.key),
            SelectorOperator::NotEquals => write!(f, "{}!={values}", self.key),
            SelectorOperator::GreaterThan => write!(f, "{}>{values}", self.key),
            SelectorOperator::LessThan => write!(f, "{}<{values}", self.key),
            SelectorOperator::Exists => f.write_str(&self.key),
            SelectorOperator::DoesNotExist => write!(f, "!{}", self.key),
        }
    }
}

/// Formats the string form. The selector that matches nothing prints as the empty string, as in Go.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}
