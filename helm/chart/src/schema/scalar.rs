//! Validation of texts and numbers.

use std::cmp::Ordering;

use switchboard_object::Value;

use super::SchemaNode;
use super::number::{SchemaNumber, count};
use super::problem::{SchemaProblem, quoted};
use super::validate::SchemaValidator;

/// Whether the order of a number and a bound violates the bound.
type BoundTest = fn(Ordering) -> bool;

impl SchemaValidator<'_> {
    pub(super) fn text(&self, node: &SchemaNode, text: &str, problems: &mut Vec<SchemaProblem>) {
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

    pub(super) fn number(&self, node: &SchemaNode, value: &Value, problems: &mut Vec<SchemaProblem>) {
        let Some(number) = SchemaNumber::of(value) else { return };
        let bounds: [(&str, Option<SchemaNumber>, BoundTest); 4] = [
            ("minimum", node.minimum, Ordering::is_lt),
            ("maximum", node.maximum, Ordering::is_gt),
            ("exclusiveMinimum", node.exclusive_minimum, Ordering::is_le),
            ("exclusiveMaximum", node.exclusive_maximum, Ordering::is_ge),
        ];
        for (name, bound, breaks) in bounds {
            if let Some(bound) = bound.filter(|bound| breaks(number.compare(*bound))) {
                problems.push(self.problem(format!(
                    "{name}: got {}, want {}",
                    number.to_english(),
                    bound.to_english()
                )));
            }
        }
        if let Some(of) = node.multiple_of.filter(|of| !number.is_multiple_of(*of)) {
            problems.push(self.problem(format!("multipleOf: got {}, want {}", number.to_english(), of.to_english())));
        }
    }
}
