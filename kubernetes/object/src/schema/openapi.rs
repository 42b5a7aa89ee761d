//! Validation of a CRD's schema, structural or not, including the consistency of its Kubernetes extensions.

use super::embedded::child;
use super::field_path;
use super::structural::{fields, flag, list, property, text};
use crate::Value;
use crate::cel::{self, RuleContext, RuleCost};
use crate::field::FieldError;

/// Errors of a schema. CEL rules are only checked if the schema itself has no errors.
#[derive(Default)]
pub(super) struct SchemaErrors {
    pub schema: Vec<FieldError>,
    pub rules: Vec<FieldError>,
    /// Rules that are far too expensive.
    pub costs: Vec<RuleCost>,
}

impl SchemaErrors {
    fn append(&mut self, other: SchemaErrors) {
        self.schema.extend(other.schema);
        self.rules.extend(other.rules);
        self.costs.extend(other.costs);
    }
}

/// Settings inherited from ancestors.
#[derive(Clone, Default)]
pub(super) struct SchemaContext {
    /// Reason for which defaults are not allowed here.
    forbid_defaults: Option<String>,
    inside_metadata: bool,
    /// Nearest ancestor whose children cannot be correlated with their old values.
    uncorrelatable: Option<String>,
    /// Whether rules are compiled: the schema is structural and no clause surrounds this node.
    pub rules: bool,
    root: bool,
    /// Number of values of this node that an object may have; `None` if unbounded.
    times: Option<u64>,
}

impl SchemaContext {
    pub(super) fn root(rules: bool) -> Self {
        Self { rules, root: true, times: Some(1), ..Self::default() }
    }

    fn below(&self) -> Self {
        Self { root: false, ..self.clone() }
    }

    /// Returns the settings below a list or map with a bound on its size.
    fn below_collection(mut self, most: &Value) -> Self {
        let most = most.as_i64().map(|n| u64::try_from(n).unwrap_or(0));
        self.times = self.times.zip(most).map(|(times, most)| times.saturating_mul(most));
        self
    }

    fn in_clause(&self) -> Self {
        Self { rules: false, ..self.below() }
    }
}

/// Validates a node and everything below it.
pub(super) fn validate(schema: &Value, path: &str, context: &SchemaContext) -> SchemaErrors {
    let mut found = SchemaErrors { schema: keywords(schema, path, context), ..SchemaErrors::default() };
    if flag(schema, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        found.schema.push(FieldError::forbidden(child(path, "uniqueItems"), detail));
    }
    below(schema, path, context, &mut found);
    extensions(schema, path, &mut found.schema);
    list_map(schema, path, &mut found.schema);
    map_keys(schema, path, &mut found.schema);
    rules(schema, path, context, &mut found);
    found
}

fn keywords(schema: &Value, path: &str, context: &SchemaContext) -> Vec<FieldError> {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    let mut errors = Vec::new();
    let kind = text(schema, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(child(path, "type"), kind, &TYPES));
    }
    if let Some(reason) = context.forbid_defaults.as_ref().filter(|_| !schema["default"].is_null()) {
        errors.push(FieldError::forbidden(child(path, "default"), format!("must not be set {reason}")));
    }
    let mut refuse = |key: &str, set: bool, detail: &str| {
        if set {
            errors.push(FieldError::forbidden(child(path, key), detail));
        }
    };
    refuse("id", !text(schema, "id").is_empty(), "id is not supported");
    for key in ["additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        refuse(key, !schema[key].is_null(), &format!("{key} is not supported"));
    }
    refuse("type", kind == "null", "type cannot be set to null, use nullable as an alternative");
    refuse("items", !list(schema, "items").is_empty(), "items must be a schema object and not an array");
    let embedded = context.inside_metadata && flag(schema, "x-kubernetes-embedded-resource");
    refuse("x-kubernetes-embedded-resource", embedded, "must not be used inside of resource meta");
    errors
}

