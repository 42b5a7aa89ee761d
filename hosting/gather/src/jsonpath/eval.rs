//! Evaluation of paths.

use serde_json::Value;

use super::{JsonPathError, JsonPathMatch, JsonPathStep, LocationSegment, MAX_VISITS};

/// Number of visited values.
#[derive(Default)]
pub(super) struct VisitCount(usize);

impl VisitCount {
    fn count(&mut self) -> Result<(), JsonPathError> {
        self.0 += 1;
        if self.0 > MAX_VISITS {
            return Err(JsonPathError(format!("the path visits more than {MAX_VISITS} values")));
        }
        Ok(())
    }
}

pub(super) fn find<'a>(steps: &[JsonPathStep], root: &'a Value) -> Result<Vec<JsonPathMatch<'a>>, JsonPathError> {
    let mut found = Vec::new();
    walk(steps, root, root, &mut Vec::new(), &mut VisitCount::default(), &mut found)?;
    Ok(found)
}

/// Returns one value, or multi-operator-manager's error with the missing key.
pub(super) fn find_single(steps: &[JsonPathStep], root: &Value) -> Result<Value, JsonPathError> {
    let mut value = root;
    for step in steps {
        let JsonPathStep::Key(key) = step else { continue };
        value = match value {
            Value::Object(fields) => fields.get(key).ok_or_else(|| JsonPathError(format!("unknown key {key}")))?,
            Value::Array(items) => {
                let index: usize = key.parse().map_err(|_| {
                    JsonPathError(format!(
                        "could not select value, invalid key: expected number but got {key} (string)"
                    ))
                })?;
                items.get(index).ok_or_else(|| JsonPathError(format!("index {index} out of bounds")))?
            }
            _ => {
                return Err(JsonPathError(
                    "unsupported value type for select, expected map[string]interface{} or []interface{}".into(),
                ));
            }
        };
    }
    Ok(value.clone())
}

pub(super) fn walk<'a>(
    steps: &[JsonPathStep],
    root: &'a Value,
    value: &'a Value,
    location: &mut Vec<LocationSegment>,
    visits: &mut VisitCount,
    found: &mut Vec<JsonPathMatch<'a>>,
) -> Result<(), JsonPathError> {
    visits.count()?;
    let Some((step, rest)) = steps.split_first() else {
        found.push(JsonPathMatch { location: location.clone(), value });
        return Ok(());
    };
    if matches!(step, JsonPathStep::Recursive) {
        walk(rest, root, value, location, visits, found)?;
    }
    for (segment, next) in select(step, root, value, visits) {
        location.push(segment);
        // After `..`, the same step applies to all descendants.
        let then = if matches!(step, JsonPathStep::Recursive) { steps } else { rest };
        walk(then, root, next, location, visits, found)?;
        location.pop();
    }
    Ok(())
}

fn select<'a>(
    step: &JsonPathStep,
    root: &Value,
    value: &'a Value,
    visits: &mut VisitCount,
) -> Vec<(LocationSegment, &'a Value)> {
    match step {
        JsonPathStep::Key(key) => child_by_key(value, key).into_iter().collect(),
        JsonPathStep::Union(keys) => keys.iter().filter_map(|key| child_by_key(value, key)).collect(),
        JsonPathStep::Star | JsonPathStep::Recursive => children(value),
        JsonPathStep::Filter(filter) => {
            children(value).into_iter().filter(|(_, child)| filter.matches(root, child, visits)).collect()
        }
        JsonPathStep::Range { min, max, step } => sliced(value, *min, *max, *step),
    }
}

fn child_by_key<'a>(value: &'a Value, key: &str) -> Option<(LocationSegment, &'a Value)> {
    match value {
        Value::Object(fields) => fields.get(key).map(|child| (LocationSegment::Key(key.to_string()), child)),
        Value::Array(items) => {
            let index: usize = key.parse().ok()?;
            items.get(index).map(|child| (LocationSegment::Index(index), child))
        }
        _ => None,
    }
}

fn children(value: &Value) -> Vec<(LocationSegment, &Value)> {
    match value {
        Value::Object(fields) => fields.iter().map(|(key, child)| (LocationSegment::Key(key.clone()), child)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, child)| (LocationSegment::Index(index), child)).collect()
        }
        _ => Vec::new(),
    }
}

fn sliced(value: &Value, min: i64, max: i64, step: i64) -> Vec<(LocationSegment, &Value)> {
    let Value::Array(items) = value else { return Vec::new() };
    if min > max {
        return Vec::new();
    }
    let length = items.len() as i64;
    let within = |end: i64| if end < 0 { (length + end).max(0) } else { end.min(length) };
    let (min, max) = (within(min), within(max));
    let every = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX).max(1);
    let indices: Vec<i64> =
        if step < 0 { (min..max).rev().step_by(every).collect() } else { (min..max).step_by(every).collect() };
    let item = |index: i64| usize::try_from(index).ok().and_then(|i| Some((LocationSegment::Index(i), items.get(i)?)));
    indices.into_iter().filter_map(item).collect()
}
