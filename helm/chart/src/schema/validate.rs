//! Validation of a value by a schema, in the order of Helm's validator.

use std::collections::BTreeSet;

use switchboard_object::quote::quote;
use switchboard_object::{Map, Value};

use super::compare::{equal, first_duplicate, missing, not_among, type_of};
use super::number::{SchemaNumber, count};
use super::problem::{SchemaProblem, joined, quoted, scalar_text};
use super::{AdditionalRule, DependencyRule, SchemaNode, format};

/// Maximum number of schema evaluations for one set of values. Small schemas can take exponential time.
const MAX_STEPS: usize = 5_000_000;

pub fn check(nodes: &[SchemaNode], values: &Value) -> Result<(), SchemaProblem> {
    let mut validator = SchemaValidator::new(nodes, 0);
    validator.validate(0, values, false).map(|_| ()).map_err(SchemaProblem::into_whole)
}

pub(super) struct SchemaValidator<'a> {
    nodes: &'a [SchemaNode],
    steps: usize,
    /// Location of the value.
    at: Vec<String>,
    /// Schemas on the path to the current one.
    above: Vec<SchemaStep>,
    depth: usize,
    /// Keyword that refers to the next schema, if it is not located in the current one.
    by: Option<&'static str>,
}

/// A schema on the path to another one.
struct SchemaStep {
    place: usize,
    /// Depth of the validated value.
    depth: usize,
    by: Option<&'static str>,
}

/// Parts of a value that no schema has evaluated. They are only tracked if a schema needs them.
#[derive(Default)]
pub(super) struct Unevaluated {
    pub properties: BTreeSet<String>,
    pub items: BTreeSet<usize>,
}

impl Unevaluated {
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

    fn intersect(&mut self, other: &Self) {
        self.properties.retain(|name| other.properties.contains(name));
        self.items.retain(|index| other.items.contains(index));
    }
}

impl<'a> SchemaValidator<'a> {
    fn new(nodes: &'a [SchemaNode], steps: usize) -> Self {
        Self { nodes, steps, at: Vec::new(), above: Vec::new(), depth: 0, by: None }
    }

