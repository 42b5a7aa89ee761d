//! From steps to values.

use serde_json::Value;

use super::{Found, JsonPathError, MAX_VISITS, Segment, Step};

/// How many values were visited.
#[derive(Default)]
pub(super) struct Visits(usize);

impl Visits {
    fn count(&mut self) -> Result<(), JsonPathError> {
        self.0 += 1;
        if self.0 > MAX_VISITS {
            return Err(JsonPathError(format!("the path visits more than {MAX_VISITS} values")));
        }
        Ok(())
    }
}

pub(super) fn find<'a>(steps: &[Step], root: &'a Value) -> Result<Vec<Found<'a>>, JsonPathError> {
    let mut found = Vec::new();
    walk(steps, root, root, &mut Vec::new(), &mut Visits::default(), &mut found)?;
    Ok(found)
}

/// One value, or which key is missing, in the original's words.
pub(super) fn plain(steps: &[Step], root: &Value) -> Result<Value, JsonPathError> {
    let mut value = root;
    for step in steps {
        let Step::Key(key) = step else { continue };
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
    steps: &[Step],
    root: &'a Value,
    value: &'a Value,
    location: &mut Vec<Segment>,
    visits: &mut Visits,
    found: &mut Vec<Found<'a>>,
) -> Result<(), JsonPathError> {
    visits.count()?;
    let Some((step, rest)) = steps.split_first() else {
        found.push(Found { location: location.clone(), value });
        return Ok(());
    };
    if matches!(step, Step::Recursive) {
        walk(rest, root, value, location, visits, found)?;
    }
    for (segment, next) in chosen(step, root, value, visits) {
        location.push(segment);
        // Behind `..` everything below is looked at with the same step again.
        let then = if matches!(step, Step::Recursive) { steps } else { rest };
        walk(then, root, next, location, visits, found)?;
        location.pop();
    }
    Ok(())
}

fn chosen<'a>(step: &Step, root: &Value, value: &'a Value, visits: &mut Visits) -> Vec<(Segment, &'a Value)> {
    match step {
        Step::Key(key) => keyed(value, key).into_iter().collect(),
        Step::Union(keys) => keys.iter().filter_map(|key| keyed(value, key)).collect(),
        Step::Star | Step::Recursive => children(value),
        Step::Filter(filter) => {
            children(value).into_iter().filter(|(_, child)| filter.passes(root, child, visits)).collect()
        }
        Step::Range { min, max, step } => sliced(value, *min, *max, *step),
    }
}

fn keyed<'a>(value: &'a Value, key: &str) -> Option<(Segment, &'a Value)> {
    match value {
        Value::Object(fields) => fields.get(key).map(|child| (Segment::Key(key.to_string()), child)),
        Value::Array(items) => {
            let index: usize = key.parse().ok()?;
            items.get(index).map(|child| (Segment::Index(index), child))
        }
        _ => None,
    }
}

fn children(value: &Value) -> Vec<(Segment, &Value)> {
    match value {
        Value::Object(fields) => fields.iter().map(|(key, child)| (Segment::Key(key.clone()), child)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, child)| (Segment::Index(index), child)).collect(),
        _ => Vec::new(),
    }
}

fn sliced(value: &Value, min: i64, max: i64, step: i64) -> Vec<(Segment, &Value)> {
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
    let item = |index: i64| usize::try_from(index).ok().and_then(|i| Some((Segment::Index(i), items.get(i)?)));
    indices.into_iter().filter_map(item).collect()
}
