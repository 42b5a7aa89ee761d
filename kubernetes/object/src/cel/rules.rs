//! Rules of a CRD: compiled for checking, and compiled for running.

use std::sync::Arc;

use ::cel::common::ast::{EntryExpr, Expr, IdedExpr};

use super::check::check;
use super::estimate::estimate;
use super::parse::{ParsedRule, parse};
use super::types::{CelType, declared_type};
use crate::Value;
use crate::field::{FieldError, FieldErrorKind};
use crate::schema::crd_internal::internal_rule;
use crate::schema::crd_versions::go_struct_error;
use crate::schema::{Schema, ValidationRule, field_path};

/// Variable for the value that a rule validates.
pub(super) const SELF: &str = "self";
/// Name of the type of `self` in errors. kube-apiserver appends the time.
const SELF_TYPE: &str = "selfType0";
/// Variable for the previous value.
pub(super) const OLD_SELF: &str = "oldSelf";

/// Position of rules in a CRD's schema.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleContext<'a> {
    /// Whether the node is a whole resource.
    pub root: bool,
    /// Ancestor below which old values cannot be correlated.
    pub uncorrelatable: Option<&'a str>,
    /// Number of values of the node that an object may have; `None` if unbounded.
    pub times: Option<u64>,
}

/// Rule that is far too expensive.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleCost {
    /// Path of the rule.
    pub field: String,
    /// Estimated cost.
    pub cost: u64,
}

/// Rules that cost more are refused, without an exact estimate: kube-apiserver's limit for a whole schema, times a
/// hundred.
const REFUSED_COST: u64 = 100 * 100_000_000;

/// End of messages about costs.
pub(crate) const TOO_EXPENSIVE: &str = "exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

/// Checks the rules of one node of a CRD's schema. Returns the errors, and the rules that are too expensive. `at` is
/// the path of `x-kubernetes-validations`.
pub fn check_rules(schema: &Value, at: &str, place: RuleContext<'_>) -> (Vec<FieldError>, Vec<RuleCost>) {
    let mut node = Schema::from_json(schema);
    node.embedded_resource |= place.root;
    let node = Arc::new(node);
    let Some(kind) = declared_type(&node, SELF_TYPE) else {
        let detail = "failed to convert to declType for CEL validation rules".to_string();
        let error = FieldError { kind: FieldErrorKind::Internal, field: at.to_string(), value: None, detail };
        return (vec![error], Vec::new());
    };
    let rules = schema["x-kubernetes-validations"].as_array().map_or(&[][..], Vec::as_slice);
    let (mut errors, mut costs) = (Vec::new(), Vec::new());
    for (index, json) in rules.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let cost = check_rule(json, &kind, &at, place.uncorrelatable, &mut errors)
            .map_or(0, |parsed| estimate(&parsed.expression, &node, place.times));
        if cost > REFUSED_COST {
            let field = format!("{at}.rule");
            errors.push(FieldError::forbidden(field.clone(), format!("estimated rule cost {TOO_EXPENSIVE}")));
            costs.push(RuleCost { field, cost });
        }
    }
    (errors, costs)
}

/// Checks one rule, and adds its errors. Returns the rule if it compiles.
fn check_rule(
    json: &Value,
    kind: &CelType,
    at: &str,
    uncorrelatable: Option<&str>,
    errors: &mut Vec<FieldError>,
) -> Option<ParsedRule> {
    let text = |key: &str| json[key].as_str().unwrap_or("");
    let optional = json["optionalOldSelf"] == true;
    let old = if optional { CelType::Optional(Arc::new(kind.clone())) } else { kind.clone() };
    let variables = [(SELF, kind.clone()), (OLD_SELF, old)];
    let compiled = |source: &str| {
        let parsed = parse(source)?;
        check(&parsed, source, &variables)
    };
    let shown = internal_rule(json);
    let (mut uses_old_self, mut good) = (false, false);
    match compiled(text("rule")) {
        Err(issues) => {
            errors.push(go_struct_error(&format!("{at}.rule"), &shown, &format!("compilation failed: {issues}")))
        }
        Ok(checked) if !matches!(checked.kind, CelType::Bool) => {
            errors.push(go_struct_error(&format!("{at}.rule"), &shown, "cel expression must evaluate to a bool"));
        }
        Ok(checked) if checked.bad_pattern.is_some() => {
            let why = checked.bad_pattern.unwrap_or_default();
            errors.push(go_struct_error(
                &format!("{at}.rule"),
                &shown,
                &format!("program instantiation failed: {why}"),
            ));
        }
        Ok(checked) => {
            (uses_old_self, good) = (checked.uses_old_self, true);
            errors.extend(message_error(text("messageExpression"), &compiled, at, &shown));
        }
    }
    if let (true, Some(within)) = (uses_old_self, uncorrelatable) {
        let detail = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
        errors.push(FieldError::invalid(format!("{at}.rule"), text("rule"), detail));
    }
    if let (false, Some(given)) = (uses_old_self, json["optionalOldSelf"].as_bool()) {
        let detail = "may not be set if oldSelf is not used in rule";
        errors.push(FieldError::invalid(format!("{at}.optionalOldSelf"), given, detail));
    }
    good.then(|| parse(text("rule")).ok()).flatten()
}