    fn validate(&mut self, place: usize, value: &Value, caller_needs: bool) -> Result<Unevaluated, SchemaProblem> {
        let by = self.by.take();
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(self.problem("the schema takes too many steps".to_string()));
        }
        let node: &'a SchemaNode = &self.nodes[place];
        let needs = caller_needs || node.unevaluated_properties.is_some() || node.unevaluated_items.is_some();
        let mut open = Unevaluated::of(value, needs);
        match node.always {
            Some(true) => return Ok(open),
            Some(false) => return Err(self.problem("false schema".to_string())),
            None => {}
        }
        self.above.push(SchemaStep { place, depth: self.depth, by });
        if let Err(problem) = self.no_cycle(node).and_then(|()| self.scalar(node, value)) {
            self.above.pop();
            return Err(problem);
        }
        let mut problems = Vec::new();
        let done = self.parts(node, value, &mut open, &mut problems);
        self.above.pop();
        match done.and(SchemaProblem::of(&self.at, problems).map_or(Ok(()), Err)) {
            Ok(()) => Ok(open),
            Err(problem) => Err(problem),
        }
    }

    /// Checks that the schema is not already validating the same value.
    fn no_cycle(&self, node: &SchemaNode) -> Result<(), SchemaProblem> {
        let last = self.above.len() - 1;
        let mut same_value =
            self.above[..last].iter().enumerate().rev().take_while(|(_, step)| step.depth == self.depth);
        match same_value.find(|(_, step)| step.place == self.above[last].place) {
            None => Ok(()),
            Some((first, _)) => {
                let (again, first) = (self.keywords(last), self.keywords(first));
                let cycle =
                    format!("both {again} and {first} resolve to {} causing reference cycle", quote(&node.location));
                Err(self.problem(cycle))
            }
        }
    }

    /// Returns the keywords on the path to one of the schemas.
    fn keywords(&self, to: usize) -> String {
        let location = |step: &SchemaStep| self.nodes[step.place].location.as_str();
        let step = |pair: &[SchemaStep]| match pair[1].by {
            Some(keyword) => format!("/{keyword}"),
            None => location(&pair[1]).get(location(&pair[0]).len()..).unwrap_or_default().to_string(),
        };
        self.above[..=to].windows(2).map(step).collect()
    }

    pub(super) fn problem(&self, text: String) -> SchemaProblem {
        SchemaProblem::new(&self.at, text)
    }

    /// Checks type, constant, enumeration and format. Only the first violation is reported.
    fn scalar(&self, node: &SchemaNode, value: &Value) -> Result<(), SchemaProblem> {
        if let Some(types) = node.types.as_ref().filter(|types| !types.is_empty()) {
            let got = type_of(value);
            let whole = || SchemaNumber::of(value).is_some_and(SchemaNumber::is_whole);
            if !types.iter().any(|wanted| wanted == got || wanted == "integer" && whole()) {
                return Err(self.problem(format!("got {got}, want {}", types.join(" or "))));
            }
        }
        if let Some(constant) = node.constant.as_ref().filter(|constant| !equal(value, constant)) {
            let nested = constant.is_array() || constant.is_object();
            let text =
                if nested { "'const' failed".to_string() } else { format!("value must be {}", scalar_text(constant)) };
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
        node: &'a SchemaNode,
        value: &Value,
        open: &mut Unevaluated,
        problems: &mut Vec<SchemaProblem>,
    ) -> Result<(), SchemaProblem> {
        if let Some((place, keyword)) = node.reference {
            self.by = Some(keyword);
            let done = self.validate_same(place, value, open).map_err(|problem| problem.into_reference(&self.at));
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
        self.check_combinators(node, value, open, problems);
        self.unevaluated(node, value, open, problems);
        Ok(())
    }

    /// Validates the same value by another schema.
    pub(super) fn validate_same(
        &mut self,
        place: usize,
        value: &Value,
        open: &mut Unevaluated,
    ) -> Result<(), SchemaProblem> {
        let unevaluated = self.validate(place, value, !open.is_empty())?;
        open.intersect(&unevaluated);
        Ok(())
    }

    /// Validates a part of the value.
    pub(super) fn validate_part(&mut self, place: usize, value: &Value, key: String) -> Result<(), SchemaProblem> {
        self.at.push(key);
        self.depth += 1;
        let result = self.validate(place, value, false).map(|_| ());
        self.depth -= 1;
        self.at.pop();
        result
    }

    fn object(
        &mut self,
        node: &'a SchemaNode,
        map: &Map,
        value: &Value,
        open: &mut Unevaluated,
        problems: &mut Vec<SchemaProblem>,
    ) {
        let mut say = |text: String| problems.push(SchemaProblem::new(&self.at, text));
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
                DependencyRule::Names(names) => problems.extend(self.required_with(map, name, names)),
                DependencyRule::Schema(place) => problems.extend(self.validate_same(*place, value, open).err()),
            }
        }
        self.properties(node, map, open, problems);
        if let Some(place) = node.property_names {
            for name in map.keys() {
                let mut names = SchemaValidator::new(self.nodes, self.steps);
                let judged = names.validate(place, &Value::String(name.clone()), false);
                self.steps = names.steps;
                if let Err(problem) = judged {
                    // The validator does not report the location when it validates a name.
                    let mut outer = SchemaProblem::new(&[], format!("invalid propertyName {}", quoted(name)));
                    outer.causes = problem.into_whole().causes;
                    problems.push(outer);
                }
            }
        }
        for (_, place) in node.dependent_schemas.iter().filter(|(name, _)| map.contains_key(name)) {
            problems.extend(self.validate_same(*place, value, open).err());
        }
        for (name, names) in node.dependent_required.iter().filter(|(name, _)| map.contains_key(name)) {
            problems.extend(self.required_with(map, name, names));
        }
    }

    fn required_with(&self, map: &Map, name: &str, names: &[String]) -> Option<SchemaProblem> {
        let missing = missing(map, names);
        let text = || format!("properties {} required, if {} exists", joined(&missing), quoted(name));
        (!missing.is_empty()).then(|| self.problem(text()))
    }

    fn properties(
        &mut self,
        node: &'a SchemaNode,
        map: &Map,
        open: &mut Unevaluated,
        problems: &mut Vec<SchemaProblem>,
    ) {
        let mut unknown = Vec::new();
        for (name, value) in map {
            let mut judged = false;
            if let Ok(found) = node.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
                judged = true;
                problems.extend(self.validate_part(node.properties[found].1, value, name.clone()).err());
            }
            for (_, place) in node.pattern_properties.iter().filter(|(pattern, _)| pattern.is_match(name.as_bytes())) {
                judged = true;
                problems.extend(self.validate_part(*place, value, name.clone()).err());
            }
            match &node.additional_properties {
                Some(additional) if !judged => {
                    judged = true;
                    match additional {
                        AdditionalRule::Allowed(true) => {}
                        AdditionalRule::Allowed(false) => unknown.push(name.clone()),
                        AdditionalRule::Schema(place) => {
                            problems.extend(self.validate_part(*place, value, name.clone()).err())
                        }
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

    fn array(
        &mut self,
        node: &'a SchemaNode,
        list: &[Value],
        open: &mut Unevaluated,
        problems: &mut Vec<SchemaProblem>,
    ) {
        let mut say = |text: String| problems.push(SchemaProblem::new(&self.at, text));
        if let Some(least) = node.min_items.filter(|least| list.len() < *least) {
            say(format!("minItems: got {}, want {}", count(list.len()), count(least)));
        }
        if let Some(most) = node.max_items.filter(|most| list.len() > *most) {
            say(format!("maxItems: got {}, want {}", count(list.len()), count(most)));
        }
        if let Some((first, second)) = node.unique_items.then(|| first_duplicate(list)).flatten() {
            say(format!("items at {} and {} are equal", count(first), count(second)));
        }
        let first = node.item_list.as_deref().unwrap_or_default();
        let mut judged = first.len().min(list.len());
        for (index, (place, item)) in first.iter().zip(list).enumerate() {
            problems.extend(self.validate_part(*place, item, index.to_string()).err());
        }
        let rest = node.items.or(match node.additional_items {
            Some(AdditionalRule::Schema(place)) => Some(place),
            _ => None,
        });
        if let Some(place) = rest {
            for (index, item) in list.iter().enumerate().skip(judged) {
                problems.extend(self.validate_part(place, item, index.to_string()).err());
            }
            judged = list.len();
        } else if let Some(AdditionalRule::Allowed(allowed)) = node.additional_items {
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

    fn contains(
        &mut self,
        node: &SchemaNode,
        place: usize,
        list: &[Value],
        open: &mut Unevaluated,
        problems: &mut Vec<SchemaProblem>,
    ) {
        let (mut errors, mut matched) = (Vec::new(), Vec::new());
        for (index, item) in list.iter().enumerate() {
            match self.validate_part(place, item, index.to_string()) {
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
}
