//! Evaluation of a schema's rules on an object.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::eval::{Evaluator, PER_CALL_LIMIT};
use super::parse::ParsedRule;
use super::rules::{CompiledRule, OLD_SELF, SELF};
use super::value::{CelValue, EvalError, EvalResult, typed_value};
use crate::Value;
use crate::field::{FieldError, FieldErrorKind};
use crate::schema::correlate::{same_item, unchanged};
use crate::schema::{Schema, SchemaType};

/// Cost budget of all rules for one object.
const OBJECT_BUDGET: u64 = 10_000_000;
/// Longest message of a `messageExpression`. Longer ones are not shown.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// Rules of a custom resource's schema, compiled on first use.
#[derive(Debug)]
pub struct CelRules {
    schema: Arc<Schema>,
    root: OnceLock<Option<RuleNode>>,
}

impl CelRules {
    /// Creates the rules of a whole resource's schema.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema, root: OnceLock::new() }
    }

    /// Runs the rules on `object`, which replaces `old`. Returns errors, and as warnings the failures of rules on
    /// unchanged values.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> (Vec<FieldError>, Vec<String>) {
        let root = self.root.get_or_init(|| {
            let schema = Schema { embedded_resource: true, ..(*self.schema).clone() };
            RuleNode::compile(&Arc::new(schema))
        });
        let Some(root) = root else { return (Vec::new(), Vec::new()) };
        let mut run = RuleRun { budget: OBJECT_BUDGET, errors: Vec::new(), warnings: Vec::new(), stopped: false };
        let now = old.map(|old| ValuePair { schema: &root.schema, new: object, old });
        run.node(root, "", object, old, OldValueCursor { now, above: None, root: true });
        (run.errors, run.warnings)
    }

    /// Whether the schema has any rule.
    pub fn is_empty(&self) -> bool {
        !has_rules(&self.schema)
    }
}

/// Rules at and below one node of the schema.
#[derive(Debug)]
struct RuleNode {
    schema: Arc<Schema>,
    rules: Vec<CompiledRule>,
    items: Option<Box<RuleNode>>,
    additional: Option<Box<RuleNode>>,
    properties: BTreeMap<Box<str>, RuleNode>,
}

fn has_rules(schema: &Schema) -> bool {
    let mut children = schema.items.iter().chain(&schema.additional).chain(schema.properties.values());
    schema.checks.as_ref().is_some_and(|checks| !checks.rules.is_empty()) || children.any(|child| has_rules(child))
}

impl RuleNode {
    /// Compiles the rules; `None` if there is none at or below the node.
    fn compile(schema: &Arc<Schema>) -> Option<Self> {
        if !has_rules(schema) {
            return None;
        }
        let rules = schema.checks.as_ref().map_or(&[][..], |checks| &checks.rules);
        let properties = schema.properties.iter();
        Some(Self {
            rules: rules.iter().map(|rule| CompiledRule::new(rule, schema)).collect(),
            items: schema.items.as_ref().and_then(RuleNode::compile).map(Box::new),
            additional: schema.additional.as_ref().and_then(RuleNode::compile).map(Box::new),
            properties: properties
                .filter_map(|(name, child)| Some((name.clone(), RuleNode::compile(child)?)))
                .collect(),
            schema: Arc::clone(schema),
        })
    }
}

/// Value and the value it replaces.
#[derive(Clone, Copy)]
struct ValuePair<'a> {
    schema: &'a Schema,
    new: &'a Value,
    old: &'a Value,
}

impl ValuePair<'_> {
    fn unchanged(&self) -> bool {
        unchanged(self.schema, self.new, self.old)
    }
}

/// Position of the walk in the old object, which decides whether a failure existed before.
#[derive(Clone, Copy)]
struct OldValueCursor<'a> {
    now: Option<ValuePair<'a>>,
    above: Option<ValuePair<'a>>,
    root: bool,
}

