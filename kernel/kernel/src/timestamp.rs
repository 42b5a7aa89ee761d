//! Time of the kernel, passed in by its driver.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch. The driver passes times that never go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the time after a delay, saturating at the maximum.
    pub fn after(self, wait: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Returns the time since `earlier`; zero if that is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Converts to a calendar time.
    pub fn to_jiff(self) -> jiff::Timestamp {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX)
    }
}

/// Formats as RFC 3339 in UTC.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_jiff().fmt(f)
    }
}
