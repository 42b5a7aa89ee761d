//! Metadata of integrations: the options of each, to verify that it supports the option of its shards, and the schemas
//! that its images read, to avoid images that its own file does not permit to read the data.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

/// Recorded options of qontract-reconcile's integrations.
const RECORDED: &str = include_str!("../data/meta.json");

/// Options and schemas by integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegrationMeta {
    options: BTreeMap<String, BTreeSet<String>>,
    schemas: BTreeMap<String, SchemaLists>,
}

/// Schemas that an integration reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct SchemaLists {
    /// Schemas of every image that is not listed.
    #[serde(default)]
    schemas: BTreeSet<String>,
    /// Schemas by `imageRef`.
    #[serde(default)]
    images: BTreeMap<String, BTreeSet<String>>,
}

/// Error of reading the options of integrations.
#[derive(Debug, thiserror::Error)]
#[error("could not read options of integrations")]
pub struct IntegrationMetaError(#[from] serde_json::Error);

impl Default for IntegrationMeta {
    fn default() -> Self {
        Self::parse(RECORDED).expect("the recorded options are JSON")
    }
}

impl IntegrationMeta {
    /// Parses JSON: lists of options by name, or `{name: {args: […]}}` as printed by qontract-reconcile, with optional
    /// `schemas` and `images: {imageRef: […]}` for the schemas it reads.
    ///
    /// # Errors
    /// If the text has neither form.
    pub fn parse(text: &str) -> Result<Self, IntegrationMetaError> {
        let whole: Map<String, Value> = serde_json::from_str(text)?;
        let (mut options, mut schemas) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in whole {
            let reads = value.get("schemas").is_some() || value.get("images").is_some();
            if reads {
                schemas.insert(name.clone(), serde_json::from_value(value.clone())?);
            }
            match value.get("args").cloned() {
                // The entry contains no options.
                None if reads => {}
                args => drop(options.insert(name, serde_json::from_value(args.unwrap_or(value))?)),
            }
        }
        Ok(Self { options, schemas })
    }

    /// Adds or replaces entries.
    pub fn extend(&mut self, other: IntegrationMeta) {
        self.options.extend(other.options);
        self.schemas.extend(other.schemas);
    }

    /// Returns the schemas that an image reads and that are not in `listed`. Empty if nothing is known about the
    /// integration.
    pub fn unlisted(&self, integration: &str, image: &str, listed: &[String]) -> Vec<&str> {
        let Some(known) = self.schemas.get(integration) else { return Vec::new() };
        let needed = known.images.get(image).unwrap_or(&known.schemas);
        needed.iter().filter(|schema| !listed.contains(schema)).map(String::as_str).collect()
    }

    /// Whether an integration has an option; `None` if nothing is known about it.
    pub fn has_option(&self, integration: &str, option: &str) -> Option<bool> {
        Some(self.options.get(integration)?.contains(option))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn options_are_recorded_and_can_be_added() {
        let mut meta = IntegrationMeta::default();
        assert_eq!(meta.has_option("terraform-resources", "--account-name"), Some(true));
        assert_eq!(meta.has_option("terraform-resources", "--org-id"), Some(false));
        assert_eq!(meta.has_option("my-own", "--org-id"), None);
        meta.extend(
            IntegrationMeta::parse(r#"{"my-own": ["--org-id"], "other": {"name": "other", "args": []}}"#).unwrap(),
        );
        assert_eq!((meta.has_option("my-own", "--org-id"), meta.has_option("other", "--x")), (Some(true), Some(false)));
        assert!(IntegrationMeta::parse("[]").is_err());
        meta.extend(
            IntegrationMeta::parse(
                r#"{"terraform-resources": {"schemas": ["/a-1.yml"], "images": {"next": ["/b-1.yml"]}}}"#,
            )
            .unwrap(),
        );
        assert_eq!(
            meta.has_option("terraform-resources", "--account-name"),
            Some(true),
            "its options are what they were"
        );
        let listed = ["/a-1.yml".to_string()];
        assert!(meta.unlisted("terraform-resources", "", &listed).is_empty());
        assert_eq!(meta.unlisted("terraform-resources", "next", &listed), ["/b-1.yml"]);
    }
}