impl<'a> OldValueCursor<'a> {
    fn unchanged(&self) -> bool {
        self.now.or(self.above).is_some_and(|pair| pair.unchanged())
    }

    fn below(&self, found: Option<ValuePair<'a>>) -> Self {
        match self.now {
            None => Self { root: false, ..*self },
            Some(now) => Self { now: found, above: Some(now), root: false },
        }
    }

    fn key(&self, name: &str) -> Self {
        if self.root && matches!(name, "apiVersion" | "kind") {
            return Self { now: None, above: None, root: false };
        }
        let found = self.now.and_then(|pair| {
            let schema = pair.schema.properties.get(name).or(pair.schema.additional.as_ref())?;
            Some(ValuePair { schema, new: pair.new.get(name)?, old: pair.old.get(name)? })
        });
        self.below(found)
    }

    fn index(&self, item: &'a Value) -> Self {
        let found = self.now.and_then(|pair| {
            let schema = pair.schema.items.as_deref()?;
            Some(ValuePair { schema, new: item, old: same_item(pair.schema, item, pair.old)? })
        });
        self.below(found)
    }
}

struct RuleRun {
    budget: u64,
    errors: Vec<FieldError>,
    warnings: Vec<String>,
    stopped: bool,
}

impl RuleRun {
    fn node<'a>(
        &mut self,
        node: &'a RuleNode,
        path: &str,
        value: &'a Value,
        old: Option<&'a Value>,
        at: OldValueCursor<'a>,
    ) {
        if value.is_null() || self.stopped {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        self.rules(node, path, value, old, at);
        match value {
            Value::Array(items) => {
                let Some(child) = &node.items else { return };
                for (index, item) in items.iter().enumerate() {
                    let old = old.and_then(|old| same_item(&node.schema, item, old));
                    self.node(child, &format!("{path}[{index}]"), item, old, at.index(item));
                }
            }
            Value::Object(map) => {
                for (key, value) in map {
                    let old = old.and_then(|old| old.get(key));
                    if let Some(child) = node.properties.get(key.as_str()) {
                        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                        self.node(child, &below, value, old, at.key(key));
                    } else if let Some(child) = &node.additional {
                        self.node(child, &format!("{path}[{key}]"), value, old, at.key(key));
                    }
                }
            }
            _ => {}
        }
    }

    fn rules<'a>(
        &mut self,
        node: &'a RuleNode,
        path: &str,
        value: &'a Value,
        old: Option<&'a Value>,
        at: OldValueCursor<'a>,
    ) {
        for compiled in &node.rules {
            if self.stopped {
                return;
            }
            let optional = compiled.rule.optional_old_self == Some(true);
            if compiled.uses_old_self && old.is_none() && !optional {
                continue;
            }
            let Some(program) = &compiled.program else {
                self.fail(node, path, "rule compile error: the rule does not parse".into());
                continue;
            };
            let (outcome, cost) = evaluate(program, &node.schema, value, old, optional);
            if cost > self.budget {
                self.out_of_budget(node, path);
                return;
            }
            self.budget -= cost;
            match outcome {
                Ok(CelValue::Bool(true)) => {}
                Ok(_) => self.failed(node, compiled, path, value, old, at),
                Err(error) => self.errored(node, compiled, path, error),
            }
        }
    }

    fn out_of_budget(&mut self, node: &RuleNode, path: &str) {
        let detail = "validation failed due to running out of cost budget, no further validation rules will be run";
        self.fail(node, path, detail.into());
        self.stopped = true;
    }

    fn errored(&mut self, node: &RuleNode, compiled: &CompiledRule, path: &str, error: EvalError) {
        let rule = compiled.display_text();
        let detail = match error {
            EvalError::Limit => {
                self.stopped = true;
                let limit = "operation cancelled: actual cost limit exceeded";
                format!(
                    "'{limit}': no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
                )
            }
            EvalError::Error(error) if error.starts_with("no such overload") => format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: \
                 {rule}"
            ),
            EvalError::Error(error) => format!("{error} evaluating rule: {rule}"),
        };
        self.fail(node, path, detail);
    }

    /// Adds a failure that shows the type instead of the value.
    fn fail(&mut self, node: &RuleNode, path: &str, detail: String) {
        self.errors.push(FieldError::invalid(display_path(path), type_word(&node.schema), detail));
    }

    fn failed<'a>(
        &mut self,
        node: &'a RuleNode,
        compiled: &'a CompiledRule,
        path: &str,
        value: &'a Value,
        old: Option<&'a Value>,
        at: OldValueCursor<'a>,
    ) {
        let field = match (path.is_empty(), compiled.field_path.is_empty()) {
            (_, true) => display_path(path),
            (true, false) => compiled.field_path.clone(),
            (false, false) => format!("{path}.{}", compiled.field_path),
        };
        let made = compiled.message.as_ref().and_then(|program| self.message(program, node, value, old));
        let default = match compiled.rule.message.is_empty() {
            true => format!("failed rule: {}", compiled.display_text()),
            false => compiled.display_text().to_string(),
        };
        let detail = made.unwrap_or(default);
        let whole = matches!(node.schema.kind, SchemaType::Object | SchemaType::Array);
        let value = (!whole).then(|| value.clone());
        let kind = match compiled.rule.reason.as_deref() {
            Some("FieldValueForbidden") => FieldErrorKind::Forbidden,
            Some("FieldValueRequired") => FieldErrorKind::Required,
            Some("FieldValueDuplicate") => FieldErrorKind::Duplicate,
            _ => FieldErrorKind::Invalid,
        };
        let detail = if kind == FieldErrorKind::Duplicate { String::new() } else { detail };
        let error = FieldError { kind, field, value, detail };
        if !compiled.uses_old_self && at.unchanged() {
            self.warnings.push(error.to_string());
        } else {
            self.errors.push(error);
        }
    }

    /// Evaluates the message expression. Returns the message if it is usable.
    fn message<'a>(
        &mut self,
        program: &'a ParsedRule,
        node: &'a RuleNode,
        value: &'a Value,
        old: Option<&'a Value>,
    ) -> Option<String> {
        let (outcome, cost) = evaluate(program, &node.schema, value, old, false);
        self.budget = self.budget.saturating_sub(cost);
        let Ok(CelValue::Text(text)) = outcome else { return None };
        let text = text.trim();
        let good = !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
        good.then(|| text.to_string())
    }
}

