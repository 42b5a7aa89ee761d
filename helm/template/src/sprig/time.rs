//! Go's `time`: times with a zone, durations, and layouts based on the reference time.

mod duration;
mod element;
mod format;
mod layout;
mod parse;
mod zone;

pub use duration::GoDuration;
pub use parse::parse_in;
pub use zone::Zone;

use switchboard_object::quote::quote_for_time;

const DAY_SECONDS: i64 = 86_400;
/// Seconds from 1970 to Go's zero time in year 1.
const ZERO_TIME: i64 = -62_135_596_800;

pub(super) const LONG_MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const LONG_DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A point in time with a zone for display: Go's `time.Time`.
#[derive(Debug, Clone)]
pub struct GoTime {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
    /// Zone for display.
    pub zone: Zone,
}

/// Date and time of day in the zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilTime {
    /// Year; `-1` is 2 BC.
    pub year: i64,
    /// Month, from 1 to 12.
    pub month: i64,
    /// Day, from 1 to 31.
    pub day: i64,
    /// Hour of the day.
    pub hour: i64,
    /// Minute of the hour.
    pub minute: i64,
    /// Second of the minute.
    pub second: i64,
    /// Days since 1970.
    pub days: i64,
}

impl CivilTime {
    /// Returns the day of the week, from 0 for Sunday.
    pub fn weekday(&self) -> usize {
        (self.days + 4).rem_euclid(7) as usize
    }

    /// Returns the day of the year, from 1 to 366.
    pub fn year_day(&self) -> i64 {
        self.days - days_from_civil(self.year, 1, 1) + 1
    }
}

impl GoTime {
    /// Implements Go's `time.Unix`.
    pub fn unix(seconds: i64, nanos: u32, zone: Zone) -> GoTime {
        GoTime { seconds, nanos, zone }
    }

    /// Returns Go's `time.Time{}`.
    pub fn zero() -> GoTime {
        GoTime { seconds: ZERO_TIME, nanos: 0, zone: Zone::Utc }
    }

    /// Implements Go's `IsZero`.
    pub fn is_zero(&self) -> bool {
        self.seconds == ZERO_TIME && self.nanos == 0
    }

    /// Implements Go's `time.Date`. A local time that does not exist or exists twice is resolved as in Go.
    pub fn from_civil(date: (i64, i64, i64), clock: (i64, i64, i64), nanos: u32, zone: Zone) -> GoTime {
        let days = days_from_civil(date.0, date.1, date.2);
        let mut seconds = days * DAY_SECONDS + clock.0 * 3600 + clock.1 * 60 + clock.2;
        let (_, first) = zone.lookup(seconds);
        if first != 0 {
            let (_, offset) = zone.lookup(seconds - first);
            seconds -= offset;
        }
        GoTime { seconds, nanos, zone }
    }

    /// Returns the same time in another zone.
    pub fn in_zone(&self, zone: Zone) -> GoTime {
        GoTime { zone, ..self.clone() }
    }

    /// Implements Go's `Add`, including its overflow.
    pub fn plus(&self, span: GoDuration) -> GoTime {
        let nanos = i64::from(self.nanos) + span.0 % 1_000_000_000;
        GoTime {
            seconds: self.seconds.wrapping_add(span.0 / 1_000_000_000).wrapping_add(nanos.div_euclid(1_000_000_000)),
            nanos: nanos.rem_euclid(1_000_000_000) as u32,
            zone: self.zone.clone(),
        }
    }

    /// Implements Go's `Sub`, which returns the longest duration for times that are too far apart.
    pub fn since(&self, earlier: &GoTime) -> GoDuration {
        let seconds = i128::from(self.seconds) - i128::from(earlier.seconds);
        let nanos = seconds * 1_000_000_000 + i128::from(self.nanos) - i128::from(earlier.nanos);
        GoDuration(nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// Implements Go's `GoString`.
    pub fn go_syntax(&self) -> String {
        let c = self.civil();
        let month = LONG_MONTHS.get((c.month - 1) as usize).copied().unwrap_or_default();
        let zone = match &self.zone {
            Zone::Utc => "time.UTC".to_string(),
            Zone::Local(_) => "time.Local".to_string(),
            other => format!("time.Location({})", quote_for_time(other.name().as_bytes())),
        };
        let clock = format!("{}, {}, {}, {}", c.hour, c.minute, c.second, self.nanos);
        format!("time.Date({}, time.{month}, {}, {clock}, {zone})", c.year, c.day)
    }

    /// Returns date and time of day in the zone.
    pub fn civil(&self) -> CivilTime {
        let (_, offset) = self.zone.lookup(self.seconds);
        let local = self.seconds.wrapping_add(offset);
        let (days, rest) = (local.div_euclid(DAY_SECONDS), local.rem_euclid(DAY_SECONDS));
        let (year, month, day) = civil_from_days(days);
        CivilTime { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60, days }
    }
}

/// Returns the days from 1970 to a date of the proleptic Gregorian calendar.
pub(super) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[cfg(test)]
mod tests;
