//! Judging a value by a schema, in the validator's order.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use switchboard_object::{Map, Value};

use super::compare::{equal, missing, not_among, twins, type_of};
use super::number::{Decimal, count};
use super::problem::{Problem, joined, quoted, shown};
use super::{Additional, Depends, Node, format};

/// How many schemas may judge one set of values: a small schema can be made to cost more than the age of the world.
const MAX_STEPS: usize = 5_000_000;

/// Whether a number beside a bound breaks it.
type Breaks = fn(Ordering) -> bool;

pub fn check(nodes: &[Node], values: &Value) -> Result<(), Problem> {
    let mut judge = Judge::new(nodes, 0);
    judge.judge(0, values, false).map(|_| ()).map_err(Problem::whole)
}

pub(super) struct Judge<'a> {
    nodes: &'a [Node],
    steps: usize,
    /// The place of the value.
    at: Vec<String>,
    /// The schemas on the way here.
    above: Vec<Step>,
    depth: usize,
    /// The keyword that refers to the next schema, where it does not stand in the one above.
    by: Option<&'static str>,
}

/// A schema on the way to another.
struct Step {
    place: usize,
    /// How deep the value is that it judges.
    depth: usize,
    by: Option<&'static str>,
}

/// What of a value no schema has judged yet; only kept where somebody asks.
#[derive(Default)]
pub(super) struct Open {
    pub properties: BTreeSet<String>,
    pub items: BTreeSet<usize>,
}

impl Open {
    fn of(value: &Value, wanted: bool) -> Self {
        let mut open = Self::default();
        match value {
            Value::Object(map) if wanted => open.properties = map.keys().cloned().collect(),
            Value::Array(list) if wanted => open.items = (0..list.len()).collect(),
            _ => {}
        }
        open
    }

    fn is_empty(&self) -> bool {
        self.properties.is_empty() && self.items.is_empty()
    }

    fn meet(&mut self, other: &Self) {
        self.properties.retain(|name| other.properties.contains(name));
        self.items.retain(|index| other.items.contains(index));
    }
}

impl<'a> Judge<'a> {
    fn new(nodes: &'a [Node], steps: usize) -> Self {
        Self { nodes, steps, at: Vec::new(), above: Vec::new(), depth: 0, by: None }
    }