fn below(schema: &Value, path: &str, context: &SchemaContext, found: &mut SchemaErrors) {
    let additional = &schema["additionalProperties"];
    if !additional.is_null() {
        let at = child(path, "additionalProperties");
        if fields(schema, "properties").next().is_some() && *additional != true {
            let detail = "additionalProperties and properties are mutual exclusive";
            found.schema.push(FieldError::forbidden(at.clone(), detail));
        }
        let mut inner = context.below().below_collection(&schema["maxProperties"]);
        if context.inside_metadata {
            inner.forbid_defaults = Some("inside additionalProperties applying to object metadata".into());
        }
        if additional.is_object() {
            found.append(validate(additional, &at, &inner));
        }
    }
    for (name, field) in fields(schema, "properties") {
        found.append(validate(field, &property(path, "properties", name), &of_field(schema, name, context)));
    }
    if schema["not"].is_object() {
        found.append(validate(&schema["not"], &child(path, "not"), &context.in_clause()));
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for (index, clause) in list(schema, key).iter().enumerate() {
            found.append(validate(clause, &format!("{}[{index}]", child(path, key)), &context.in_clause()));
        }
    }
    for (name, definition) in fields(schema, "definitions") {
        found.append(validate(definition, &property(path, "definitions", name), &context.in_clause()));
    }
    let items = &schema["items"];
    let mut inner = context.below().below_collection(&schema["maxItems"]);
    if text(schema, "x-kubernetes-list-type") != "map" {
        inner.uncorrelatable.get_or_insert_with(|| path.to_string());
    }
    if items.is_object() {
        found.append(validate(items, &child(path, "items"), &inner));
    }
    for (index, item) in list(schema, "items").iter().enumerate() {
        found.append(validate(item, &format!("{}[{index}]", child(path, "items")), &inner));
    }
}

fn of_field(schema: &Value, name: &str, context: &SchemaContext) -> SchemaContext {
    let mut inner = context.below();
    let resource = context.root || flag(schema, "x-kubernetes-embedded-resource");
    if resource && super::prune::is_meta(name) {
        inner.inside_metadata = true;
        if context.root {
            inner.forbid_defaults = Some(format!("in top-level {name}"));
        }
    }
    inner
}

fn extensions(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
    if schema[PRESERVE] == false {
        errors.push(FieldError::invalid(child(path, PRESERVE), false, "must be true or undefined"));
    }
    let kind = text(schema, "type");
    let mut demand = |key: &str, wanted: &str| {
        if schema[key].is_null() || kind == wanted {
            return false;
        }
        let detail = format!("must be {wanted} if {key} is specified");
        errors.push(match kind {
            "" => FieldError::required(child(path, "type"), detail),
            kind => FieldError::invalid(child(path, "type"), kind, detail),
        });
        true
    };
    demand("x-kubernetes-map-type", "object");
    let wrong_list = demand("x-kubernetes-list-type", "array");
    let map_type = text(schema, "x-kubernetes-map-type");
    if !schema["x-kubernetes-map-type"].is_null() && !["atomic", "granular"].contains(&map_type) {
        let at = child(path, "x-kubernetes-map-type");
        errors.push(FieldError::not_supported(at, map_type, &["atomic", "granular"]));
    }
    let list_type = text(schema, "x-kubernetes-list-type");
    if !wrong_list && list_type == "set" {
        set_items(&schema["items"], path, errors);
    }
    if !schema["x-kubernetes-list-type"].is_null() && !["atomic", "set", "map"].contains(&list_type) {
        let at = child(path, "x-kubernetes-list-type");
        errors.push(FieldError::not_supported(at, list_type, &["atomic", "set", "map"]));
    }
}

fn set_items(items: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let item_list = &items["x-kubernetes-list-type"];
    let at = |key: &str| child(&child(path, "items"), key);
    match text(items, "type") {
        "array" if !item_list.is_null() && *item_list != "atomic" => {
            errors.push(FieldError::invalid(at("x-kubernetes-list-type"), item_list.clone(), detail));
        }
        // The value shown is the list type, as in kube-apiserver.
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
            errors.push(FieldError::invalid(at("x-kubernetes-map-type"), item_list.clone(), detail));
        }
        _ => {}
    }
}

