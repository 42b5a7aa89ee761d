//! Schema keywords that only validation reads.

use std::sync::Arc;

use super::Schema;
use crate::{Map, Value};

/// Value validations of one node, from OpenAPI and the Kubernetes extensions.
#[derive(Clone, Debug, Default)]
pub struct ValueValidation {
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `maxLength`, in characters.
    pub max_length: Option<i64>,
    /// `minLength`, in characters.
    pub min_length: Option<i64>,
    /// `pattern`, RE2 syntax.
    pub pattern: Option<Box<str>>,
    /// `maxItems`.
    pub max_items: Option<i64>,
    /// `minItems`.
    pub min_items: Option<i64>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `maxProperties`.
    pub max_properties: Option<i64>,
    /// `minProperties`.
    pub min_properties: Option<i64>,
    /// `enum`.
    pub allowed: Vec<Value>,
    /// `allOf`.
    pub all_of: Vec<Arc<Schema>>,
    /// `anyOf`.
    pub any_of: Vec<Arc<Schema>>,
    /// `oneOf`.
    pub one_of: Vec<Arc<Schema>>,
    /// `not`.
    pub not: Option<Arc<Schema>>,
    /// `x-kubernetes-validations`.
    pub rules: Vec<ValidationRule>,
}

/// Entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValidationRule {
    /// CEL expression.
    pub rule: Box<str>,
    /// Message of a failure.
    pub message: Box<str>,
    /// CEL expression that returns the message.
    pub message_expression: Box<str>,
    /// Class of the failure; `FieldValueInvalid` if not set.
    pub reason: Option<Box<str>>,
    /// Field on which a failure is reported, relative to the node: `.a.b`.
    pub field_path: Box<str>,
    /// Whether `oldSelf` is an optional, so that the rule also runs on creation.
    pub optional_old_self: Option<bool>,
}

impl ValueValidation {
    /// Reads the validation keywords of a schema; `None` if there are none.
    pub(super) fn from_json(map: &Map) -> Option<Box<Self>> {
        let mut checks = Self::default();
        let mut found = false;
        for (key, value) in map {
            found |= checks.keyword(key, value);
        }
        found.then(|| Box::new(checks))
    }

    fn keyword(&mut self, key: &str, value: &Value) -> bool {
        match key {
            "maximum" => self.maximum = value.as_f64(),
            "exclusiveMaximum" => self.exclusive_maximum = value == true,
            "minimum" => self.minimum = value.as_f64(),
            "exclusiveMinimum" => self.exclusive_minimum = value == true,
            "multipleOf" => self.multiple_of = value.as_f64(),
            "maxLength" => self.max_length = value.as_i64(),
            "minLength" => self.min_length = value.as_i64(),
            "pattern" => self.pattern = value.as_str().filter(|p| !p.is_empty()).map(Into::into),
            "maxItems" => self.max_items = value.as_i64(),
            "minItems" => self.min_items = value.as_i64(),
            "uniqueItems" => self.unique_items = value == true,
            "maxProperties" => self.max_properties = value.as_i64(),
            "minProperties" => self.min_properties = value.as_i64(),
            "enum" => self.allowed = value.as_array().cloned().unwrap_or_default(),
            "allOf" => self.all_of = schemas(value),
            "anyOf" => self.any_of = schemas(value),
            "oneOf" => self.one_of = schemas(value),
            "not" => self.not = Some(Arc::new(Schema::from_json(value))),
            "x-kubernetes-validations" => {
                self.rules = value.as_array().into_iter().flatten().map(ValidationRule::from_json).collect();
            }
            _ => return false,
        }
        true
    }
}

impl ValidationRule {
    fn from_json(json: &Value) -> Self {
        let text = |key: &str| json[key].as_str().unwrap_or("").into();
        Self {
            rule: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: json["reason"].as_str().map(Into::into),
            field_path: text("fieldPath"),
            optional_old_self: json["optionalOldSelf"].as_bool(),
        }
    }
}

fn schemas(value: &Value) -> Vec<Arc<Schema>> {
    value.as_array().into_iter().flatten().map(|s| Arc::new(Schema::from_json(s))).collect()
}
