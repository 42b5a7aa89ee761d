//! What a run is told beside the data.

use std::collections::BTreeMap;

use crate::meta::Meta;
use crate::model::Scope;

/// The image unless another is named.
pub const DEFAULT_IMAGE: &str = "quay.io/app-sre/qontract-reconcile";
/// The upstream unless another is named.
pub const DEFAULT_UPSTREAM: &str = "https://github.com/app-sre/qontract-reconcile";
/// How much of a commit is an image's tag, unless the data says otherwise.
pub const DEFAULT_HASH_LENGTH: usize = 7;

/// What a run is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Which part of the data, and whether exactly as the original.
    pub scope: Scope,
    /// The image of all integrations; [`DEFAULT_IMAGE`] when absent.
    pub image: Option<String>,
    /// References to commits by environment, whose images are taken.
    pub image_tag_from_ref: BTreeMap<String, String>,
    /// Variables of the process: those that are parameters of the chart are taken.
    pub variables: BTreeMap<String, String>,
    /// Commits of references, by upstream and reference.
    pub commits: BTreeMap<(String, String), String>,
    /// Which options integrations have.
    pub meta: Meta,
}

impl Settings {
    /// Whose objects these are.
    pub fn caller(&self) -> &str {
        self.scope.upstream.as_deref().unwrap_or(DEFAULT_UPSTREAM)
    }

    /// The image of all integrations.
    pub fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(DEFAULT_IMAGE)
    }

    /// The commit of a reference: what is told, or the reference itself when it is a whole commit.
    ///
    /// # Errors
    /// When it is neither.
    pub fn commit(&self, reference: &str) -> Result<String, String> {
        let upstream = self.caller();
        if let Some(commit) = self.commits.get(&(upstream.to_string(), reference.to_string())) {
            return Ok(commit.clone());
        }
        if reference.len() == 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(reference.to_string());
        }
        Err(format!(
            "the commit of `{reference}` in {upstream} is not known; tell it with `--commit {reference}=COMMIT` or under `commits`"
        ))
    }
}

/// `ENV=REF`, as `--image-tag-from-ref` has it.
///
/// # Errors
/// When there is not exactly one `=` with something on both sides.
pub fn reference(text: &str) -> Result<(String, String), String> {
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
        assert_eq!(reference("stage=main"), Ok(("stage".to_string(), "main".to_string())));
        for wrong in ["stage", "stage=", "=main", "a=b=c", ""] {
            assert!(reference(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_commit_is_told_or_is_one() {
        let sha = "0123456789abcdef0123456789abcdef01234567".to_string();
        let mut settings = Settings::default();
        assert_eq!(settings.commit(&sha), Ok(sha.clone()));
        assert!(settings.commit("main").is_err());
        settings.commits.insert((DEFAULT_UPSTREAM.to_string(), "main".to_string()), sha.clone());
        assert_eq!(settings.commit("main"), Ok(sha));
    }
}
