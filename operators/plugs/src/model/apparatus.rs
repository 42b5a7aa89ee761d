//! Program that takes part in an integration.

use serde_json::Value;

use super::field::{ModelError, SpecField};

/// Default idle timeout of an apparatus in seconds.
pub const DEFAULT_IDLE_TIMEOUT_S: u32 = 60;

/// Specification of an apparatus: its endpoint, and the pod that it runs in.
#[derive(Clone, Debug, PartialEq)]
pub struct ApparatusSpec {
    /// URL, or the path that the pod serves; empty for the root path.
    pub endpoint: String,
    /// Idle time after which the pod is stopped, in seconds.
    pub idle_timeout_s: u32,
    /// Timeout of calls in seconds, if specified.
    pub timeout_s: Option<u32>,
    /// Containers of the pod; none for an external program.
    pub containers: Vec<Value>,
    /// Complete field as written: also other fields of a pod spec, or a `template` with metadata and spec.
    pub raw: Value,
}

impl ApparatusSpec {
    pub(super) fn read(field: &SpecField<'_>) -> Result<Option<Self>, ModelError> {
        let Some(written) = field.value() else { return Ok(None) };
        if !written.is_object() {
            return Err(field.error("must be an object"));
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

    /// Whether the apparatus has a pod of its own.
    pub fn has_pod(&self) -> bool {
        !self.containers.is_empty()
    }
}