/// Returns the path, or `<nil>` as Go prints the empty path.
fn display_path(path: &str) -> String {
    if path.is_empty() { "<nil>".to_string() } else { path.to_string() }
}

fn type_word(schema: &Schema) -> &'static str {
    match schema.kind {
        SchemaType::Any => "",
        SchemaType::Object => "object",
        SchemaType::Array => "array",
        SchemaType::String => "string",
        SchemaType::Integer => "integer",
        SchemaType::Number => "number",
        SchemaType::Boolean => "boolean",
    }
}

fn evaluate<'a>(
    program: &'a ParsedRule,
    schema: &'a Schema,
    value: &'a Value,
    old: Option<&'a Value>,
    optional: bool,
) -> (EvalResult<'a>, u64) {
    let mut machine = Evaluator::new(PER_CALL_LIMIT);
    let mut bind = |name: &'a str, value: EvalResult<'a>| match value {
        Ok(value) => {
            machine.bind(name, value);
            Ok(())
        }
        Err(error) => Err(error),
    };
    let bound = bind(SELF, typed_value(value, schema)).and_then(|()| match old.map(|old| typed_value(old, schema)) {
        Some(old) if optional => bind(OLD_SELF, old.map(CelValue::some)),
        Some(old) => bind(OLD_SELF, old),
        None if optional => bind(OLD_SELF, Ok(CelValue::Optional(None))),
        None => Ok(()),
    });
    let outcome = bound.and_then(|()| machine.eval(&program.expression));
    (outcome, machine.cost())
}
