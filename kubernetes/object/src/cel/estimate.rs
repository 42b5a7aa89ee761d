//! Estimated maximum cost of a rule, by the sizes its schema allows.
//!
//! Rules far beyond the budget are refused with the CRD. The estimate is a lower bound of kube-apiserver's: a rule
//! refused here is refused there as well, and a rule that is only somewhat too expensive fails at the run-time budget.

use std::sync::Arc;

use ::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

use super::names::unescape;
use crate::schema::{Schema, SchemaType};

/// Largest request, which bounds sizes that the schema does not bound.
const MAX_REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// Upper bound of a value's size.
#[derive(Clone, Default)]
struct SizeBound {
    schema: Option<Arc<Schema>>,
    /// Number of characters, items or entries.
    size: u64,
}

impl SizeBound {
    fn of(schema: &Arc<Schema>) -> Self {
        let checks = schema.checks.as_deref();
        let given = |limit: Option<i64>| limit.map(|n| u64::try_from(n).unwrap_or(0));
        let size = match schema.kind {
            SchemaType::String => {
                given(checks.and_then(|c| c.max_length)).map_or(MAX_REQUEST_BYTES - 2, |n| n.saturating_mul(4))
            }
            SchemaType::Array => given(checks.and_then(|c| c.max_items)).unwrap_or_else(|| {
                let item = schema.items.as_ref().map_or(1, |items| least_bytes(items));
                (MAX_REQUEST_BYTES - 2) / (item + 1)
            }),
            SchemaType::Object => given(checks.and_then(|c| c.max_properties)).unwrap_or_else(|| {
                let value = schema.additional.as_ref().map_or(1, |values| least_bytes(values));
                (MAX_REQUEST_BYTES - 2) / (value + 6)
            }),
            _ => 1,
        };
        Self { schema: Some(Arc::clone(schema)), size }
    }

    fn field(&self, name: &str) -> Self {
        let schema = self.schema.as_ref();
        let found = schema.and_then(|s| s.properties.get(unescape(name).as_ref()).or(s.additional.as_ref()));
        found.map(SizeBound::of).unwrap_or_default()
    }

    fn element(&self) -> Self {
        let schema = self.schema.as_ref();
        schema.and_then(|s| s.items.as_ref().or(s.additional.as_ref())).map(SizeBound::of).unwrap_or_default()
    }
}

/// Returns the fewest bytes that a value of the schema takes in JSON.
pub(super) fn least_bytes(schema: &Schema) -> u64 {
    match schema.kind {
        SchemaType::Boolean => 4,
        SchemaType::Integer | SchemaType::Number | SchemaType::Any => 1,
        SchemaType::String | SchemaType::Array => 2,
        SchemaType::Object => {
            let needed = schema.required.iter().filter_map(|name| Some((name, schema.properties.get(name)?)));
            let needed = needed.filter(|(_, field)| field.default.is_none());
            2 + needed.map(|(name, field)| name.len() as u64 + least_bytes(field) + 4).sum::<u64>()
        }
    }
}

/// Estimates the cost of a rule on a node. `times` is the number of such nodes an object may have, if that is bounded.
pub(super) fn estimate(rule: &IdedExpr, schema: &Arc<Schema>, times: Option<u64>) -> u64 {
    let mut estimator = CostEstimator { scopes: Vec::new() };
    for name in [super::rules::SELF, super::rules::OLD_SELF] {
        estimator.scopes.push((name.to_string(), SizeBound::of(schema)));
    }
    let times = times.unwrap_or_else(|| MAX_REQUEST_BYTES / (least_bytes(schema) + 1));
    estimator.visit(rule).0.saturating_mul(times)
}

struct CostEstimator {
    scopes: Vec<(String, SizeBound)>,
}

impl CostEstimator {
    fn visit(&mut self, e: &IdedExpr) -> (u64, SizeBound) {
        match &e.expr {
            Expr::Ident(name) => {
                let shape = self.scopes.iter().rev().find(|(n, _)| n == name).map(|(_, shape)| shape.clone());
                (1, shape.unwrap_or_default())
            }
            Expr::Literal(LiteralValue::String(text)) => {
                (0, SizeBound { schema: None, size: text.inner().len() as u64 })
            }
            Expr::Select(select) => {
                let (cost, shape) = self.visit(&select.operand);
                (cost.saturating_add(u64::from(!select.test)), shape.field(&select.field))
            }
            Expr::List(list) => {
                let cost = list.elements.iter().map(|e| self.visit(e).0).fold(10, u64::saturating_add);
                (cost, SizeBound { schema: None, size: list.elements.len() as u64 })
            }
            Expr::Map(map) => {
                let mut cost = 30u64;
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        cost = cost.saturating_add(self.visit(&entry.key).0).saturating_add(self.visit(&entry.value).0);
                    }
                }
                (cost, SizeBound { schema: None, size: map.entries.len() as u64 })
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(c) => self.comprehension(c),
            Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => (0, SizeBound::default()),
        }
    }

    fn call(&mut self, call: &CallExpr) -> (u64, SizeBound) {
        let mut cost = 0u64;
        let mut shapes = Vec::new();
        for argument in call.target.as_deref().into_iter().chain(&call.args) {
            let (more, shape) = self.visit(argument);
            cost = cost.saturating_add(more);
            shapes.push(shape);
        }
        let size = |at: usize| shapes.get(at).map_or(0, |shape| shape.size);
        let tenth = |n: u64| n.div_ceil(10).max(1);
        let own = match call.func_name.as_str() {
            "_&&_" | "_||_" | "_?_:_" | "@not_strictly_false" => 0,
            "contains" => tenth(size(0)).saturating_mul(tenth(size(1))),
            "matches" => tenth(size(0)).saturating_mul(size(1).div_ceil(4).max(1)),
            "startsWith" | "endsWith" => tenth(size(1)),
            _ => 1,
        };
        let shape = match call.func_name.as_str() {
            "_[_]" => shapes.first().map(SizeBound::element).unwrap_or_default(),
            _ => SizeBound::default(),
        };
        (cost.saturating_add(own), shape)
    }

    fn comprehension(&mut self, c: &ComprehensionExpr) -> (u64, SizeBound) {
        let (range_cost, range) = self.visit(&c.iter_range);
        let (init_cost, _) = self.visit(&c.accu_init);
        let depth = self.scopes.len();
        self.scopes.push((c.accu_var.clone(), SizeBound::default()));
        let is_map = range.schema.as_ref().is_some_and(|schema| schema.kind == SchemaType::Object);
        match &c.iter_var2 {
            Some(second) => {
                self.scopes.push((c.iter_var.clone(), SizeBound::default()));
                self.scopes.push((second.clone(), range.element()));
            }
            None if is_map => self.scopes.push((c.iter_var.clone(), SizeBound::default())),
            None => self.scopes.push((c.iter_var.clone(), range.element())),
        }
        let round = self.visit(&c.loop_cond).0.saturating_add(self.visit(&c.loop_step).0);
        self.scopes.truncate(depth + 1);
        let result = self.visit(&c.result).0;
        self.scopes.truncate(depth);
        let rounds = range.size.saturating_mul(round);
        let cost = range_cost.saturating_add(init_cost).saturating_add(rounds).saturating_add(result);
        let collects = matches!(c.accu_init.expr, Expr::List(_));
        (cost, if collects { SizeBound { schema: None, size: range.size } } else { SizeBound::default() })
    }
}
