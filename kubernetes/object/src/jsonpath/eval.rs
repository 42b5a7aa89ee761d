//! Evaluation of templates.

use std::borrow::Cow;

use super::compare::compare;
use super::{JsonPathTemplateError, MAX_NESTING, MAX_VISITS, PathNode, SliceParam};
use crate::{Value, go_format};

type NodeResults<'a> = Vec<Cow<'a, Value>>;
type PathResult<T> = Result<T, JsonPathTemplateError>;

const NULL: &Value = &Value::Null;

pub(super) fn find<'a>(nodes: &[PathNode], value: &'a Value, allow_missing: bool) -> PathResult<Vec<NodeResults<'a>>> {
    let mut evaluation = Evaluation { nodes, allow_missing, begun: 0, inside: 0, ended: 0, last_end: None, visits: 0 };
    evaluation.find(0, Cow::Borrowed(value))
}

fn fail<T>(words: impl Into<String>) -> PathResult<T> {
    Err(JsonPathTemplateError(words.into()))
}

struct Evaluation<'n> {
    nodes: &'n [PathNode],
    allow_missing: bool,
    // Number of ranges that the current action opened and closed, and number of open ranges.
    begun: usize,
    inside: usize,
    ended: usize,
    last_end: Option<usize>,
    visits: usize,
}

impl<'n> Evaluation<'n> {
    fn find<'a>(&mut self, from: usize, value: Cow<'a, Value>) -> PathResult<Vec<NodeResults<'a>>> {
        let current = vec![value];
        let mut all = Vec::new();
        let mut index = from;
        while let Some(node) = self.nodes.get(index) {
            let results = self.walk(current.clone(), node)?;
            if self.ended > 0 && self.ended <= self.inside {
                self.ended -= 1;
                self.last_end = Some(index);
                break;
            }
            if self.begun > 0 {
                self.begun -= 1;
                all.extend(self.range(index, results)?);
                if let Some(end) = self.last_end.filter(|end| *end > index) {
                    index = end;
                }
            } else {
                all.push(results);
            }
            index += 1;
        }
        Ok(all)
    }

    // Evaluates the nodes after `index`, up to the end of the range, for each result.
    fn range<'a>(&mut self, index: usize, results: NodeResults<'a>) -> PathResult<Vec<NodeResults<'a>>> {
        self.inside += 1;
        if self.inside > MAX_NESTING {
            return fail("ranges are nested too deeply");
        }
        let mut all = Vec::new();
        if results.is_empty() {
            self.find(index + 1, Cow::Borrowed(NULL))?;
        }
        for value in results {
            all.extend(self.find(index + 1, value)?);
        }
        self.inside -= 1;
        Ok(all)
    }

    fn walk<'a>(&mut self, input: NodeResults<'a>, node: &PathNode) -> PathResult<NodeResults<'a>> {
        self.visits += input.len() + 1;
        if self.visits > MAX_VISITS {
            return fail(format!("the expression visits more than {MAX_VISITS} values"));
        }
        let constant = |value: Value| Ok(vec![Cow::Owned(value); input.len()]);
        match node {
            PathNode::List(nodes) => self.list(input, nodes),
            PathNode::Text(text) => Ok(vec![Cow::Owned(Value::from(text.as_str()))]),
            PathNode::Field(name) => self.field(input, name),
            PathNode::Array(params) => array(input, params),
            PathNode::Filter { left, right, operator } => self.filter(input, left, right, operator),
            PathNode::Integer(value) => constant(Value::from(*value)),
            PathNode::Float(value) => constant(Value::from(*value)),
            PathNode::Bool(value) => constant(Value::from(*value)),
            PathNode::Wildcard => Ok(input.into_iter().flat_map(children).collect()),
            PathNode::Recursive => self.recursive(input),
            PathNode::Union(members) => {
                let mut all = Vec::new();
                for member in members {
                    all.extend(self.list(input.clone(), member)?);
                }
                Ok(all)
            }
            PathNode::Identifier(name) => self.identifier(input, name),
        }
    }

    fn list<'a>(&mut self, input: NodeResults<'a>, nodes: &[PathNode]) -> PathResult<NodeResults<'a>> {
        nodes.iter().try_fold(input, |current, node| self.walk(current, node))
    }

    fn identifier<'a>(&mut self, input: NodeResults<'a>, name: &str) -> PathResult<NodeResults<'a>> {
        match name {
            "range" => {
                self.begun += 1;
                Ok(input)
            }
            "end" if self.inside > 0 => {
                self.ended += 1;
                Ok(Vec::new())
            }
            "end" => fail("not in range, nothing to end"),
            other => fail(format!("unrecognized identifier {other}")),
        }
    }

    fn field<'a>(&self, input: NodeResults<'a>, name: &str) -> PathResult<NodeResults<'a>> {
        if input.is_empty() {
            return Ok(input);
        }
        let found: NodeResults<'a> = input.into_iter().filter_map(|value| get(value, name)).collect();
        if found.is_empty() && !self.allow_missing { fail(format!("{name} is not found")) } else { Ok(found) }
    }

    // Returns every value that has children, parents first.
    fn recursive<'a>(&mut self, input: NodeResults<'a>) -> PathResult<NodeResults<'a>> {
        let mut found = Vec::new();
        let mut stack: NodeResults<'a> = input.into_iter().rev().collect();
        while let Some(value) = stack.pop() {
            self.visits += 1;
            if self.visits > MAX_VISITS {
                return fail(format!("the expression visits more than {MAX_VISITS} values"));
            }
            let below: NodeResults<'a> = children(value.clone()).collect();
            if !below.is_empty() {
                found.push(value);
                stack.extend(below.into_iter().rev());
            }
        }
        Ok(found)
    }

    fn filter<'a>(
        &mut self,
        input: NodeResults<'a>,
        left: &[PathNode],
        right: &[PathNode],
        operator: &str,
    ) -> PathResult<NodeResults<'a>> {
        let mut kept = Vec::new();
        for value in input {
            if !value.is_array() {
                let shown = go_format::value(&value);
                return fail(format!("{shown} is not array or slice and cannot be filtered"));
            }
            for item in children(value) {
                let lefts = self.list(vec![item.clone()], left);
                if operator == "exists" {
                    if lefts.is_ok_and(|found| !found.is_empty()) {
                        kept.push(item);
                    }
                    continue;
                }
                let Some(left) = single(lefts?)? else { continue };
                let Some(right) = single(self.list(vec![item.clone()], right)?)? else { continue };
                if compare(operator, &left, &right).map_err(JsonPathTemplateError)? {
                    kept.push(item);
                }
            }
        }
        Ok(kept)
    }
}

