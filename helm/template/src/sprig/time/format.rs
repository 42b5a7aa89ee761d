//! Formatting of times.

use super::layout::{FractionLayout, LayoutElement, OffsetLayout, next};
use super::{CivilTime, GoTime, LONG_DAYS, LONG_MONTHS};

/// Layout of `String` and `%v`.
const SHOWN: &[u8] = b"2006-01-02 15:04:05.999999999 -0700 MST";

impl GoTime {
    /// Implements Go's `Format`. Returns bytes, because a layout may contain any bytes.
    pub fn format(&self, layout: &[u8]) -> Vec<u8> {
        let (name, offset) = self.zone.lookup(self.seconds);
        let civil = self.civil();
        let mut out = Vec::with_capacity(layout.len() + 10);
        let mut rest = layout;
        while !rest.is_empty() {
            let (prefix, element, tail) = next(rest);
            out.extend_from_slice(prefix);
            let Some(element) = element else { break };
            out.extend(self.element(element, &civil, &name, offset).into_bytes());
            rest = tail;
        }
        out
    }

    fn element(&self, element: LayoutElement, civil: &CivilTime, name: &str, offset: i64) -> String {
        let month = || LONG_MONTHS[(civil.month - 1) as usize];
        let hour12 = if civil.hour % 12 == 0 { 12 } else { civil.hour % 12 };
        match element {
            LayoutElement::Year => format!("{:02}", civil.year.abs() % 100),
            LayoutElement::LongYear => padded(civil.year, 4),
            LayoutElement::Month => month()[..3].to_string(),
            LayoutElement::LongMonth => month().to_string(),
            LayoutElement::NumMonth => civil.month.to_string(),
            LayoutElement::ZeroMonth => format!("{:02}", civil.month),
            LayoutElement::WeekDay => LONG_DAYS[civil.weekday()][..3].to_string(),
            LayoutElement::LongWeekDay => LONG_DAYS[civil.weekday()].to_string(),
            LayoutElement::Day => civil.day.to_string(),
            LayoutElement::UnderDay => format!("{:2}", civil.day),
            LayoutElement::ZeroDay => format!("{:02}", civil.day),
            LayoutElement::UnderYearDay => format!("{:3}", civil.year_day()),
            LayoutElement::ZeroYearDay => format!("{:03}", civil.year_day()),
            LayoutElement::Hour => format!("{:02}", civil.hour),
            LayoutElement::Hour12 => hour12.to_string(),
            LayoutElement::ZeroHour12 => format!("{hour12:02}"),
            LayoutElement::Minute => civil.minute.to_string(),
            LayoutElement::ZeroMinute => format!("{:02}", civil.minute),
            LayoutElement::Second => civil.second.to_string(),
            LayoutElement::ZeroSecond => format!("{:02}", civil.second),
            LayoutElement::UpperPm => if civil.hour >= 12 { "PM" } else { "AM" }.to_string(),
            LayoutElement::LowerPm => if civil.hour >= 12 { "pm" } else { "am" }.to_string(),
            LayoutElement::ZoneName if name.is_empty() => {
                show_offset(OffsetLayout { zulu: false, colons: false, minutes: true, seconds: false }, offset)
            }
            LayoutElement::ZoneName => name.to_string(),
            LayoutElement::Offset(form) => show_offset(form, offset),
            LayoutElement::Fraction(form) => show_fraction(form, self.nanos),
        }
    }
}

impl std::fmt::Display for GoTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.format(SHOWN)))
    }
}

/// Pads a number with zeros. The sign does not count for the width.
fn padded(number: i64, width: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{:0width$}", number.unsigned_abs())
}

fn show_offset(form: OffsetLayout, offset: i64) -> String {
    if offset == 0 && form.zulu {
        return "Z".to_string();
    }
    // The sign is that of the minutes, as in Go.
    let minutes = offset / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let (minutes, colon) = (minutes.abs(), if form.colons { ":" } else { "" });
    let mut out = format!("{sign}{:02}", minutes / 60);
    if form.minutes {
        out.push_str(&format!("{colon}{:02}", minutes % 60));
    }
    if form.seconds {
        out.push_str(&format!("{colon}{:02}", offset.abs() % 60));
    }
    out
}

fn show_fraction(form: FractionLayout, nanos: u32) -> String {
    let mut digits = format!("{nanos:09}");
    digits.truncate(form.digits);
    let kept = if form.keep_zeros { digits.as_str() } else { digits.trim_end_matches('0') };
    match kept {
        "" => String::new(),
        kept => format!("{}{kept}", char::from(form.separator)),
    }
}
