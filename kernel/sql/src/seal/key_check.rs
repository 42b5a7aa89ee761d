//! Verification that the given keys are those that sealed the credentials.

use std::collections::BTreeMap;

use super::{CredentialCell, SEALED, SealError, Sealer};

/// Results of opening credentials, by the id of their key.
///
/// A wrong key with the right id shows only when it opens something. A single credential that does not open may be
/// damaged; if none of a key opens, the key is wrong.
#[derive(Debug, Default)]
pub(crate) struct KeyCheck(BTreeMap<String, Option<SealError>>);

impl KeyCheck {
    /// Opens a stored credential, unless its key is verified already.
    pub(crate) fn open(&mut self, sealer: &Sealer, stored: &str, cell: CredentialCell<'_>) {
        let Some((id, _)) = stored.strip_prefix(SEALED).and_then(|rest| rest.split_once(':')) else { return };
        if self.0.get(id).is_some_and(Option::is_none) {
            return;
        }
        match sealer.open(stored, cell) {
            Ok(_) => {
                self.0.insert(id.to_string(), None);
            }
            Err(error) => {
                self.0.entry(id.to_string()).or_insert(Some(error));
            }
        }
    }

    /// Returns the error of the first key that opened none of its credentials.
    ///
    /// # Errors
    /// When there is such a key.
    pub(crate) fn end(self) -> Result<(), SealError> {
        self.0.into_values().flatten().next().map_or(Ok(()), Err)
    }
}
