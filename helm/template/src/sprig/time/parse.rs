//! Moments from text.

use thiserror::Error;

use super::layout::{Element, Fraction, Offset, next};
use super::{LONG_DAYS, LONG_MONTHS, Moment, Zone, days_from_civil, is_leap, quote};

/// What Go says of a text that does not fit its layout.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ParseTimeError(String);

/// An element does not fit; the caller knows where.
struct Misfit;

type Taken<'a, T> = Result<(T, &'a [u8]), Misfit>;

/// What has been read so far.
#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: u32,
    morning: bool,
    afternoon: bool,
    utc: bool,
    offset: Option<i64>,
    zone_name: String,
    /// A value that is none: what it is of.
    out_of_range: Option<&'static str>,
}

/// Go's `time.ParseInLocation`.
pub fn parse_in(layout: &[u8], value: &[u8], local: &Zone) -> Result<Moment, ParseTimeError> {
    let mut fields = Fields::default();
    let (mut rest, mut left) = (layout, value);
    let misfit = |element: &[u8], at: &[u8]| {
        let (value, layout) = (quote(value), quote(layout));
        ParseTimeError(format!("parsing time {value} as {layout}: cannot parse {} as {}", quote(at), quote(element)))
    };
    let remark = |message: &str| ParseTimeError(format!("parsing time {}: {message}", quote(value)));
    loop {
        let (prefix, element, tail) = next(rest);
        left = skip(left, prefix).map_err(|at| misfit(prefix, at))?;
        let Some(element) = element else {
            if !left.is_empty() {
                return Err(remark(&format!("extra text: {}", quote(left))));
            }
            break;
        };
        let written = &rest[prefix.len()..rest.len() - tail.len()];
        rest = tail;
        let taken = fields.take(element, left, rest);
        if let Some(what) = fields.out_of_range {
            return Err(remark(&format!("{what} out of range")));
        }
        left = taken.map_err(|Misfit| misfit(written, left))?;
    }
    fields.settle(local).map_err(remark)
}

fn skip<'a>(mut value: &'a [u8], mut prefix: &[u8]) -> Result<&'a [u8], &'a [u8]> {
    while let [first, tail @ ..] = prefix {
        if *first == b' ' {
            if value.first().is_some_and(|c| *c != b' ') {
                return Err(value);
            }
            prefix = trim_spaces(prefix);
            value = trim_spaces(value);
            continue;
        }
        match value {
            [c, rest @ ..] if c == first => (prefix, value) = (tail, rest),
            _ => return Err(value),
        }
    }
    Ok(value)
}

fn trim_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|c| **c == b' ').count();
    &text[spaces..]
}

