//! A resource that is made later.

use serde_json::Value;

use super::PlugMeta;
use super::field::{ModelError, SpecField};
use super::var::api_version;

/// A resource that is made once others are there and a time has passed.
#[derive(Clone, Debug)]
pub struct DeferredResource {
    /// Who it is.
    pub meta: PlugMeta,
    /// The least time after its own making.
    pub timeout_s: u32,
    /// What must be there first.
    pub wait_for: Vec<WaitFor>,
    /// What is made then.
    pub resource: Value,
    /// As whom.
    pub service_account: String,
}

/// An object that must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitFor {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The condition that must be true of it, when one is asked for.
    pub condition: Option<String>,
}

impl DeferredResource {
    /// Reads a deferred resource.
    ///
    /// # Errors
    /// [`ModelError`] names the field that cannot be read.
    pub fn read(object: &Value) -> Result<Self, ModelError> {
        let spec = SpecField::root(object).at("spec");
        let resource = spec.at("resource");
        let Some(wanted @ Value::Object(_)) = resource.value() else {
            return Err(resource.error("is missing: it says what to make"));
        };
        for name in ["apiVersion", "kind"] {
            resource.at(name).required_text("says which kind to make")?;
        }
        let name = resource.at("metadata").at("name");
        if !crate::render::is_name(&name.required_text("names what is made")?) {
            return Err(name.error("is no name"));
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
            kind: field.at("kind").required_text("says what to wait for")?,
            name: field.at("name").required_text("says what to wait for")?,
            condition: field.at("condition").non_empty_text()?,
        })
    }
}
