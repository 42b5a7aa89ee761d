//! One version of a custom resource: everything the API server does with an object by its schema.

use std::sync::Arc;

use super::{DecodeError, Schema, default, read_custom, validate, validate_at, validate_embedded, validate_lists};
use crate::Value;
use crate::cel::Rules;
use crate::field::{FieldError, FieldErrorKind};

/// Checks the metadata of a resource inside of another one; it is told the path.
pub type CheckMetadata<'a> = &'a dyn Fn(&Value, &str) -> Vec<FieldError>;

/// The schema of one version of a custom resource, with its rules compiled on first use.
#[derive(Debug)]
pub struct Custom {
    schema: Arc<Schema>,
    prunes: bool,
    rules: Rules,
}

impl Custom {
    /// From the `openAPIV3Schema` of a CRD's version. `prunes` is false when the CRD preserves unknown fields everywhere.
    pub fn new(schema: &Value, prunes: bool) -> Self {
        let schema = Arc::new(Schema::from_json(schema));
        Self { rules: Rules::new(Arc::clone(&schema)), schema, prunes }
    }

    /// The schema, as server-side apply and patches walk it.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Reads an object: see [`read_custom`].
    pub fn read(&self, object: &mut Value) -> Result<Vec<String>, DecodeError> {
        read_custom(Some(&self.schema), self.prunes, object)
    }

    /// Fills in defaults.
    pub fn default(&self, object: &mut Value) {
        default(&self.schema, object);
    }

    /// What is wrong with an object that replaces `old`, metadata of its own apart; and warnings about what was wrong before.
    pub fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        metadata: CheckMetadata<'_>,
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

    /// The same for a write to the status subresource, which only looks at the status.
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

    /// Rules are only run on objects whose shape is right.
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
