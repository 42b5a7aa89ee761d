//! Running the rules of a schema on an object.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::eval::{Machine, PER_CALL_LIMIT};
use super::parse::Parsed;
use super::rules::{Compiled, OLD_SELF, SELF};
use super::value::{Fail, Outcome, Val, typed};
use crate::Value;
use crate::field::{FieldError, FieldErrorKind};
use crate::schema::correlate::{same_item, unchanged};
use crate::schema::{Schema, Type};

/// What all rules together may cost for one object.
const OBJECT_BUDGET: u64 = 10_000_000;
/// Longer messages made by `messageExpression` are not shown.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// The rules of a custom resource's schema, compiled when first run.
#[derive(Debug)]
pub struct Rules {
    schema: Arc<Schema>,
    root: OnceLock<Option<Node>>,
}

impl Rules {
    /// The rules of the schema of a whole resource.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema, root: OnceLock::new() }
    }

    /// What the rules say against `object`, which replaces `old`. Failures of rules about unchanged values are not errors;
    /// they come second, as warnings.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> (Vec<FieldError>, Vec<String>) {
        let root = self.root.get_or_init(|| {
            let schema = Schema { embedded_resource: true, ..(*self.schema).clone() };
            Node::compile(&Arc::new(schema))
        });
        let Some(root) = root else { return (Vec::new(), Vec::new()) };
        let mut run = Run { budget: OBJECT_BUDGET, errors: Vec::new(), warnings: Vec::new(), stopped: false };
        let now = old.map(|old| Pair { schema: &root.schema, new: object, old });
        run.node(root, "", object, old, Match { now, above: None, root: true });
        (run.errors, run.warnings)
    }

    /// Whether the schema has any rule.
    pub fn is_empty(&self) -> bool {
        !has_rules(&self.schema)
    }
}

/// The rules at and below one node of the schema.
#[derive(Debug)]
struct Node {
    schema: Arc<Schema>,
    rules: Vec<Compiled>,
    items: Option<Box<Node>>,
    additional: Option<Box<Node>>,
    properties: BTreeMap<Box<str>, Node>,
}

fn has_rules(schema: &Schema) -> bool {
    let mut children = schema.items.iter().chain(&schema.additional).chain(schema.properties.values());
    schema.checks.as_ref().is_some_and(|checks| !checks.rules.is_empty()) || children.any(|child| has_rules(child))
}

impl Node {
    /// `None` when there is no rule at or below the node.
    fn compile(schema: &Arc<Schema>) -> Option<Self> {
        if !has_rules(schema) {
            return None;
        }
        let rules = schema.checks.as_ref().map_or(&[][..], |checks| &checks.rules);
        let properties = schema.properties.iter();
        Some(Self {
            rules: rules.iter().map(|rule| Compiled::new(rule, schema)).collect(),
            items: schema.items.as_ref().and_then(Node::compile).map(Box::new),
            additional: schema.additional.as_ref().and_then(Node::compile).map(Box::new),
            properties: properties.filter_map(|(name, child)| Some((name.clone(), Node::compile(child)?))).collect(),
            schema: Arc::clone(schema),
        })
    }
}

/// A value and what it replaces.
#[derive(Clone, Copy)]
struct Pair<'a> {
    schema: &'a Schema,
    new: &'a Value,
    old: &'a Value,
}

impl Pair<'_> {
    fn unchanged(&self) -> bool {
        unchanged(self.schema, self.new, self.old)
    }
}

/// Where the walk is in the old object, for telling whether a failure is an old one.
#[derive(Clone, Copy)]
struct Match<'a> {
    now: Option<Pair<'a>>,
    above: Option<Pair<'a>>,
    root: bool,
}

impl<'a> Match<'a> {
    fn unchanged(&self) -> bool {
        self.now.or(self.above).is_some_and(|pair| pair.unchanged())
    }

    fn below(&self, found: Option<Pair<'a>>) -> Self {
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
            Some(Pair { schema, new: pair.new.get(name)?, old: pair.old.get(name)? })
        });
        self.below(found)
    }

    fn index(&self, item: &'a Value) -> Self {
        let found = self.now.and_then(|pair| {
            let schema = pair.schema.items.as_deref()?;
            Some(Pair { schema, new: item, old: same_item(pair.schema, item, pair.old)? })
        });
        self.below(found)
    }
}

