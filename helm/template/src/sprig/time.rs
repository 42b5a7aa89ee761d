//! Go's `time`: moments with a zone, durations, and layouts written as the reference time.

mod duration;
mod format;
mod layout;
mod parse;
mod zone;

pub use duration::Span;
pub use parse::parse_in;
pub use zone::Zone;

const DAY_SECONDS: i64 = 86_400;
/// Seconds from year 1, where Go's zero time is, to 1970.
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

/// A point in time, shown in a zone: Go's `time.Time`.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds into the second.
    pub nanos: u32,
    /// Where it is shown.
    pub zone: Zone,
}

/// Date and clock of a moment in its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// Year, as in `-1` for 2 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// Hours of the day.
    pub hour: i64,
    /// Minutes of the hour.
    pub minute: i64,
    /// Seconds of the minute.
    pub second: i64,
    /// Days since 1970.
    pub days: i64,
}

impl Civil {
    /// 0 is Sunday.
    pub fn weekday(&self) -> usize {
        (self.days + 4).rem_euclid(7) as usize
    }

    /// 1 to 366.
    pub fn year_day(&self) -> i64 {
        self.days - days_from_civil(self.year, 1, 1) + 1
    }
}

impl Moment {
    /// Go's `time.Unix`.
    pub fn unix(seconds: i64, nanos: u32, zone: Zone) -> Moment {
        Moment { seconds, nanos, zone }
    }

    /// Go's `time.Time{}`.
    pub fn zero() -> Moment {
        Moment { seconds: ZERO_TIME, nanos: 0, zone: Zone::Utc }
    }

    /// Go's `IsZero`.
    pub fn is_zero(&self) -> bool {
        self.seconds == ZERO_TIME && self.nanos == 0
    }

    /// Go's `time.Date`: a clock reading that does not exist or exists twice is settled as Go does.
    pub fn from_civil(date: (i64, i64, i64), clock: (i64, i64, i64), nanos: u32, zone: Zone) -> Moment {
        let days = days_from_civil(date.0, date.1, date.2);
        let mut seconds = days * DAY_SECONDS + clock.0 * 3600 + clock.1 * 60 + clock.2;
        let (_, first) = zone.lookup(seconds);
        if first != 0 {
            let (_, offset) = zone.lookup(seconds - first);
            seconds -= offset;
        }
        Moment { seconds, nanos, zone }
    }

    /// The same moment elsewhere.
    pub fn shown_in(&self, zone: Zone) -> Moment {
        Moment { zone, ..self.clone() }
    }

    /// Go's `Add`; wraps where Go's does.
    pub fn plus(&self, span: Span) -> Moment {
        let nanos = i64::from(self.nanos) + span.0 % 1_000_000_000;
        Moment {
            seconds: self.seconds.wrapping_add(span.0 / 1_000_000_000).wrapping_add(nanos.div_euclid(1_000_000_000)),
            nanos: nanos.rem_euclid(1_000_000_000) as u32,
            zone: self.zone.clone(),
        }
    }

    /// Go's `Sub`: too far apart is the longest span.
    pub fn since(&self, earlier: &Moment) -> Span {
        let seconds = i128::from(self.seconds) - i128::from(earlier.seconds);
        let nanos = seconds * 1_000_000_000 + i128::from(self.nanos) - i128::from(earlier.nanos);
        Span(nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// Go's `GoString`.
    pub fn go_syntax(&self) -> String {
        let c = self.civil();
        let month = LONG_MONTHS.get((c.month - 1) as usize).copied().unwrap_or_default();
        let zone = match &self.zone {
            Zone::Utc => "time.UTC".to_string(),
            Zone::Local(_) => "time.Local".to_string(),
            other => format!("time.Location({})", quote(other.name().as_bytes())),
        };
        let clock = format!("{}, {}, {}, {}", c.hour, c.minute, c.second, self.nanos);
        format!("time.Date({}, time.{month}, {}, {clock}, {zone})", c.year, c.day)
    }

    /// Date and clock in the moment's zone.
    pub fn civil(&self) -> Civil {
        let (_, offset) = self.zone.lookup(self.seconds);
        let local = self.seconds.wrapping_add(offset);
        let (days, rest) = (local.div_euclid(DAY_SECONDS), local.rem_euclid(DAY_SECONDS));
        let (year, month, day) = civil_from_days(days);
        Civil { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60, days }
    }
}

/// Days since 1970 of a date of the Gregorian calendar, extended both ways.
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

/// The way Go's `time` quotes: every byte that is not printable ASCII as `\x..`.
pub(super) fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..0x80 => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests;
