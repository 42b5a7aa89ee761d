//! A program that takes part in an integration.

use serde_json::Value;

use super::field::{ModelError, SpecField};

/// How long an apparatus may be idle before its pod is stopped, when it does not say.
pub const DEFAULT_IDLE_TIMEOUT_S: u32 = 60;

/// An apparatus: where it is reached, and the pod it runs in.
#[derive(Clone, Debug, PartialEq)]
pub struct ApparatusSpec {
    /// A URL, or the path under which the pod serves; empty for its root.
    pub endpoint: String,
    /// How long its pod may be idle before it is stopped.
    pub idle_timeout_s: u32,
    /// How long an answer is waited for, when it says so.
    pub timeout_s: Option<u32>,
    /// The containers of its pod; none for a program that runs elsewhere.
    pub containers: Vec<Value>,
    /// All of it as it was written: besides the above, whatever else a pod's spec has, or a `template` with metadata and spec.
    pub raw: Value,
}

impl ApparatusSpec {
    pub(super) fn read(field: &SpecField<'_>) -> Result<Option<Self>, ModelError> {
        let Some(written) = field.value() else { return Ok(None) };
        if !written.is_object() {
            return Err(field.error("is no object"));
        }
        let direct = field.at("containers");
        let containers = match direct.is_set() {
            true => direct,
            false => field.at("template").at("spec").at("containers"),
        };
        let containers = containers.items()?.iter().filter_map(|item| item.value().cloned()).collect();
        Ok(Some(Self {
            endpoint: field.at("endpoint").text()?.unwrap_or_default(),
            idle_timeout_s: field.at("idleTimeout").count()?.unwrap_or(DEFAULT_IDLE_TIMEOUT_S),
            timeout_s: field.at("timeout").count()?,
            containers,
            raw: written.clone(),
        }))
    }

    /// Whether it has a pod of its own.
    pub fn has_pod(&self) -> bool {
        !self.containers.is_empty()
    }
}