impl Fields {
    fn take<'a>(&mut self, element: Element, value: &'a [u8], rest: &[u8]) -> Result<&'a [u8], Misfit> {
        match element {
            Element::Year => {
                let (digits, left) = value.split_at_checked(2).ok_or(Misfit)?;
                let year = atoi(digits)?;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
                Ok(left)
            }
            Element::LongYear => {
                let (digits, left) = value.split_at_checked(4).filter(|v| v.0[0].is_ascii_digit()).ok_or(Misfit)?;
                self.year = atoi(digits)?;
                Ok(left)
            }
            Element::Month => self.named_month(lookup(&LONG_MONTHS, Some(3), value)),
            Element::LongMonth => self.named_month(lookup(&LONG_MONTHS, None, value)),
            Element::NumMonth | Element::ZeroMonth => {
                let (month, left) = number(value, element == Element::ZeroMonth)?;
                self.limit(!(1..=12).contains(&month), "month");
                self.month = Some(month);
                Ok(left)
            }
            Element::WeekDay => lookup(&LONG_DAYS, Some(3), value).map(|(_, left)| left),
            Element::LongWeekDay => lookup(&LONG_DAYS, None, value).map(|(_, left)| left),
            Element::Day | Element::UnderDay | Element::ZeroDay => {
                let value =
                    if element == Element::UnderDay { value.strip_prefix(b" ").unwrap_or(value) } else { value };
                let (day, left) = number(value, element == Element::ZeroDay)?;
                self.day = Some(day);
                Ok(left)
            }
            Element::UnderYearDay | Element::ZeroYearDay => self.take_year_day(element, value),
            Element::Hour | Element::Hour12 | Element::ZeroHour12 | Element::Minute | Element::ZeroMinute => {
                self.take_clock(element, value)
            }
            Element::Second | Element::ZeroSecond => self.take_second(element, value, rest),
            Element::UpperPm => self.take_half(value, b"AM", b"PM"),
            Element::LowerPm => self.take_half(value, b"am", b"pm"),
            Element::Offset(form) => self.take_offset(form, value),
            Element::ZoneName => self.take_zone(value),
            Element::Fraction(form) => self.take_fraction(form, value),
        }
    }

    fn limit(&mut self, breached: bool, what: &'static str) {
        if breached {
            self.out_of_range = Some(what);
        }
    }

    fn named_month<'a>(&mut self, found: Taken<'a, usize>) -> Result<&'a [u8], Misfit> {
        let (index, left) = found?;
        self.month = Some(index as i64 + 1);
        Ok(left)
    }

    fn take_year_day<'a>(&mut self, element: Element, mut value: &'a [u8]) -> Result<&'a [u8], Misfit> {
        for _ in 0..2 {
            if element == Element::UnderYearDay {
                value = value.strip_prefix(b" ").unwrap_or(value);
            }
        }
        let digits = value.iter().take(3).take_while(|c| c.is_ascii_digit()).count();
        if digits == 0 || (element == Element::ZeroYearDay && digits != 3) {
            return Err(Misfit);
        }
        self.year_day = Some(atoi(&value[..digits])?);
        Ok(&value[digits..])
    }

    fn take_clock<'a>(&mut self, element: Element, value: &'a [u8]) -> Result<&'a [u8], Misfit> {
        let fixed = matches!(element, Element::ZeroHour12 | Element::ZeroMinute);
        let (amount, left) = number(value, fixed)?;
        match element {
            Element::Hour | Element::Hour12 | Element::ZeroHour12 => {
                self.limit(if element == Element::Hour { amount >= 24 } else { amount > 12 }, "hour");
                self.hour = amount;
            }
            _ => {
                self.limit(amount >= 60, "minute");
                self.minute = amount;
            }
        }
        Ok(left)
    }

    /// A fraction is read even where the layout has none.
    fn take_second<'a>(&mut self, element: Element, value: &'a [u8], rest: &[u8]) -> Result<&'a [u8], Misfit> {
        let (second, left) = number(value, element == Element::ZeroSecond)?;
        self.limit(second >= 60, "second");
        self.second = second;
        let digits = fraction_digits(left);
        if self.out_of_range.is_some() || digits == 0 || matches!(next(rest).1, Some(Element::Fraction(_))) {
            return Ok(left);
        }
        self.nanos = nanos(&left[1..=digits])?;
        Ok(&left[1 + digits..])
    }

    fn take_half<'a>(&mut self, value: &'a [u8], am: &[u8], pm: &[u8]) -> Result<&'a [u8], Misfit> {
        let (half, left) = value.split_at_checked(2).ok_or(Misfit)?;
        if half != am && half != pm {
            return Err(Misfit);
        }
        self.afternoon |= half == pm;
        self.morning |= half == am;
        Ok(left)
    }

    fn take_offset<'a>(&mut self, form: Offset, value: &'a [u8]) -> Result<&'a [u8], Misfit> {
        if form.zulu && value.first() == Some(&b'Z') {
            self.utc = true;
            return Ok(&value[1..]);
        }
        let separator = usize::from(form.colons);
        let pairs = 1 + usize::from(form.minutes) + usize::from(form.seconds);
        let length = 3 + (pairs - 1) * (2 + separator);
        let (text, left) = value.split_at_checked(length).ok_or(Misfit)?;
        if form.colons && (1..pairs).any(|index| text[index * 3] != b':') {
            return Err(Misfit);
        }
        let (mut amounts, mut fits) = ([0; 3], true);
        for (index, amount) in amounts.iter_mut().enumerate().take(pairs) {
            let start = 1 + index * (2 + separator);
            match number(&text[start..start + 2], true) {
                Ok((read, _)) if fits => *amount = read,
                _ => fits = false,
            }
        }
        // What is out of range counts more than what does not fit.
        self.limit(amounts[0] > 24, "time zone offset hour");
        self.limit(amounts[1] > 60, "time zone offset minute");
        self.limit(amounts[2] > 60, "time zone offset second");
        let seconds = (amounts[0] * 60 + amounts[1]) * 60 + amounts[2];
        self.offset = Some(match text[0] {
            b'+' if fits => seconds,
            b'-' if fits => -seconds,
            _ => return Err(Misfit),
        });
        Ok(left)
    }

    fn take_zone<'a>(&mut self, value: &'a [u8]) -> Result<&'a [u8], Misfit> {
        if let Some(left) = value.strip_prefix(b"UTC") {
            self.utc = true;
            return Ok(left);
        }
        let length = zone_length(value).ok_or(Misfit)?;
        self.zone_name = String::from_utf8_lossy(&value[..length]).into_owned();
        Ok(&value[length..])
    }

    fn take_fraction<'a>(&mut self, form: Fraction, value: &'a [u8]) -> Result<&'a [u8], Misfit> {
        if form.keep_zeros {
            let (text, left) = value.split_at_checked(1 + form.digits).ok_or(Misfit)?;
            if !matches!(text[0], b'.' | b',') {
                return Err(Misfit);
            }
            self.nanos = nanos(&text[1..])?;
            return Ok(left);
        }
        let digits = fraction_digits(value);
        if digits > 0 {
            self.nanos = nanos(&value[1..=digits])?;
            return Ok(&value[1 + digits..]);
        }
        Ok(value)
    }

    fn settle(mut self, local: &Zone) -> Result<Moment, &'static str> {
        if self.afternoon && self.hour < 12 {
            self.hour += 12;
        } else if self.morning && self.hour == 12 {
            self.hour = 0;
        }
        if let Some(day) = self.year_day {
            self.settle_year_day(day)?;
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let month_length = match month {
            2 => 28 + i64::from(is_leap(self.year)),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if day < 1 || day > month_length {
            return Err("day out of range");
        }
        let clock = (self.hour, self.minute, self.second);
        let made = |zone: Zone| Moment::from_civil((self.year, month, day), clock, self.nanos, zone);
        if self.utc {
            return Ok(made(Zone::Utc));
        }
        let mut moment = made(Zone::Utc);
        // Go's mark for "no offset" is -1, so that an offset of one second west is none.
        if let Some(offset_seconds) = self.offset.filter(|o| *o != -1) {
            moment.seconds -= offset_seconds;
            let (name, offset) = local.lookup(moment.seconds);
            let known = offset == offset_seconds && (self.zone_name.is_empty() || name == self.zone_name);
            moment.zone = if known { local.clone() } else { Zone::Fixed { name: self.zone_name, offset_seconds } };
            return Ok(moment);
        }
        if self.zone_name.is_empty() {
            return Ok(made(local.clone()));
        }
        if let Some(offset) = local.offset_of(&self.zone_name, moment.seconds) {
            moment.seconds -= offset;
            moment.zone = local.clone();
            return Ok(moment);
        }
        let hours = self.zone_name.strip_prefix("GMT").and_then(|h| h.parse::<i64>().ok()).unwrap_or(0);
        moment.zone = Zone::Fixed { name: self.zone_name, offset_seconds: hours * 3600 };
        Ok(moment)
    }

    fn settle_year_day(&mut self, day: i64) -> Result<(), &'static str> {
        if day < 1 || day > 365 + i64::from(is_leap(self.year)) {
            return Err("day-of-year out of range");
        }
        let starts = |month: i64| days_from_civil(self.year, month, 1) - days_from_civil(self.year, 1, 1);
        let month = (1..=12).rev().find(|m| starts(*m) < day).unwrap_or(1);
        let of_month = day - starts(month);
        if self.month.is_some_and(|m| m != month) {
            return Err("day-of-year does not match month");
        }
        if self.day.is_some_and(|d| d != of_month) {
            return Err("day-of-year does not match day");
        }
        (self.month, self.day) = (Some(month), Some(of_month));
        Ok(())
    }
}

