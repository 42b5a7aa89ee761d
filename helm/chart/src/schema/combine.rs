//! Validation by several schemas at once: `allOf`, `anyOf`, `oneOf`, `not`, `if`, and the unevaluated keywords.

use switchboard_object::Value;

use super::SchemaNode;
use super::problem::SchemaProblem;
use super::validate::{SchemaValidator, Unevaluated};

impl<'a> SchemaValidator<'a> {
    pub(super) fn check_combinators(
        &mut self,
        node: &'a SchemaNode,
        value: &Value,
        open: &mut Unevaluated,
        problems: &mut Vec<SchemaProblem>,
    ) {
        if let Some(place) = node.not
            && self.validate_same(place, value, open).is_ok()
        {
            problems.push(self.problem("'not' failed".to_string()));
        }
        let failed: Vec<SchemaProblem> =
            node.all_of.iter().filter_map(|place| self.validate_same(*place, value, open).err()).collect();
        if !failed.is_empty() {
            problems.push(self.problem_with_causes("'allOf' failed", failed));
        }
        if !node.any_of.is_empty() {
            let mut failed = Vec::new();
            for place in &node.any_of {
                failed.extend(self.validate_same(*place, value, open).err());
            }
            if failed.len() == node.any_of.len() {
                problems.push(self.problem_with_causes("'anyOf' failed", failed));
            }
        }
        if !node.one_of.is_empty() {
            problems.extend(self.one_of(node, value, open));
        }
        if let Some((condition, then, otherwise)) = node.condition {
            let next = if self.validate_same(condition, value, open).is_ok() { then } else { otherwise };
            problems.extend(next.and_then(|place| self.validate_same(place, value, open).err()));
        }
    }

    fn problem_with_causes(&self, text: &str, causes: Vec<SchemaProblem>) -> SchemaProblem {
        let mut problem = self.problem(text.to_string());
        problem.causes = causes;
        problem
    }

    fn one_of(&mut self, node: &'a SchemaNode, value: &Value, open: &mut Unevaluated) -> Option<SchemaProblem> {
        let (mut failed, mut matched) = (Vec::new(), None);
        for (index, place) in node.one_of.iter().enumerate() {
            match (self.validate_same(*place, value, open), matched) {
                (Err(problem), None) => failed.push(problem),
                (Err(_), Some(_)) => {}
                (Ok(()), None) => matched = Some(index),
                (Ok(()), Some(first)) => {
                    return Some(self.problem(format!("'oneOf' failed, subschemas {first}, {index} matched")));
                }
            }
        }
        matched.is_none().then(|| self.problem_with_causes("'oneOf' failed, none matched", failed))
    }

    pub(super) fn unevaluated(
        &mut self,
        node: &'a SchemaNode,
        value: &Value,
        open: &mut Unevaluated,
        problems: &mut Vec<SchemaProblem>,
    ) {
        if let (Some(place), Value::Object(map)) = (node.unevaluated_properties, value) {
            for name in std::mem::take(&mut open.properties) {
                problems.extend(map.get(&name).and_then(|value| self.validate_part(place, value, name).err()));
            }
        }
        if let (Some(place), Value::Array(list)) = (node.unevaluated_items, value) {
            for index in std::mem::take(&mut open.items) {
                problems.extend(self.validate_part(place, &list[index], index.to_string()).err());
            }
        }
    }
}