fn list_map(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    const LIST: &str = "x-kubernetes-list-type";
    let keys = list(schema, KEYS);
    let list_type = text(schema, LIST);
    if !keys.is_empty() && list_type != "map" {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match schema[LIST].is_null() {
            true => FieldError::required(child(path, LIST), detail),
            false => FieldError::invalid(child(path, LIST), list_type, detail),
        });
    }
    if list_type != "map" {
        return;
    }
    let items = &schema["items"];
    let at = child(path, "items");
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(child(path, KEYS), detail));
    }
    if items.is_null() {
        errors.push(FieldError::required(at.clone(), "must have a schema if x-kubernetes-list-type is map"));
    }
    if !items.is_object() {
        return;
    }
    if text(items, "type") != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(child(&at, "type"), text(items, "type"), detail));
        return;
    }
    for (index, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or("");
        match items["properties"].get(name) {
            Some(field) if ["array", "object"].contains(&text(field, "type")) => {
                let at = child(&property(&at, "properties", name), "type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(at, text(items, "type"), detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(FieldError::invalid(child(path, KEYS), keys.to_vec(), detail));
            }
        }
        if keys[..index].contains(key) {
            errors.push(FieldError::invalid(child(path, KEYS), keys.to_vec(), "must not contain duplicate entries"));
        }
    }
}

fn map_keys(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let items = &schema["items"];
    let list_type = text(schema, "x-kubernetes-list-type");
    if !items.is_object() || !["set", "map"].contains(&list_type) {
        return;
    }
    let at = child(path, "items");
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(child(&at, "nullable"), detail));
    }
    if list_type != "map" {
        return;
    }
    for key in list(schema, "x-kubernetes-list-map-keys") {
        let name = key.as_str().unwrap_or("");
        let Some(field) = items["properties"].get(name) else { continue };
        let at = property(&at, "properties", name);
        if !list(items, "required").contains(key) && field["default"].is_null() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            errors.push(FieldError::required(child(&at, "default"), detail));
        }
        if flag(field, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(child(&at, "nullable"), detail));
        }
    }
}

fn rules(schema: &Value, path: &str, context: &SchemaContext, found: &mut SchemaErrors) {
    let rules = list(schema, "x-kubernetes-validations");
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("{}[{index}]", child(path, "x-kubernetes-validations"));
        rule_texts(schema, rule, &at, &mut found.schema);
    }
    if rules.is_empty() || !context.rules || !found.schema.is_empty() {
        return;
    }
    let at = child(path, "x-kubernetes-validations");
    let place =
        RuleContext { root: context.root, uncorrelatable: context.uncorrelatable.as_deref(), times: context.times };
    let (errors, costs) = cel::check_rules(schema, &at, place);
    found.rules.extend(errors);
    found.costs.extend(costs);
}

fn rule_texts(schema: &Value, rule: &Value, at: &str, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    let breaks = |text: &str| text.contains(['\n', '\r']);
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message").trim());
    let given = |key: &str| text(rule, key);
    if expression.is_empty() {
        errors.push(FieldError::required(child(at, "rule"), "rule is not specified"));
    } else if !given("message").is_empty() && message.is_empty() {
        let at = child(at, "message");
        errors.push(FieldError::invalid(at, given("message"), "must be non-empty if specified"));
    } else if breaks(message) {
        errors.push(FieldError::invalid(child(at, "message"), given("message"), "must not contain line breaks"));
    } else if breaks(expression) && message.is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(child(at, "message"), detail));
    }
    if !given("messageExpression").is_empty() && given("messageExpression").trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(child(at, "messageExpression"), detail));
    }
    if !rule["reason"].is_null() && !REASONS.contains(&given("reason")) {
        errors.push(FieldError::not_supported(child(at, "reason"), given("reason"), &REASONS));
    }
    let field = given("fieldPath");
    if field.is_empty() {
        return;
    }
    let at = child(at, "fieldPath");
    if field.trim().is_empty() {
        errors.push(FieldError::invalid(at.clone(), field, "must be non-empty if specified"));
    }
    if breaks(field) {
        errors.push(FieldError::invalid(at.clone(), field, "must not contain line breaks"));
    }
    if field_path::resolve(field, schema, true).is_err() {
        errors.push(FieldError::invalid(at, field, "must be a valid path"));
    }
}