fn message_error(
    source: &str,
    compiled: &dyn Fn(&str) -> Result<super::check::CheckedRule, String>,
    at: &str,
    shown: &str,
) -> Option<FieldError> {
    if source.is_empty() {
        return None;
    }
    let at = format!("{at}.messageExpression");
    match compiled(source) {
        Err(issues) => Some(go_struct_error(&at, shown, &format!("messageExpression compilation failed: {issues}"))),
        Ok(checked) if !matches!(checked.kind, CelType::Text) => {
            Some(go_struct_error(&at, shown, "messageExpression must evaluate to a string"))
        }
        Ok(_) => None,
    }
}

/// Rule ready to run.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub rule: ValidationRule,
    /// Parsed rule; `None` if it does not parse. Creation of the CRD rules this out.
    pub program: Option<ParsedRule>,
    pub message: Option<ParsedRule>,
    pub uses_old_self: bool,
    /// Field on which a failure is reported, relative to the node.
    pub field_path: String,
}

impl CompiledRule {
    pub fn new(rule: &ValidationRule, schema: &Schema) -> Self {
        let program = parse(&rule.rule).ok();
        let message = Some(&rule.message_expression).filter(|text| !text.is_empty()).and_then(|text| parse(text).ok());
        let uses_old_self = program.as_ref().is_some_and(|parsed| references_variable(&parsed.expression, OLD_SELF));
        let field_path = if rule.field_path.is_empty() { String::new() } else { display_path(rule, schema) };
        Self { rule: rule.clone(), program, message, uses_old_self, field_path }
    }

    /// Returns the text for the rule in errors.
    pub fn display_text(&self) -> &str {
        let message = self.rule.message.trim();
        if self.rule.message.is_empty() { self.rule.rule.trim() } else { message }
    }
}

/// Returns the path `.a['b']` as shown in errors. Brackets also name properties, if the schema has them.
fn display_path(rule: &ValidationRule, schema: &Schema) -> String {
    fn as_json(schema: &Schema) -> Value {
        let properties: crate::Map =
            schema.properties.iter().map(|(name, child)| (name.to_string(), as_json(child))).collect();
        let mut json = serde_json::json!({});
        if !properties.is_empty() {
            json["properties"] = Value::Object(properties);
        }
        if let Some(additional) = &schema.additional {
            json["additionalProperties"] = as_json(additional);
        }
        json
    }
    field_path::resolve(&rule.field_path, &as_json(schema), true).map(|(shown, _)| shown).unwrap_or_default()
}

/// Whether an expression references a variable.
fn references_variable(expression: &IdedExpr, name: &str) -> bool {
    let below = |e: &IdedExpr| references_variable(e, name);
    match &expression.expr {
        Expr::Ident(ident) => ident == name,
        Expr::Select(select) => below(&select.operand),
        Expr::Call(call) => call.target.as_deref().is_some_and(below) || call.args.iter().any(below),
        Expr::List(list) => list.elements.iter().any(below),
        Expr::Map(map) => map.entries.iter().any(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => below(&entry.key) || below(&entry.value),
            EntryExpr::StructField(field) => below(&field.value),
        }),
        Expr::Comprehension(c) => {
            [&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result].into_iter().any(below)
        }
        Expr::Struct(_) | Expr::Literal(_) | Expr::Unspecified => false,
    }
}
