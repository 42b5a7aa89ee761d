//! Which options each integration has, so that a shard's option is known to be understood.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The options of qontract-reconcile's integrations.
const RECORDED: &str = include_str!("../data/meta.json");

/// Options by integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta(BTreeMap<String, BTreeSet<String>>);

/// A file that does not say which options there are.
#[derive(Debug, thiserror::Error)]
#[error("could not read options of integrations")]
pub struct MetaError(#[from] serde_json::Error);

impl Default for Meta {
    fn default() -> Self {
        Self::parse(RECORDED).expect("what is recorded is JSON")
    }
}

impl Meta {
    /// Options from JSON: lists of options by name, or `{name: {args: […]}}` as qontract-reconcile tells them.
    ///
    /// # Errors
    /// When the text is neither.
    pub fn parse(text: &str) -> Result<Self, MetaError> {
        let whole: Map<String, Value> = serde_json::from_str(text)?;
        let mut options = BTreeMap::new();
        for (name, value) in whole {
            let args = value.get("args").cloned().unwrap_or(value);
            options.insert(name, serde_json::from_value(args)?);
        }
        Ok(Self(options))
    }

    /// What is added or replaced.
    pub fn extend(&mut self, other: Meta) {
        self.0.extend(other.0);
    }

    /// Whether an integration has an option; `None` when nothing is known of it.
    pub fn has(&self, integration: &str, option: &str) -> Option<bool> {
        Some(self.0.get(integration)?.contains(option))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn recorded_options_are_known_and_others_can_be_told() {
        let mut meta = Meta::default();
        assert_eq!(meta.has("terraform-resources", "--account-name"), Some(true));
        assert_eq!(meta.has("terraform-resources", "--org-id"), Some(false));
        assert_eq!(meta.has("my-own", "--org-id"), None);
        meta.extend(Meta::parse(r#"{"my-own": ["--org-id"], "other": {"name": "other", "args": []}}"#).unwrap());
        assert_eq!((meta.has("my-own", "--org-id"), meta.has("other", "--x")), (Some(true), Some(false)));
        assert!(Meta::parse("[]").is_err());
    }
}
