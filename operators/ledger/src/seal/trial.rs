//! Whether the keys that were given are those that were used.

use std::collections::BTreeMap;

use super::{Place, SEALED, SealError, Sealing};

/// What came of opening credentials, by the id of the key they are sealed with.
///
/// A key of the right id may be the wrong one, and is only known by what it opens. One credential that does not open may have been
/// damaged; when none of an id does, it is the key.
#[derive(Debug, Default)]
pub(crate) struct Trial(BTreeMap<String, Option<SealError>>);

impl Trial {
    /// Tries to open what is stored, unless its key is known to be the right one.
    pub(crate) fn open(&mut self, sealing: &Sealing, stored: &str, place: Place<'_>) {
        let Some((id, _)) = stored.strip_prefix(SEALED).and_then(|rest| rest.split_once(':')) else { return };
        if self.0.get(id).is_some_and(Option::is_none) {
            return;
        }
        match sealing.open(stored, place) {
            Ok(_) => {
                self.0.insert(id.to_string(), None);
            }
            Err(error) => {
                self.0.entry(id.to_string()).or_insert(Some(error));
            }
        }
    }

    /// The first key that opened nothing of its own.
    ///
    /// # Errors
    /// When there is one.
    pub(crate) fn end(self) -> Result<(), SealError> {
        self.0.into_values().flatten().next().map_or(Ok(()), Err)
    }
}