struct Run {
    budget: u64,
    errors: Vec<FieldError>,
    warnings: Vec<String>,
    stopped: bool,
}

impl Run {
    fn node<'a>(&mut self, node: &'a Node, path: &str, value: &'a Value, old: Option<&'a Value>, at: Match<'a>) {
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

    fn rules<'a>(&mut self, node: &'a Node, path: &str, value: &'a Value, old: Option<&'a Value>, at: Match<'a>) {
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
                Ok(Val::Bool(true)) => {}
                Ok(_) => self.failed(node, compiled, path, value, old, at),
                Err(error) => self.errored(node, compiled, path, error),
            }
        }
    }

    fn out_of_budget(&mut self, node: &Node, path: &str) {
        let detail = "validation failed due to running out of cost budget, no further validation rules will be run";
        self.fail(node, path, detail.into());
        self.stopped = true;
    }

    fn errored(&mut self, node: &Node, compiled: &Compiled, path: &str, error: Fail) {
        let rule = compiled.words();
        let detail = match error {
            Fail::Limit => {
                self.stopped = true;
                let limit = "operation cancelled: actual cost limit exceeded";
                format!(
                    "'{limit}': no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
                )
            }
            Fail::Error(error) if error.starts_with("no such overload") => format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: \
                 {rule}"
            ),
            Fail::Error(error) => format!("{error} evaluating rule: {rule}"),
        };
        self.fail(node, path, detail);
    }

    /// A failure that shows the type instead of the value.
    fn fail(&mut self, node: &Node, path: &str, detail: String) {
        self.errors.push(FieldError::invalid(shown(path), type_word(&node.schema), detail));
    }

    fn failed<'a>(
        &mut self,
        node: &'a Node,
        compiled: &'a Compiled,
        path: &str,
        value: &'a Value,
        old: Option<&'a Value>,
        at: Match<'a>,
    ) {
        let field = match (path.is_empty(), compiled.field_path.is_empty()) {
            (_, true) => shown(path),
            (true, false) => compiled.field_path.clone(),
            (false, false) => format!("{path}.{}", compiled.field_path),
        };
        let made = compiled.message.as_ref().and_then(|program| self.message(program, node, value, old));
        let default = match compiled.rule.message.is_empty() {
            true => format!("failed rule: {}", compiled.words()),
            false => compiled.words().to_string(),
        };
        let detail = made.unwrap_or(default);
        let whole = matches!(node.schema.kind, Type::Object | Type::Array);
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

    /// The message an expression makes, when it makes a good one.
    fn message<'a>(
        &mut self,
        program: &'a Parsed,
        node: &'a Node,
        value: &'a Value,
        old: Option<&'a Value>,
    ) -> Option<String> {
        let (outcome, cost) = evaluate(program, &node.schema, value, old, false);
        self.budget = self.budget.saturating_sub(cost);
        let Ok(Val::Text(text)) = outcome else { return None };
        let text = text.trim();
        let good = !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
        good.then(|| text.to_string())
    }
}

/// Go's empty path.
fn shown(path: &str) -> String {
    if path.is_empty() { "<nil>".to_string() } else { path.to_string() }
}

fn type_word(schema: &Schema) -> &'static str {
    match schema.kind {
        Type::Any => "",
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
    }
}

fn evaluate<'a>(
    program: &'a Parsed,
    schema: &'a Schema,
    value: &'a Value,
    old: Option<&'a Value>,
    optional: bool,
) -> (Outcome<'a>, u64) {
    let mut machine = Machine::new(PER_CALL_LIMIT);
    let mut bind = |name: &'a str, value: Outcome<'a>| match value {
        Ok(value) => {
            machine.bind(name, value);
            Ok(())
        }
        Err(error) => Err(error),
    };
    let bound = bind(SELF, typed(value, schema)).and_then(|()| match old.map(|old| typed(old, schema)) {
        Some(old) if optional => bind(OLD_SELF, old.map(Val::some)),
        Some(old) => bind(OLD_SELF, old),
        None if optional => bind(OLD_SELF, Ok(Val::Optional(None))),
        None => Ok(()),
    });
    let outcome = bound.and_then(|()| machine.eval(&program.expression));
    (outcome, machine.cost())
}
