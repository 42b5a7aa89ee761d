//! Go's `time.Parse` for the two layouts Kubernetes uses, with its error texts.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Reads `metav1.Time` and gives the text Go writes for it: UTC, whole seconds.
pub(crate) fn time(text: &str) -> Result<String, String> {
    let parsed = Reader::new(SECONDS, text).read(false)?;
    Ok(format!("{}", parsed.at.strftime("%Y-%m-%dT%H:%M:%SZ")))
}

/// Reads `metav1.MicroTime` and gives the text Go writes for it: UTC, microseconds.
pub(crate) fn micro_time(text: &str) -> Result<String, String> {
    let parsed = Reader::new(MICROSECONDS, text).read(true)?;
    Ok(format!("{}.{:06}Z", parsed.at.strftime("%Y-%m-%dT%H:%M:%S"), parsed.nanoseconds / 1000))
}

struct Parsed {
    at: Timestamp,
    nanoseconds: u32,
}

struct Reader<'a> {
    layout: &'static str,
    whole: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn new(layout: &'static str, whole: &'a str) -> Self {
        Self { layout, whole, rest: whole }
    }

    fn read(mut self, micro: bool) -> Result<Parsed, String> {
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
            return Err(self.range(&format!("extra text: {:?}", self.rest)));
        }
        let date = Date::new(year as i16, month as i8, day as i8).map_err(|_| self.range("day out of range"))?;
        let civil = date.at(hour as i8, minute as i8, second as i8, 0);
        let at = Offset::UTC.to_timestamp(civil).map_err(|_| self.range("day out of range"))?;
        let at = Timestamp::from_second(at.as_second() - offset).map_err(|_| self.range("day out of range"))?;
        Ok(Parsed { at, nanoseconds })
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

    /// One or two digits; `fixed` demands two.
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

    /// Go takes a fraction of a second even where the layout has none.
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

    /// Seconds east of UTC.
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
        format!("parsing time {:?} as {:?}: cannot parse {at:?} as {element:?}", self.whole, self.layout)
    }

    fn range(&self, message: &str) -> String {
        format!("parsing time {:?}: {message}", self.whole)
    }
}

fn nanoseconds(digits: &str) -> u32 {
    let nine: String = digits.chars().chain(std::iter::repeat('0')).take(9).collect();
    nine.parse().unwrap_or(0)
}
