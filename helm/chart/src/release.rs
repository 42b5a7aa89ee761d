//! A release: what a chart becomes when it is rendered for somebody.

/// How long a release's name may be.
const MAX_NAME_BYTES: usize = 53;
const PATTERN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// What `.Release` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its name.
    pub name: String,
    /// The namespace it goes to.
    pub namespace: String,
    /// Whether it replaces one that is there.
    pub is_upgrade: bool,
    /// How often it was installed before, plus one.
    pub revision: i64,
}

impl Release {
    /// The first of its name.
    pub fn new(name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self { name: name.into(), namespace: namespace.into(), is_upgrade: false, revision: 1 }
    }

    /// Checks the name, as Helm does.
    ///
    /// # Errors
    /// When it is missing, too long or has other characters.
    pub fn check_name(&self) -> Result<(), NameError> {
        if self.name.is_empty() {
            return Err(NameError::Missing);
        }
        let part = |part: &str| {
            let inner = part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            !part.is_empty() && inner && !part.starts_with('-') && !part.ends_with('-')
        };
        if self.name.len() > MAX_NAME_BYTES || !self.name.split('.').all(part) {
            return Err(NameError::Invalid(self.name.clone()));
        }
        Ok(())
    }
}

/// A name no release can have, in Helm's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// None at all.
    #[error("release name check failed: release name \"\": no name provided")]
    Missing,
    /// Not one that objects could carry.
    #[error(
        "release name check failed: release name {0:?}: invalid release name, must match regex {PATTERN} and the length must not be longer than {MAX_NAME_BYTES}"
    )]
    Invalid(String),
}
