//! Moments as text.

use super::layout::{Element, Fraction, Offset, next};
use super::{Civil, LONG_DAYS, LONG_MONTHS, Moment};

/// What `String` and `%v` show.
const SHOWN: &[u8] = b"2006-01-02 15:04:05.999999999 -0700 MST";

impl Moment {
    /// Go's `Format`. Bytes, because a layout may hold any.
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

    fn element(&self, element: Element, civil: &Civil, name: &str, offset: i64) -> String {
        let month = || LONG_MONTHS[(civil.month - 1) as usize];
        let hour12 = if civil.hour % 12 == 0 { 12 } else { civil.hour % 12 };
        match element {
            Element::Year => format!("{:02}", civil.year.abs() % 100),
            Element::LongYear => padded(civil.year, 4),
            Element::Month => month()[..3].to_string(),
            Element::LongMonth => month().to_string(),
            Element::NumMonth => civil.month.to_string(),
            Element::ZeroMonth => format!("{:02}", civil.month),
            Element::WeekDay => LONG_DAYS[civil.weekday()][..3].to_string(),
            Element::LongWeekDay => LONG_DAYS[civil.weekday()].to_string(),
            Element::Day => civil.day.to_string(),
            Element::UnderDay => format!("{:2}", civil.day),
            Element::ZeroDay => format!("{:02}", civil.day),
            Element::UnderYearDay => format!("{:3}", civil.year_day()),
            Element::ZeroYearDay => format!("{:03}", civil.year_day()),
            Element::Hour => format!("{:02}", civil.hour),
            Element::Hour12 => hour12.to_string(),
            Element::ZeroHour12 => format!("{hour12:02}"),
            Element::Minute => civil.minute.to_string(),
            Element::ZeroMinute => format!("{:02}", civil.minute),
            Element::Second => civil.second.to_string(),
            Element::ZeroSecond => format!("{:02}", civil.second),
            Element::UpperPm => if civil.hour >= 12 { "PM" } else { "AM" }.to_string(),
            Element::LowerPm => if civil.hour >= 12 { "pm" } else { "am" }.to_string(),
            Element::ZoneName if name.is_empty() => {
                show_offset(Offset { zulu: false, colons: false, minutes: true, seconds: false }, offset)
            }
            Element::ZoneName => name.to_string(),
            Element::Offset(form) => show_offset(form, offset),
            Element::Fraction(form) => show_fraction(form, self.nanos),
        }
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.format(SHOWN)))
    }
}

/// The sign does not count as width.
fn padded(number: i64, width: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{:0width$}", number.unsigned_abs())
}

fn show_offset(form: Offset, offset: i64) -> String {
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

fn show_fraction(form: Fraction, nanos: u32) -> String {
    let mut digits = format!("{nanos:09}");
    digits.truncate(form.digits);
    let kept = if form.keep_zeros { digits.as_str() } else { digits.trim_end_matches('0') };
    match kept {
        "" => String::new(),
        kept => format!("{}{kept}", char::from(form.separator)),
    }
}
