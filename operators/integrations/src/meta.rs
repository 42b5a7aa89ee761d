//! What is known of integrations themselves: which options each has, so that a shard's option is known to be understood, and which
//! schemas its images read, so that none is run that its own file forbids the data.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

/// The options of qontract-reconcile's integrations.
const RECORDED: &str = include_str!("../data/meta.json");

/// Options and schemas by integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    options: BTreeMap<String, BTreeSet<String>>,
    schemas: BTreeMap<String, Schemas>,
}

/// The schemas an integration reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct Schemas {
    /// In every image that is not named.
    #[serde(default)]
    schemas: BTreeSet<String>,
    /// By `imageRef`.
    #[serde(default)]
    images: BTreeMap<String, BTreeSet<String>>,
}

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
    /// Options from JSON: lists of options by name, or `{name: {args: […]}}` as qontract-reconcile tells them; there, `schemas` and
    /// `images: {imageRef: […]}` are the schemas it reads.
    ///
    /// # Errors
    /// When the text is neither.
    pub fn parse(text: &str) -> Result<Self, MetaError> {
        let whole: Map<String, Value> = serde_json::from_str(text)?;
        let (mut options, mut schemas) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in whole {
            let reads = value.get("schemas").is_some() || value.get("images").is_some();
            if reads {
                schemas.insert(name.clone(), serde_json::from_value(value.clone())?);
            }
            match value.get("args").cloned() {
                // Nothing is said of its options.
                None if reads => {}
                args => drop(options.insert(name, serde_json::from_value(args.unwrap_or(value))?)),
            }
        }
        Ok(Self { options, schemas })
    }

    /// What is added or replaced.
    pub fn extend(&mut self, other: Meta) {
        self.options.extend(other.options);
        self.schemas.extend(other.schemas);
    }

    /// The schemas that an image of an integration reads and that are not among `listed`; none where nothing is known of it.
    pub fn unlisted(&self, integration: &str, image: &str, listed: &[String]) -> Vec<&str> {
        let Some(known) = self.schemas.get(integration) else { return Vec::new() };
        let needed = known.images.get(image).unwrap_or(&known.schemas);
        needed.iter().filter(|schema| !listed.contains(schema)).map(String::as_str).collect()
    }

    /// Whether an integration has an option; `None` when nothing is known of it.
    pub fn has(&self, integration: &str, option: &str) -> Option<bool> {
        Some(self.options.get(integration)?.contains(option))
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
        meta.extend(
            Meta::parse(r#"{"terraform-resources": {"schemas": ["/a-1.yml"], "images": {"next": ["/b-1.yml"]}}}"#)
                .unwrap(),
        );
        assert_eq!(meta.has("terraform-resources", "--account-name"), Some(true), "its options are what they were");
        let listed = ["/a-1.yml".to_string()];
        assert!(meta.unlisted("terraform-resources", "", &listed).is_empty());
        assert_eq!(meta.unlisted("terraform-resources", "next", &listed), ["/b-1.yml"]);
    }
}
