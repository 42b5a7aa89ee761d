//! Judging by several schemas at once: `allOf`, `anyOf`, `oneOf`, `not`, `if`, and what is left over.

use switchboard_object::Value;

use super::Node;
use super::problem::Problem;
use super::validate::{Judge, Open};

impl<'a> Judge<'a> {
    pub(super) fn combined(&mut self, node: &'a Node, value: &Value, open: &mut Open, problems: &mut Vec<Problem>) {
        if let Some(place) = node.not
            && self.same(place, value, open).is_ok()
        {
            problems.push(self.problem("'not' failed".to_string()));
        }
        let failed: Vec<Problem> =
            node.all_of.iter().filter_map(|place| self.same(*place, value, open).err()).collect();
        if !failed.is_empty() {
            problems.push(self.because("'allOf' failed", failed));
        }
        if !node.any_of.is_empty() {
            let mut failed = Vec::new();
            for place in &node.any_of {
                failed.extend(self.same(*place, value, open).err());
            }
            if failed.len() == node.any_of.len() {
                problems.push(self.because("'anyOf' failed", failed));
            }
        }
        if !node.one_of.is_empty() {
            problems.extend(self.one_of(node, value, open));
        }
        if let Some((condition, then, otherwise)) = node.condition {
            let next = if self.same(condition, value, open).is_ok() { then } else { otherwise };
            problems.extend(next.and_then(|place| self.same(place, value, open).err()));
        }
    }

    fn because(&self, text: &str, causes: Vec<Problem>) -> Problem {
        let mut problem = self.problem(text.to_string());
        problem.causes = causes;
        problem
    }

    fn one_of(&mut self, node: &'a Node, value: &Value, open: &mut Open) -> Option<Problem> {
        let (mut failed, mut matched) = (Vec::new(), None);
        for (index, place) in node.one_of.iter().enumerate() {
            match (self.same(*place, value, open), matched) {
                (Err(problem), None) => failed.push(problem),
                (Err(_), Some(_)) => {}
                (Ok(()), None) => matched = Some(index),
                (Ok(()), Some(first)) => {
                    return Some(self.problem(format!("'oneOf' failed, subschemas {first}, {index} matched")));
                }
            }
        }
        matched.is_none().then(|| self.because("'oneOf' failed, none matched", failed))
    }

    pub(super) fn unevaluated(&mut self, node: &'a Node, value: &Value, open: &mut Open, problems: &mut Vec<Problem>) {
        if let (Some(place), Value::Object(map)) = (node.unevaluated_properties, value) {
            for name in std::mem::take(&mut open.properties) {
                problems.extend(map.get(&name).and_then(|value| self.part(place, value, name).err()));
            }
        }
        if let (Some(place), Value::Array(list)) = (node.unevaluated_items, value) {
            for index in std::mem::take(&mut open.items) {
                problems.extend(self.part(place, &list[index], index.to_string()).err());
            }
        }
    }
}
