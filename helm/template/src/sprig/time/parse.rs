//! Parsing of times.

use switchboard_object::quote::quote_for_time;
use thiserror::Error;

use super::element::{LayoutMismatch, ParsedElement, atoi, fraction_digits, lookup, nanos, number, zone_length};
use super::layout::{FractionLayout, LayoutElement, OffsetLayout, next};
use super::{GoTime, LONG_DAYS, LONG_MONTHS, Zone, days_from_civil, is_leap};

/// Go's error for a text that does not fit its layout.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ParseTimeError(String);

/// Fields parsed so far.
#[derive(Default)]
struct TimeFields {
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
    /// Name of the field whose value is out of range.
    out_of_range: Option<&'static str>,
}

/// Implements Go's `time.ParseInLocation`.
pub fn parse_in(layout: &[u8], value: &[u8], local: &Zone) -> Result<GoTime, ParseTimeError> {
    let mut fields = TimeFields::default();
    let (mut rest, mut left) = (layout, value);
    let misfit = |element: &[u8], at: &[u8]| {
        let (value, layout) = (quote_for_time(value), quote_for_time(layout));
        ParseTimeError(format!(
            "parsing time {value} as {layout}: cannot parse {} as {}",
            quote_for_time(at),
            quote_for_time(element)
        ))
    };
    let remark = |message: &str| ParseTimeError(format!("parsing time {}: {message}", quote_for_time(value)));
    loop {
        let (prefix, element, tail) = next(rest);
        left = skip(left, prefix).map_err(|at| misfit(prefix, at))?;
        let Some(element) = element else {
            if !left.is_empty() {
                return Err(remark(&format!("extra text: {}", quote_for_time(left))));
            }
            break;
        };
        let written = &rest[prefix.len()..rest.len() - tail.len()];
        rest = tail;
        let taken = fields.take(element, left, rest);
        if let Some(what) = fields.out_of_range {
            return Err(remark(&format!("{what} out of range")));
        }
        left = taken.map_err(|LayoutMismatch| misfit(written, left))?;
    }
    fields.resolve(local).map_err(remark)
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

impl TimeFields {
    fn take<'a>(&mut self, element: LayoutElement, value: &'a [u8], rest: &[u8]) -> Result<&'a [u8], LayoutMismatch> {
        match element {
            LayoutElement::Year => {
                let (digits, left) = value.split_at_checked(2).ok_or(LayoutMismatch)?;
                let year = atoi(digits)?;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
                Ok(left)
            }
            LayoutElement::LongYear => {
                let (digits, left) =
                    value.split_at_checked(4).filter(|v| v.0[0].is_ascii_digit()).ok_or(LayoutMismatch)?;
                self.year = atoi(digits)?;
                Ok(left)
            }
            LayoutElement::Month => self.named_month(lookup(&LONG_MONTHS, Some(3), value)),
            LayoutElement::LongMonth => self.named_month(lookup(&LONG_MONTHS, None, value)),
            LayoutElement::NumMonth | LayoutElement::ZeroMonth => {
                let (month, left) = number(value, element == LayoutElement::ZeroMonth)?;
                self.limit(!(1..=12).contains(&month), "month");
                self.month = Some(month);
                Ok(left)
            }
            LayoutElement::WeekDay => lookup(&LONG_DAYS, Some(3), value).map(|(_, left)| left),
            LayoutElement::LongWeekDay => lookup(&LONG_DAYS, None, value).map(|(_, left)| left),
            LayoutElement::Day | LayoutElement::UnderDay | LayoutElement::ZeroDay => {
                let value =
                    if element == LayoutElement::UnderDay { value.strip_prefix(b" ").unwrap_or(value) } else { value };
                let (day, left) = number(value, element == LayoutElement::ZeroDay)?;
                self.day = Some(day);
                Ok(left)
            }
            LayoutElement::UnderYearDay | LayoutElement::ZeroYearDay => self.take_year_day(element, value),
            LayoutElement::Hour
            | LayoutElement::Hour12
            | LayoutElement::ZeroHour12
            | LayoutElement::Minute
            | LayoutElement::ZeroMinute => self.take_clock(element, value),
            LayoutElement::Second | LayoutElement::ZeroSecond => self.take_second(element, value, rest),
            LayoutElement::UpperPm => self.take_half(value, b"AM", b"PM"),
            LayoutElement::LowerPm => self.take_half(value, b"am", b"pm"),
            LayoutElement::Offset(form) => self.take_offset(form, value),
            LayoutElement::ZoneName => self.take_zone(value),
            LayoutElement::Fraction(form) => self.take_fraction(form, value),
        }
    }

    fn limit(&mut self, breached: bool, what: &'static str) {
        if breached {
            self.out_of_range = Some(what);
        }
    }

    fn named_month<'a>(&mut self, found: ParsedElement<'a, usize>) -> Result<&'a [u8], LayoutMismatch> {
        let (index, left) = found?;
        self.month = Some(index as i64 + 1);
        Ok(left)
    }

    fn take_year_day<'a>(&mut self, element: LayoutElement, mut value: &'a [u8]) -> Result<&'a [u8], LayoutMismatch> {
        for _ in 0..2 {
            if element == LayoutElement::UnderYearDay {
                value = value.strip_prefix(b" ").unwrap_or(value);
            }
        }
        let digits = value.iter().take(3).take_while(|c| c.is_ascii_digit()).count();
        if digits == 0 || (element == LayoutElement::ZeroYearDay && digits != 3) {
            return Err(LayoutMismatch);
        }
        self.year_day = Some(atoi(&value[..digits])?);
        Ok(&value[digits..])
    }

    fn take_clock<'a>(&mut self, element: LayoutElement, value: &'a [u8]) -> Result<&'a [u8], LayoutMismatch> {
        let fixed = matches!(element, LayoutElement::ZeroHour12 | LayoutElement::ZeroMinute);
        let (amount, left) = number(value, fixed)?;
        match element {
            LayoutElement::Hour | LayoutElement::Hour12 | LayoutElement::ZeroHour12 => {
                self.limit(if element == LayoutElement::Hour { amount >= 24 } else { amount > 12 }, "hour");
                self.hour = amount;
            }
            _ => {
                self.limit(amount >= 60, "minute");
                self.minute = amount;
            }
        }
        Ok(left)
    }

    /// Reads seconds, and a fraction even if the layout has none.
    fn take_second<'a>(
        &mut self,
        element: LayoutElement,
        value: &'a [u8],
        rest: &[u8],
    ) -> Result<&'a [u8], LayoutMismatch> {
        let (second, left) = number(value, element == LayoutElement::ZeroSecond)?;
        self.limit(second >= 60, "second");
        self.second = second;
        let digits = fraction_digits(left);
        if self.out_of_range.is_some() || digits == 0 || matches!(next(rest).1, Some(LayoutElement::Fraction(_))) {
            return Ok(left);
        }
        self.nanos = nanos(&left[1..=digits])?;
        Ok(&left[1 + digits..])
    }

    fn take_half<'a>(&mut self, value: &'a [u8], am: &[u8], pm: &[u8]) -> Result<&'a [u8], LayoutMismatch> {
        let (half, left) = value.split_at_checked(2).ok_or(LayoutMismatch)?;
        if half != am && half != pm {
            return Err(LayoutMismatch);
        }
        self.afternoon |= half == pm;
        self.morning |= half == am;
        Ok(left)
    }

    fn take_offset<'a>(&mut self, form: OffsetLayout, value: &'a [u8]) -> Result<&'a [u8], LayoutMismatch> {
        if form.zulu && value.first() == Some(&b'Z') {
            self.utc = true;
            return Ok(&value[1..]);
        }
        let separator = usize::from(form.colons);
        let pairs = 1 + usize::from(form.minutes) + usize::from(form.seconds);
        let length = 3 + (pairs - 1) * (2 + separator);
        let (text, left) = value.split_at_checked(length).ok_or(LayoutMismatch)?;
        if form.colons && (1..pairs).any(|index| text[index * 3] != b':') {
            return Err(LayoutMismatch);
        }
        let (mut amounts, mut fits) = ([0; 3], true);
        for (index, amount) in amounts.iter_mut().enumerate().take(pairs) {
            let start = 1 + index * (2 + separator);
            match number(&text[start..start + 2], true) {
                Ok((read, _)) if fits => *amount = read,
                _ => fits = false,
            }
        }
        // A value out of range takes precedence over an element that does not fit.
        self.limit(amounts[0] > 24, "time zone offset hour");
        self.limit(amounts[1] > 60, "time zone offset minute");
        self.limit(amounts[2] > 60, "time zone offset second");
        let seconds = (amounts[0] * 60 + amounts[1]) * 60 + amounts[2];
        self.offset = Some(match text[0] {
            b'+' if fits => seconds,
            b'-' if fits => -seconds,
            _ => return Err(LayoutMismatch),
        });
        Ok(left)
    }

    fn take_zone<'a>(&mut self, value: &'a [u8]) -> Result<&'a [u8], LayoutMismatch> {
        if let Some(left) = value.strip_prefix(b"UTC") {
            self.utc = true;
            return Ok(left);
        }
        let length = zone_length(value).ok_or(LayoutMismatch)?;
        self.zone_name = String::from_utf8_lossy(&value[..length]).into_owned();
        Ok(&value[length..])
    }

    fn take_fraction<'a>(&mut self, form: FractionLayout, value: &'a [u8]) -> Result<&'a [u8], LayoutMismatch> {
        if form.keep_zeros {
            let (text, left) = value.split_at_checked(1 + form.digits).ok_or(LayoutMismatch)?;
            if !matches!(text[0], b'.' | b',') {
                return Err(LayoutMismatch);
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

    fn resolve(mut self, local: &Zone) -> Result<GoTime, &'static str> {
        if self.afternoon && self.hour < 12 {
            self.hour += 12;
        } else if self.morning && self.hour == 12 {
            self.hour = 0;
        }
        if let Some(day) = self.year_day {
            self.resolve_year_day(day)?;
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
        let made = |zone: Zone| GoTime::from_civil((self.year, month, day), clock, self.nanos, zone);
        if self.utc {
            return Ok(made(Zone::Utc));
        }
        let mut moment = made(Zone::Utc);
        // Go marks a missing offset with -1, so an offset of one second west counts as none.
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

    fn resolve_year_day(&mut self, day: i64) -> Result<(), &'static str> {
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
