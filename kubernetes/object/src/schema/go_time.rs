//! Go's `time.Parse` for the two layouts Kubernetes uses, with its error texts.

use crate::quote::quote_for_time;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Parses `metav1.Time` and returns Go's output for it: UTC, whole seconds.
pub(crate) fn time(text: &str) -> Result<String, String> {
    Ok(format!("{}Z", parse(text)?.civil()))
}

/// Parses `metav1.MicroTime` and returns Go's output for it: UTC, microseconds.
pub(crate) fn micro_time(text: &str) -> Result<String, String> {
    let at = TimeParser::new(MICROSECONDS, text).read(true)?;
    Ok(format!("{}.{:06}Z", at.civil(), at.nanoseconds / 1000))
}

/// Parses an RFC 3339 time.
pub(crate) fn parse(text: &str) -> Result<GoTime, String> {
    TimeParser::new(SECONDS, text).read(false)
}

/// Time since 1970 in UTC.
pub(crate) struct GoTime {
    pub seconds: i64,
    pub nanoseconds: u32,
}

const DAY: i64 = 86_400;

impl GoTime {
    /// Returns date and time without the zone.
    pub fn civil(&self) -> String {
        let (days, second) = (self.seconds.div_euclid(DAY), self.seconds.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

/// Returns the days since 1970 of a date. Years start in March here, so that leap days come last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Returns the date of a number of days since 1970.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

fn days_in(year: i32, month: i32) -> i32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

struct TimeParser<'a> {
    layout: &'static str,
    whole: &'a str,
    rest: &'a str,
}

impl<'a> TimeParser<'a> {
    fn new(layout: &'static str, whole: &'a str) -> Self {
        Self { layout, whole, rest: whole }
    }

    fn read(mut self, micro: bool) -> Result<GoTime, String> {
        let year = self.year()?;
        self.skip("-")?;
        let month = self.number("01", true)?;
        self.within(month, 1..=12, "month")?;
        self.skip("-")?;
        let day = self.number("02", true)?;
        self.skip("T")?;
        let hour = self.number("15", false)?;
        self.within(hour, 0..=23, "hour")?;
        self.skip(":")?;
        let minute = self.number("04", true)?;
        self.within(minute, 0..=59, "minute")?;
        self.skip(":")?;
        let second = self.number("05", true)?;
        self.within(second, 0..=59, "second")?;
        let nanoseconds = if micro { self.fixed_fraction()? } else { self.fraction() };
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            return Err(self.range(&format!("extra text: {}", quote(self.rest))));
        }
        if day < 1 || day > days_in(year, month) {
            return Err(self.range("day out of range"));
        }
        let days = days_of(i64::from(year), i64::from(month), i64::from(day));
        let second = i64::from(hour * 3600 + minute * 60 + second);
        Ok(GoTime { seconds: days * DAY + second - offset, nanoseconds })
    }

    fn year(&mut self) -> Result<i32, String> {
        match self.rest.get(..4).filter(|y| y.bytes().all(|b| b.is_ascii_digit())) {
            Some(year) => {
                self.rest = &self.rest[4..];
                Ok(year.parse().unwrap_or(0))
            }
            None => Err(self.element("2006", self.rest)),
        }
    }

    /// Reads one or two digits; `fixed` requires two.
    fn number(&mut self, element: &str, fixed: bool) -> Result<i32, String> {
        let bytes = self.rest.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let length = match (digit(0), digit(1)) {
            (true, true) => 2,
            (true, false) if !fixed => 1,
            _ => return Err(self.element(element, self.rest)),
        };
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(number.parse().unwrap_or(0))
    }

    fn within(&self, number: i32, range: std::ops::RangeInclusive<i32>, what: &str) -> Result<(), String> {
        if range.contains(&number) { Ok(()) } else { Err(self.range(&format!("{what} out of range"))) }
    }

    fn skip(&mut self, prefix: &str) -> Result<(), String> {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.element(prefix, self.rest)),
        }
    }

    /// Reads a fraction of a second, which Go accepts even if the layout has none.
    fn fraction(&mut self) -> u32 {
        let bytes = self.rest.as_bytes();
        if !matches!(bytes.first(), Some(b'.' | b',')) || !bytes.get(1).is_some_and(u8::is_ascii_digit) {
            return 0;
        }
        let digits = bytes[1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let nanoseconds = nanoseconds(&self.rest[1..=digits]);
        self.rest = &self.rest[1 + digits..];
        nanoseconds
    }

    fn fixed_fraction(&mut self) -> Result<u32, String> {
        const ELEMENT: &str = ".000000";
        let fraction = self.rest.get(..ELEMENT.len());
        match fraction.filter(|f| f.starts_with(['.', ',']) && f[1..].bytes().all(|b| b.is_ascii_digit())) {
            Some(fraction) => {
                self.rest = &self.rest[ELEMENT.len()..];
                Ok(nanoseconds(&fraction[1..]))
            }
            None => Err(self.element(ELEMENT, self.rest)),
        }
    }

    /// Reads the zone: seconds east of UTC.
    fn zone(&mut self) -> Result<i64, String> {
        const ELEMENT: &str = "Z07:00";
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let hold = self.rest;
        let bytes = hold.as_bytes();
        if bytes.len() < 6 || bytes[3] != b':' || !hold.is_char_boundary(6) {
            return Err(self.element(ELEMENT, hold));
        }
        let pair = |at: usize| hold.get(at..at + 2).filter(|p| p.bytes().all(|b| b.is_ascii_digit()));
        let (Some(hours), Some(minutes)) = (pair(1), pair(4)) else { return Err(self.element(ELEMENT, hold)) };
        self.rest = &hold[6..];
        let (hours, minutes): (i64, i64) = (hours.parse().unwrap_or(0), minutes.parse().unwrap_or(0));
        if hours > 24 {
            return Err(self.range("time zone offset hour out of range"));
        }
        if minutes > 60 {
            return Err(self.range("time zone offset minute out of range"));
        }
        let seconds = (hours * 60 + minutes) * 60;
        match bytes[0] {
            b'+' => Ok(seconds),
            b'-' => Ok(-seconds),
            _ => Err(self.element(ELEMENT, hold)),
        }
    }

    fn element(&self, element: &str, at: &str) -> String {
        let [whole, layout, at, element] = [self.whole, self.layout, at, element].map(quote);
        format!("parsing time {whole} as {layout}: cannot parse {at} as {element}")
    }

    fn range(&self, message: &str) -> String {
        format!("parsing time {}: {message}", quote(self.whole))
    }
}

fn quote(text: &str) -> String {
    quote_for_time(text.as_bytes())
}

fn nanoseconds(digits: &str) -> u32 {
    let nine: String = digits.chars().chain(std::iter::repeat('0')).take(9).collect();
    nine.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests;
