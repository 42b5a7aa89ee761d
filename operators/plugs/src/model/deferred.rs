//! Resource that is applied later.

use serde_json::Value;

use super::PlugMeta;
use super::field::{ModelError, SpecField};
use super::var::api_version;

/// A resource that is applied once other objects exist and a timeout has passed.
#[derive(Clone, Debug)]
pub struct DeferredResource {
    /// Metadata of the object.
    pub meta: PlugMeta,
    /// Minimum age of this object in seconds.
    pub timeout_s: u32,
    /// Objects that must exist first.
    pub wait_for: Vec<WaitFor>,
    /// Object to apply.
    pub resource: Value,
    /// Service account that applies the object.
    pub service_account: String,
}

/// An object that must exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitFor {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Condition that must be true, if specified.
    pub condition: Option<String>,
}

impl DeferredResource {
    /// Reads a deferred resource.
    ///
    /// # Errors
    /// [`ModelError`] names the invalid field.
    pub fn read(object: &Value) -> Result<Self, ModelError> {
        let spec = SpecField::root(object).at("spec");
        let resource = spec.at("resource");
        let Some(wanted @ Value::Object(_)) = resource.value() else {
            return Err(resource.error("is missing: set it to the object to create"));
        };
        for name in ["apiVersion", "kind"] {
            resource.at(name).required_text("the type of the object to create")?;
        }
        let name = resource.at("metadata").at("name");
        if !crate::render::is_name(&name.required_text("the name of the object to create")?) {
            return Err(name.error("must be a valid object name"));
        }
        let account = spec.at("serviceAccountName").non_empty_text()?;
        Ok(Self {
            meta: PlugMeta::of(object),
            timeout_s: spec.at("timeout").count()?.unwrap_or_default(),
            wait_for: spec.at("waitFor").items()?.iter().map(WaitFor::read).collect::<Result<_, _>>()?,
            resource: wanted.clone(),
            service_account: account.unwrap_or_else(|| "default".to_string()),
        })
    }
}

impl WaitFor {
    fn read(field: &SpecField<'_>) -> Result<Self, ModelError> {
        Ok(Self {
            api_version: api_version(field)?,
            kind: field.at("kind").required_text("the kind of the object to wait for")?,
            name: field.at("name").required_text("the name of the object to wait for")?,
            condition: field.at("condition").non_empty_text()?,
        })
    }
}