fn single(found: NodeResults<'_>) -> PathResult<Option<Cow<'_, Value>>> {
    if found.len() > 1 { fail("can only compare one element at a time") } else { Ok(found.into_iter().next()) }
}

fn get<'a>(value: Cow<'a, Value>, name: &str) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
        Cow::Owned(Value::Object(mut map)) => map.remove(name).map(Cow::Owned),
        Cow::Owned(_) => None,
    }
}

fn children<'a>(value: Cow<'a, Value>) -> Box<dyn Iterator<Item = Cow<'a, Value>> + 'a> {
    match value {
        Cow::Borrowed(Value::Object(map)) => Box::new(map.values().map(Cow::Borrowed)),
        Cow::Borrowed(Value::Array(list)) => Box::new(list.iter().map(Cow::Borrowed)),
        // Go iterates over the bytes of a string.
        Cow::Borrowed(Value::String(text)) => Box::new(text.bytes().map(|b| Cow::Owned(Value::from(b)))),
        Cow::Owned(Value::String(text)) => Box::new(text.into_bytes().into_iter().map(|b| Cow::Owned(Value::from(b)))),
        Cow::Owned(Value::Array(list)) => Box::new(list.into_iter().map(Cow::Owned)),
        Cow::Owned(Value::Object(map)) => Box::new(map.into_iter().map(|(_, v)| Cow::Owned(v))),
        _ => Box::new(std::iter::empty()),
    }
}

fn array<'a>(input: NodeResults<'a>, params: &[SliceParam; 3]) -> PathResult<NodeResults<'a>> {
    let mut found = Vec::new();
    for value in input {
        if value.is_null() {
            continue;
        }
        let Some(length) = value.as_array().map(Vec::len) else {
            return fail(format!("{} is not array or slice", go_format::type_name(&value)));
        };
        let Some((start, end)) = bounds(params, length as i64)? else { return Ok(found) };
        let step = match params[2] {
            SliceParam { known: true, value, .. } if value <= 0 => return fail("step must be > 0"),
            SliceParam { known: true, value, .. } => value as usize,
            _ => 1,
        };
        found.extend(children(value).take(end).skip(start).step_by(step));
    }
    Ok(found)
}

// Returns the bounds of a slice; `None` if the slice is empty.
fn bounds(params: &[SliceParam; 3], length: i64) -> PathResult<Option<(usize, usize)>> {
    let [mut start, mut end, _] = *params;
    if start.value < 0 {
        start.value += length;
    }
    if !end.known {
        end.value = length;
    }
    if end.value < 0 || (end.value == 0 && end.derived) {
        end.value += length;
    }
    if start.value == end.value {
        return Ok(None);
    }
    let outside = |index: i64| fail(format!("array index out of bounds: index {index}, length {length}"));
    if start.value >= length || start.value < 0 {
        return outside(start.value);
    }
    if end.value > length || end.value < 0 {
        return outside(end.value - 1);
    }
    if start.value > end.value {
        return fail(format!("starting index {} is greater than ending index {}", start.value, end.value));
    }
    Ok(Some((start.value as usize, end.value as usize)))
}
