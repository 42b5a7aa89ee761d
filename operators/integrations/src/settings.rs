//! Settings of a run.

use std::collections::BTreeMap;

use crate::meta::IntegrationMeta;
use crate::model::DataScope;

/// Default image.
pub const DEFAULT_IMAGE: &str = "quay.io/app-sre/qontract-reconcile";
/// Default upstream.
pub const DEFAULT_UPSTREAM: &str = "https://github.com/app-sre/qontract-reconcile";
/// Default length of image tags, which are abbreviated commits.
pub const DEFAULT_HASH_LENGTH: usize = 7;

/// Settings of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderSettings {
    /// Part of the data to read, and whether to match qontract-reconcile byte for byte.
    pub scope: DataScope,
    /// Image of all integrations; [`DEFAULT_IMAGE`] if `None`.
    pub image: Option<String>,
    /// Git references by environment whose commits are the image tags.
    pub image_tag_from_ref: BTreeMap<String, String>,
    /// Variables of the process; those that are parameters of the chart are used.
    pub variables: BTreeMap<String, String>,
    /// Commits by upstream and reference.
    pub commits: BTreeMap<(String, String), String>,
    /// Options of integrations.
    pub meta: IntegrationMeta,
}

impl RenderSettings {
    /// Returns the caller that objects are managed for.
    pub fn caller(&self) -> &str {
        self.scope.upstream.as_deref().unwrap_or(DEFAULT_UPSTREAM)
    }

    /// Returns the image of all integrations.
    pub fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(DEFAULT_IMAGE)
    }

    /// Returns the commit of a reference: the configured one, or the reference itself if it is a full SHA.
    ///
    /// # Errors
    /// If the commit is unknown.
    pub fn commit(&self, reference: &str) -> Result<String, String> {
        let upstream = self.caller();
        if let Some(commit) = self.commits.get(&(upstream.to_string(), reference.to_string())) {
            return Ok(commit.clone());
        }
        if reference.len() == 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(reference.to_string());
        }
        Err(format!(
            "the commit of `{reference}` in {upstream} is unknown; set it with `--commit {reference}=COMMIT` or under `commits`"
        ))
    }
}

/// Parses the `ENV=REF` of `--image-tag-from-ref`.
///
/// # Errors
/// If the text does not have exactly one `=` with text on both sides.
pub fn parse_reference(text: &str) -> Result<(String, String), String> {
    match text.split('=').collect::<Vec<_>>()[..] {
        [environment, reference] if !environment.is_empty() && !reference.is_empty() => {
            Ok((environment.to_string(), reference.to_string()))
        }
        _ => Err(format!("`{text}` is not ENV=REF")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_pairs() {
        assert_eq!(parse_reference("stage=main"), Ok(("stage".to_string(), "main".to_string())));
        for wrong in ["stage", "stage=", "=main", "a=b=c", ""] {
            assert!(parse_reference(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_commit_is_configured_or_a_full_sha() {
        let sha = "0123456789abcdef0123456789abcdef01234567".to_string();
        let mut settings = RenderSettings::default();
        assert_eq!(settings.commit(&sha), Ok(sha.clone()));
        assert!(settings.commit("main").is_err());
        settings.commits.insert((DEFAULT_UPSTREAM.to_string(), "main".to_string()), sha.clone());
        assert_eq!(settings.commit("main"), Ok(sha));
    }
}
