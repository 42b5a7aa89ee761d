//! Schema of one version of a custom resource: decoding, defaulting and validation of its objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{DecodeError, Schema, default, read_custom, validate, validate_at, validate_embedded, validate_lists};
use crate::Value;
use crate::cel::CelRules;
use crate::field::{FieldError, FieldErrorKind};
use crate::name::qualified_name;
use crate::quote::quote;

/// Validator of an embedded resource's metadata. The second argument is the path of the metadata.
pub type MetadataValidator<'a> = &'a dyn Fn(&Value, &str) -> Vec<FieldError>;

/// Schema of one version of a custom resource, with its rules compiled on first use.
#[derive(Debug)]
pub struct CustomSchema {
    schema: Arc<Schema>,
    prunes: bool,
    rules: CelRules,
}

impl CustomSchema {
    /// Parses the `openAPIV3Schema` of a CRD's version. `prunes` is false if the CRD preserves unknown fields
    /// everywhere.
    pub fn new(schema: &Value, prunes: bool) -> Self {
        Self::of(Arc::new(Schema::from_json(schema)), prunes)
    }

    /// Wraps a parsed schema.
    pub fn of(schema: Arc<Schema>, prunes: bool) -> Self {
        Self { rules: CelRules::new(Arc::clone(&schema)), schema, prunes }
    }

    /// Returns the schema, as server-side apply and patches walk it.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Decodes an object: see [`read_custom`].
    pub fn read(&self, object: &mut Value) -> Result<Vec<String>, DecodeError> {
        read_custom(Some(&self.schema), self.prunes, object)
    }

    /// Sets defaults.
    pub fn default(&self, object: &mut Value) {
        default(&self.schema, object);
    }

    /// Validates an object that replaces `old`, without its own metadata. Returns errors, and warnings about failures
    /// that existed before.
    pub fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        metadata: MetadataValidator<'_>,
    ) -> (Vec<FieldError>, Vec<String>) {
        let mut errors = validate(&self.schema, object, old);
        validate_embedded(&self.schema, object, "", metadata, &mut errors);
        let mut before = Vec::new();
        if let Some(old) = old {
            validate_lists(&self.schema, old, "", &mut before);
        }
        if before.is_empty() {
            validate_lists(&self.schema, object, "", &mut errors);
        }
        self.with_rules(errors, object, old)
    }

    /// Validates a write to the status subresource, which only checks the status.
    pub fn validate_status(&self, object: &Value, old: &Value) -> (Vec<FieldError>, Vec<String>) {
        let mut errors = Vec::new();
        if let (Some(schema), Some(status)) = (self.schema.properties.get("status"), object.get("status")) {
            errors.extend(validate_at(schema, status, old.get("status"), "status", ""));
        }
        let (mut now, mut before) = (Vec::new(), Vec::new());
        validate_lists(&self.schema, object, "", &mut now);
        validate_lists(&self.schema, old, "", &mut before);
        if before.is_empty() {
            errors.extend(now);
        }
        self.with_rules(errors, object, Some(old))
    }

    /// Validates the fields that the scale subresource reads, at the paths from the CRD. A write to the status does not
    /// check the spec.
    pub fn validate_scale(object: &Value, spec: Option<&str>, status: &str, selector: Option<&str>) -> Vec<FieldError> {
        let mut errors: Vec<FieldError> =
            spec.into_iter().chain([status]).filter_map(|p| replicas(object, p)).collect();
        let wrong = |path: &&str| field_at(object, path).is_some_and(|value| !value.is_string());
        if let Some(path) = selector.filter(wrong) {
            let value = field_at(object, path).unwrap_or(&Value::Null);
            errors.push(FieldError::invalid(path, "", accessor_error(path, value, "string")));
        }
        errors
    }

    /// Returns warnings about finalizers, added since `old`, that do not name their owner.
    pub fn warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
        const STANDARD: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];
        const PREFER: &str = "to avoid accidental conflicts with other finalizer writers";
        let before = old.map(finalizers).unwrap_or_default();
        let mut warnings = Vec::new();
        for finalizer in finalizers(object).difference(&before) {
            let mut warn = |why: &str| warnings.push(format!("metadata.finalizers: {}: {why}", quote(finalizer)));
            qualified_name(finalizer).iter().for_each(|wrong| warn(wrong));
            if !finalizer.contains('/') && !STANDARD.contains(finalizer) {
                let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
                warn(&format!("prefer a domain-qualified finalizer name{path} {PREFER}"));
            }
        }
        warnings
    }

    /// Adds the results of the rules. Rules run only on objects that fit the schema.
    fn with_rules(
        &self,
        mut errors: Vec<FieldError>,
        object: &Value,
        old: Option<&Value>,
    ) -> (Vec<FieldError>, Vec<String>) {
        use FieldErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
        if self.rules.is_empty() {
            return (errors, Vec::new());
        }
        if errors.iter().any(|e| matches!(e.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid)) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            errors.push(FieldError::invalid("<nil>", Value::Null, detail));
            return (errors, Vec::new());
        }
        let (found, warnings) = self.rules.validate(object, old);
        errors.extend(found);
        (errors, warnings)
    }
}

fn finalizers(object: &Value) -> BTreeSet<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn field_at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.').split('.').try_fold(object, |value, key| value.get(key))
}

/// Returns Go's error text for a value of the wrong type.
fn accessor_error(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, kind) = match value {
        Value::String(text) => (text.clone(), "string"),
        Value::Bool(b) => (b.to_string(), "bool"),
        Value::Number(n) if n.is_i64() => (n.to_string(), "int64"),
        Value::Number(n) => (n.to_string(), "float64"),
        Value::Array(_) => (value.to_string(), "[]interface {}"),
        Value::Object(_) => (value.to_string(), "map[string]interface {}"),
        Value::Null => ("<nil>".to_string(), "<nil>"),
    };
    let path = path.trim_start_matches('.');
    format!(".{path} accessor error: {shown} is of the type {kind}, expected {wanted}")
}

fn replicas(object: &Value, path: &str) -> Option<FieldError> {
    let value = field_at(object, path)?;
    match value.as_i64() {
        None => Some(FieldError::invalid(path, 0, accessor_error(path, value, "int64"))),
        Some(n) if n < 0 => Some(FieldError::invalid(path, n, "should be a non-negative integer")),
        Some(n) if n > i64::from(i32::MAX) => {
            Some(FieldError::invalid(path, n, format!("should be less than or equal to {}", i32::MAX)))
        }
        Some(_) => None,
    }
}
