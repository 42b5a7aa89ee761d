//! Releases: named installations of a chart.

use switchboard_object::quote::quote;

/// Maximum length of a release's name.
const MAX_NAME_BYTES: usize = 53;
const PATTERN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A release, as in `.Release`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Name.
    pub name: String,
    /// Target namespace.
    pub namespace: String,
    /// Whether the release replaces an existing one.
    pub is_upgrade: bool,
    /// Revision, starting at 1.
    pub revision: i64,
}

impl Release {
    /// Creates the first revision of a release.
    pub fn new(name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self { name: name.into(), namespace: namespace.into(), is_upgrade: false, revision: 1 }
    }

    /// Checks the name, as Helm does.
    ///
    /// # Errors
    /// If the name is missing, too long or has invalid characters.
    pub fn check_name(&self) -> Result<(), ReleaseNameError> {
        if self.name.is_empty() {
            return Err(ReleaseNameError::Missing);
        }
        let part = |part: &str| {
            let inner = part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            !part.is_empty() && inner && !part.starts_with('-') && !part.ends_with('-')
        };
        if self.name.len() > MAX_NAME_BYTES || !self.name.split('.').all(part) {
            return Err(ReleaseNameError::Invalid(self.name.clone()));
        }
        Ok(())
    }
}

/// Error for an invalid release name, with Helm's text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseNameError {
    /// The name is empty.
    #[error("release name check failed: release name \"\": no name provided")]
    Missing,
    /// The name does not suit Kubernetes objects.
    #[error(
        "release name check failed: release name {}: invalid release name, must match regex {PATTERN} and the length must not be longer than {MAX_NAME_BYTES}", quote(.0))]
    Invalid(String),
}