/// Digits behind a point or comma.
fn fraction_digits(value: &[u8]) -> usize {
    match value {
        [b'.' | b',', digits @ ..] => digits.iter().take_while(|c| c.is_ascii_digit()).count(),
        _ => 0,
    }
}

/// Nine digits count; fewer are filled up with zeros.
fn nanos(digits: &[u8]) -> Result<u32, Misfit> {
    let kept = &digits[..digits.len().min(9)];
    let number = atoi(kept)?;
    let scaled = number * 10i64.pow(9 - kept.len() as u32);
    u32::try_from(scaled).map_err(|_| Misfit)
}

fn atoi(text: &[u8]) -> Result<i64, Misfit> {
    std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).ok_or(Misfit)
}

/// One or two digits; two where the layout has a zero.
fn number(value: &[u8], fixed: bool) -> Taken<'_, i64> {
    let digit = |at: usize| value.get(at).filter(|c| c.is_ascii_digit()).map(|c| i64::from(c - b'0'));
    match (digit(0), digit(1)) {
        (Some(tens), Some(ones)) => Ok((tens * 10 + ones, &value[2..])),
        (Some(ones), None) if !fixed => Ok((ones, &value[1..])),
        _ => Err(Misfit),
    }
}

fn lookup<'a>(names: &[&str], length: Option<usize>, value: &'a [u8]) -> Taken<'a, usize> {
    for (index, name) in names.iter().enumerate() {
        let name = &name[..length.unwrap_or(name.len())];
        if value.get(..name.len()).is_some_and(|v| v.eq_ignore_ascii_case(name.as_bytes())) {
            return Ok((index, &value[name.len()..]));
        }
    }
    Err(Misfit)
}

/// Length of a zone's abbreviation such as `CEST`, `GMT+3` or `-03`.
fn zone_length(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(tail) = value.strip_prefix(b"GMT") {
        return Some(3 + signed_offset_length(tail));
    }
    if matches!(value[0], b'+' | b'-') {
        return Some(signed_offset_length(value)).filter(|length| *length > 0);
    }
    match value.iter().take(6).take_while(|c| c.is_ascii_uppercase()).count() {
        5 if value[4] == b'T' => Some(5),
        4 if value[3] == b'T' || value.starts_with(b"WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}

fn signed_offset_length(value: &[u8]) -> usize {
    let [b'+' | b'-', tail @ ..] = value else { return 0 };
    let digits = tail.iter().take_while(|c| c.is_ascii_digit()).count();
    match atoi(&tail[..digits]) {
        Ok(0..=23) => 1 + digits,
        _ => 0,
    }
}