    fn judge(&mut self, place: usize, value: &Value, caller_needs: bool) -> Result<Open, Problem> {
        let by = self.by.take();
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(self.problem("the schema takes too many steps".to_string()));
        }
        let node: &'a Node = &self.nodes[place];
        let needs = caller_needs || node.unevaluated_properties.is_some() || node.unevaluated_items.is_some();
        let mut open = Open::of(value, needs);
        match node.always {
            Some(true) => return Ok(open),
            Some(false) => return Err(self.problem("false schema".to_string())),
            None => {}
        }
        self.above.push(Step { place, depth: self.depth, by });
        if let Err(problem) = self.no_cycle(node).and_then(|()| self.scalar(node, value)) {
            self.above.pop();
            return Err(problem);
        }
        let mut problems = Vec::new();
        let done = self.parts(node, value, &mut open, &mut problems);
        self.above.pop();
        match done.and(Problem::of(&self.at, problems).map_or(Ok(()), Err)) {
            Ok(()) => Ok(open),
            Err(problem) => Err(problem),
        }
    }

    /// Whether the schema that was just reached judges this value already.
    fn no_cycle(&self, node: &Node) -> Result<(), Problem> {
        let last = self.above.len() - 1;
        let mut same_value =
            self.above[..last].iter().enumerate().rev().take_while(|(_, step)| step.depth == self.depth);
        match same_value.find(|(_, step)| step.place == self.above[last].place) {
            None => Ok(()),
            Some((first, _)) => {
                let (again, first) = (self.keywords(last), self.keywords(first));
                let cycle = format!("both {again} and {first} resolve to {:?} causing reference cycle", node.location);
                Err(self.problem(cycle))
            }
        }
    }

    /// The keywords on the way to one of the schemas.
    fn keywords(&self, to: usize) -> String {
        let location = |step: &Step| self.nodes[step.place].location.as_str();
        let step = |pair: &[Step]| match pair[1].by {
            Some(keyword) => format!("/{keyword}"),
            None => location(&pair[1]).get(location(&pair[0]).len()..).unwrap_or_default().to_string(),
        };
        self.above[..=to].windows(2).map(step).collect()
    }

    pub(super) fn problem(&self, text: String) -> Problem {
        Problem::said(&self.at, text)
    }

    /// Type, constant, enumeration, format: the first that does not hold is all that is said.
    fn scalar(&self, node: &Node, value: &Value) -> Result<(), Problem> {
        if let Some(types) = node.types.as_ref().filter(|types| !types.is_empty()) {
            let got = type_of(value);
            let whole = || Decimal::of(value).is_some_and(Decimal::is_whole);
            if !types.iter().any(|wanted| wanted == got || wanted == "integer" && whole()) {
                return Err(self.problem(format!("got {got}, want {}", types.join(" or "))));
            }
        }
        if let Some(constant) = node.constant.as_ref().filter(|constant| !equal(value, constant)) {
            let nested = constant.is_array() || constant.is_object();
            let text = if nested { "'const' failed".to_string() } else { format!("value must be {}", shown(constant)) };
            return Err(self.problem(text));
        }
        if let Some(values) = node.values.as_ref().filter(|values| !values.iter().any(|v| equal(value, v))) {
            return Err(self.problem(not_among(values)));
        }
        if let (Some(name), Value::String(text)) = (&node.format, value)
            && let Err(problem) = format::check(name, text)
        {
            return Err(self.problem(format!("{} is not valid {name}: {problem}", quoted(text))));
        }
        Ok(())
    }

    fn parts(
        &mut self,
        node: &'a Node,
        value: &Value,
        open: &mut Open,
        problems: &mut Vec<Problem>,
    ) -> Result<(), Problem> {
        if let Some((place, keyword)) = node.reference {
            self.by = Some(keyword);
            let done = self.same(place, value, open).map_err(|problem| problem.referred(&self.at));
            if node.draft < 2019 {
                return done;
            }
            problems.extend(done.err());
        }
        match value {
            Value::Object(map) => self.object(node, map, value, open, problems),
            Value::Array(list) => self.array(node, list, open, problems),
            Value::String(text) => self.text(node, text, problems),
            Value::Number(_) => self.number(node, value, problems),
            _ => {}
        }
        self.combined(node, value, open, problems);
        self.unevaluated(node, value, open, problems);
        Ok(())
    }

    /// Judges the same value by another schema.
    pub(super) fn same(&mut self, place: usize, value: &Value, open: &mut Open) -> Result<(), Problem> {
        let judged = self.judge(place, value, !open.is_empty())?;
        open.meet(&judged);
        Ok(())
    }

    /// Judges a part of the value.
    pub(super) fn part(&mut self, place: usize, value: &Value, key: String) -> Result<(), Problem> {
        self.at.push(key);
        self.depth += 1;
        let judged = self.judge(place, value, false).map(|_| ());
        self.depth -= 1;
        self.at.pop();
        judged
    }

    fn object(&mut self, node: &'a Node, map: &Map, value: &Value, open: &mut Open, problems: &mut Vec<Problem>) {
        let mut say = |text: String| problems.push(Problem::said(&self.at, text));
        if let Some(least) = node.min_properties.filter(|least| map.len() < *least) {
            say(format!("minProperties: got {}, want {}", count(map.len()), count(least)));
        }
        if let Some(most) = node.max_properties.filter(|most| map.len() > *most) {
            say(format!("maxProperties: got {}, want {}", count(map.len()), count(most)));
        }
        let missing = missing(map, &node.required);
        match missing.as_slice() {
            [] => {}
            [one] => say(format!("missing property {}", quoted(one))),
            several => say(format!("missing properties {}", joined(several))),
        }
        for (name, depends) in node.dependencies.iter().filter(|(name, _)| map.contains_key(name)) {
            match depends {
                Depends::On(names) => problems.extend(self.required_with(map, name, names)),
                Depends::Fits(place) => problems.extend(self.same(*place, value, open).err()),
            }
        }
        self.properties(node, map, open, problems);
        if let Some(place) = node.property_names {
            for name in map.keys() {
                let mut names = Judge::new(self.nodes, self.steps);
                let judged = names.judge(place, &Value::String(name.clone()), false);
                self.steps = names.steps;
                if let Err(problem) = judged {
                    // The validator forgets where it is when it judges a name.
                    let mut told = Problem::said(&[], format!("invalid propertyName {}", quoted(name)));
                    told.causes = problem.whole().causes;
                    problems.push(told);
                }
            }
        }
        for (_, place) in node.dependent_schemas.iter().filter(|(name, _)| map.contains_key(name)) {
            problems.extend(self.same(*place, value, open).err());
        }
        for (name, names) in node.dependent_required.iter().filter(|(name, _)| map.contains_key(name)) {
            problems.extend(self.required_with(map, name, names));
        }
    }

    fn required_with(&self, map: &Map, name: &str, names: &[String]) -> Option<Problem> {
        let missing = missing(map, names);
        let text = || format!("properties {} required, if {} exists", joined(&missing), quoted(name));
        (!missing.is_empty()).then(|| self.problem(text()))
    }

    fn properties(&mut self, node: &'a Node, map: &Map, open: &mut Open, problems: &mut Vec<Problem>) {
        let mut unknown = Vec::new();
        for (name, value) in map {
            let mut judged = false;
            if let Ok(found) = node.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
                judged = true;
                problems.extend(self.part(node.properties[found].1, value, name.clone()).err());
            }
            for (_, place) in node.pattern_properties.iter().filter(|(pattern, _)| pattern.is_match(name.as_bytes())) {
                judged = true;
                problems.extend(self.part(*place, value, name.clone()).err());
            }
            match &node.additional_properties {
                Some(additional) if !judged => {
                    judged = true;
                    match additional {
                        Additional::Allowed(true) => {}
                        Additional::Allowed(false) => unknown.push(name.clone()),
                        Additional::Fits(place) => problems.extend(self.part(*place, value, name.clone()).err()),
                    }
                }
                _ => {}
            }
            if judged {
                open.properties.remove(name);
            }
        }
        if !unknown.is_empty() {
            problems.push(self.problem(format!("additional properties {} not allowed", joined(&unknown))));
        }
    }

    fn array(&mut self, node: &'a Node, list: &[Value], open: &mut Open, problems: &mut Vec<Problem>) {
        let mut say = |text: String| problems.push(Problem::said(&self.at, text));
        if let Some(least) = node.min_items.filter(|least| list.len() < *least) {
            say(format!("minItems: got {}, want {}", count(list.len()), count(least)));
        }
        if let Some(most) = node.max_items.filter(|most| list.len() > *most) {
            say(format!("maxItems: got {}, want {}", count(list.len()), count(most)));
        }
        if let Some((first, second)) = node.unique_items.then(|| twins(list)).flatten() {
            say(format!("items at {} and {} are equal", count(first), count(second)));
        }
        let first = node.item_list.as_deref().unwrap_or_default();
        let mut judged = first.len().min(list.len());
        for (index, (place, item)) in first.iter().zip(list).enumerate() {
            problems.extend(self.part(*place, item, index.to_string()).err());
        }
        let rest = node.items.or(match node.additional_items {
            Some(Additional::Fits(place)) => Some(place),
            _ => None,
        });
        if let Some(place) = rest {
            for (index, item) in list.iter().enumerate().skip(judged) {
                problems.extend(self.part(place, item, index.to_string()).err());
            }
            judged = list.len();
        } else if let Some(Additional::Allowed(allowed)) = node.additional_items {
            if !allowed && judged != list.len() {
                let left = count(list.len() - judged);
                problems.push(self.problem(format!("last {left} additionalItem(s) not allowed")));
            }
            judged = list.len();
        }
        open.items.retain(|index| *index >= judged);
        if let Some(place) = node.contains {
            self.contains(node, place, list, open, problems);
        }
    }

    fn contains(&mut self, node: &Node, place: usize, list: &[Value], open: &mut Open, problems: &mut Vec<Problem>) {
        let (mut errors, mut matched) = (Vec::new(), Vec::new());
        for (index, item) in list.iter().enumerate() {
            match self.part(place, item, index.to_string()) {
                Ok(()) => {
                    matched.push(index);
                    if node.draft >= 2020 {
                        open.items.remove(&index);
                    }
                }
                Err(problem) => errors.push(problem),
            }
        }
        let places = matched.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let found = format!("but matched {} items at {places}", matched.len());
        let too_few = match node.min_contains {
            Some(least) if matched.len() < least && matched.is_empty() => {
                Some(format!("min {least} items required to match contains schema, but none matched"))
            }
            Some(least) if matched.len() < least => {
                Some(format!("min {least} items required to match contains schema, {found}"))
            }
            None if matched.is_empty() => Some("no items match contains schema".to_string()),
            _ => None,
        };
        if let Some(text) = too_few {
            let mut problem = self.problem(text);
            problem.causes = errors;
            problems.push(problem);
        }
        if let Some(most) = node.max_contains.filter(|most| matched.len() > *most) {
            problems.push(self.problem(format!("max {most} items required to match contains schema, {found}")));
        }
    }

    fn text(&self, node: &Node, text: &str, problems: &mut Vec<Problem>) {
        let length = text.chars().count();
        if let Some(least) = node.min_length.filter(|least| length < *least) {
            problems.push(self.problem(format!("minLength: got {}, want {}", count(length), count(least))));
        }
        if let Some(most) = node.max_length.filter(|most| length > *most) {
            problems.push(self.problem(format!("maxLength: got {}, want {}", count(length), count(most))));
        }
        if let Some((pattern, _)) = node.pattern.as_ref().filter(|(_, regex)| !regex.is_match(text.as_bytes())) {
            problems.push(self.problem(format!("{} does not match pattern {}", quoted(text), quoted(pattern))));
        }
    }

    fn number(&self, node: &Node, value: &Value, problems: &mut Vec<Problem>) {
        let Some(number) = Decimal::of(value) else { return };
        let bounds: [(&str, Option<Decimal>, Breaks); 4] = [
            ("minimum", node.minimum, Ordering::is_lt),
            ("maximum", node.maximum, Ordering::is_gt),
            ("exclusiveMinimum", node.exclusive_minimum, Ordering::is_le),
            ("exclusiveMaximum", node.exclusive_maximum, Ordering::is_ge),
        ];
        for (name, bound, breaks) in bounds {
            if let Some(bound) = bound.filter(|bound| breaks(number.compare(*bound))) {
                problems.push(self.problem(format!("{name}: got {}, want {}", number.english(), bound.english())));
            }
        }
        if let Some(of) = node.multiple_of.filter(|of| !number.is_multiple_of(*of)) {
            problems.push(self.problem(format!("multipleOf: got {}, want {}", number.english(), of.english())));
        }
    }
}
