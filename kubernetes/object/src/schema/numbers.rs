//! Validation of numbers.

use serde_json::Number;

use super::ValueValidation;
use super::check_result::CheckFailure;
use crate::Value;

/// Validates a number.
pub(super) fn failures(
    checks: Option<&ValueValidation>,
    types: &[&str],
    format: Option<&str>,
    number: &Number,
    path: &str,
) -> Vec<CheckFailure> {
    let range = NumberRange { types, format, path };
    let mut failures = range.check(number.as_i64(), number.as_f64().unwrap_or(0.0), "Checked");
    let Some(checks) = checks else { return failures };
    let value = NumberValue { int: number.as_i64(), float: number.as_f64().unwrap_or(0.0), path };
    if let Some(factor) = checks.multiple_of {
        let mut found = range.check(None, factor, "MultipleOf");
        found.extend(value.multiple_of(factor, found.is_empty()));
        failures.extend(found);
    }
    if let Some(least) = checks.minimum {
        let mut found = range.check(None, least, "Minimum boundary");
        let low = |a: f64, b: f64| if checks.exclusive_minimum { a <= b } else { a < b };
        let words = if checks.exclusive_minimum { "greater than" } else { "greater than or equal to" };
        found.extend(value.bound(least, found.is_empty(), low, words));
        failures.extend(found);
    }
    if let Some(most) = checks.maximum {
        let mut found = range.check(None, most, "Maximum boundary");
        let high = |a: f64, b: f64| if checks.exclusive_maximum { a >= b } else { a > b };
        let words = if checks.exclusive_maximum { "less than" } else { "less than or equal to" };
        found.extend(value.bound(most, found.is_empty(), high, words));
        failures.extend(found);
    }
    failures
}

/// Largest float up to which every integer is exact: 2^53 - 1.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Whether a float is an integer that JSON can represent.
pub(super) fn is_whole(f: f64) -> bool {
    f.abs() <= MAX_SAFE && f.fract() == 0.0
}

/// Smallest float above all int64 values.
const INT64_RANGE: f64 = 9_223_372_036_854_775_808.0;

struct NumberRange<'a> {
    types: &'a [&'a str],
    format: Option<&'a str>,
    path: &'a str,
}

impl NumberRange<'_> {
    /// Checks that a number is in the range of its type.
    fn check(&self, int: Option<i64>, float: f64, what: &str) -> Vec<CheckFailure> {
        let as_int = int.or_else(|| (float.fract() == 0.0 && float.abs() < INT64_RANGE).then_some(float as i64));
        let held = match (self.types, self.format) {
            (["integer"], Some("int32")) => as_int.is_some_and(|n| i32::try_from(n).is_ok()),
            (["integer"], _) => as_int.is_some(),
            (["number"], Some("float")) => float.abs() <= f64::from(f32::MAX),
            _ => true,
        };
        if held {
            return Vec::new();
        }
        let kind = self.types.first().copied().unwrap_or("");
        let path = self.path;
        vec![CheckFailure::bare(match self.format {
            Some(format) => format!("{what} value must be of type {kind} with format {format} in {path}"),
            None => format!("{what} value must be of type {kind} (default format) in {path}"),
        })]
    }
}

struct NumberValue<'a> {
    int: Option<i64>,
    float: f64,
    path: &'a str,
}

impl NumberValue<'_> {
    /// Checks a bound. `native` is whether the bound has the value's type, so that integers are compared as integers.
    fn bound(&self, bound: f64, native: bool, fails: impl Fn(f64, f64) -> bool, words: &str) -> Option<CheckFailure> {
        let path = self.path;
        match self.int.filter(|_| native) {
            Some(int) => fails(int as f64, bound.trunc()).then(|| {
                let shown = bound as i64;
                CheckFailure::invalid(path, int, format!("{path} in body should be {words} {shown}"))
            }),
            None => fails(self.float, bound).then(|| {
                let shown = go_float(bound);
                CheckFailure::invalid(path, self.json_value(), format!("{path} in body should be {words} {shown}"))
            }),
        }
    }

    fn multiple_of(&self, factor: f64, native: bool) -> Option<CheckFailure> {
        let path = self.path;
        let not_positive = |shown: String| {
            let text = format!("factor MultipleOf declared for {path} must be positive: {shown}");
            CheckFailure::invalid(path, float_value(factor), text)
        };
        if let Some(int) = self.int.filter(|_| native) {
            let factor = factor as i64;
            if factor <= 0 {
                return Some(not_positive(factor.to_string()));
            }
            let text = format!("{path} in body should be a multiple of {factor}");
            return (int % factor != 0).then(|| CheckFailure::invalid(path, int, text));
        }
        if factor <= 0.0 {
            return Some(not_positive(go_float(factor)));
        }
        let times = if factor < 1.0 { 1.0 / factor * self.float } else { self.float / factor };
        let text = format!("{path} in body should be a multiple of {}", go_float(factor));
        (!nearly_whole(times)).then(|| CheckFailure::invalid(path, self.json_value(), text))
    }

    fn json_value(&self) -> Value {
        float_value(self.float)
    }
}

/// Whether a float is an integer, with Go's tolerance.
fn nearly_whole(f: f64) -> bool {
    const EPSILON: f64 = 1e-9;
    if !f.is_finite() || f.abs() > MAX_SAFE {
        return false;
    }
    let diff = (f - f.trunc()).abs();
    f == f.trunc() || diff < EPSILON || diff / (f.abs() + f.trunc().abs()).min(f64::MAX) < EPSILON
}

/// Formats a float as Go's `%v`.
pub(crate) fn go_float(f: f64) -> String {
    let exponent = if f == 0.0 { 0 } else { f.abs().log10().floor() as i32 };
    if !(-4..21).contains(&exponent) {
        let text = format!("{f:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
        return format!("{digits}e{sign}{power:0>2}");
    }
    format!("{f}")
}

/// Converts floats without a fraction to integers, as Go's encoder does.
pub(super) fn canonical(value: &mut Value) {
    match value {
        Value::Number(n) if n.is_f64() => {
            if let Some(f) = n.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < INT64_RANGE) {
                *value = Value::from(f as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(canonical),
        Value::Object(map) => map.values_mut().for_each(canonical),
        _ => {}
    }
}

fn float_value(f: f64) -> Value {
    if is_whole(f) { Value::from(f as i64) } else { Value::from(f) }
}
