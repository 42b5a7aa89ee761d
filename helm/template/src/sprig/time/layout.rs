//! Layouts: the reference time `Mon Jan 2 15:04:05 MST 2006`, cut into its elements.

/// An element of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekDay,
    WeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    Offset(Offset),
    Fraction(Fraction),
}

/// How an offset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    /// `Z` for no offset.
    pub zulu: bool,
    pub colons: bool,
    pub minutes: bool,
    pub seconds: bool,
}

/// Fractional seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fraction {
    pub digits: usize,
    /// `.000` keeps zeros at the end, `.999` does not.
    pub keep_zeros: bool,
    pub separator: u8,
}

/// Text before the first element, the element, and what is behind it.
pub(super) fn next(layout: &[u8]) -> (&[u8], Option<Element>, &[u8]) {
    for at in 0..layout.len() {
        if let Some((skip, element, length)) = element_at(&layout[at..]) {
            let start = at + skip;
            return (&layout[..start], Some(element), &layout[start + length..]);
        }
    }
    (layout, None, &[])
}

fn lower_follows(rest: &[u8]) -> bool {
    rest.first().is_some_and(u8::is_ascii_lowercase)
}

/// The element that starts here: bytes to skip before it, itself, and its length.
fn element_at(rest: &[u8]) -> Option<(usize, Element, usize)> {
    let found = |element: Element, length: usize| Some((0, element, length));
    match rest[0] {
        b'J' if rest.starts_with(b"January") => found(Element::LongMonth, 7),
        b'J' if rest.starts_with(b"Jan") && !lower_follows(&rest[3..]) => found(Element::Month, 3),
        b'M' if rest.starts_with(b"Monday") => found(Element::LongWeekDay, 6),
        b'M' if rest.starts_with(b"Mon") && !lower_follows(&rest[3..]) => found(Element::WeekDay, 3),
        b'M' if rest.starts_with(b"MST") => found(Element::ZoneName, 3),
        b'0' => match rest.get(1..)? {
            [b'1', ..] => found(Element::ZeroMonth, 2),
            [b'2', ..] => found(Element::ZeroDay, 2),
            [b'3', ..] => found(Element::ZeroHour12, 2),
            [b'4', ..] => found(Element::ZeroMinute, 2),
            [b'5', ..] => found(Element::ZeroSecond, 2),
            [b'6', ..] => found(Element::Year, 2),
            [b'0', b'2', ..] => found(Element::ZeroYearDay, 3),
            _ => None,
        },
        b'1' if rest.starts_with(b"15") => found(Element::Hour, 2),
        b'1' => found(Element::NumMonth, 1),
        b'2' if rest.starts_with(b"2006") => found(Element::LongYear, 4),
        b'2' => found(Element::Day, 1),
        // `_2006` is an underscore and a year.
        b'_' if rest.starts_with(b"_2006") => Some((1, Element::LongYear, 4)),
        b'_' if rest.starts_with(b"_2") => found(Element::UnderDay, 2),
        b'_' if rest.starts_with(b"__2") => found(Element::UnderYearDay, 3),
        b'3' => found(Element::Hour12, 1),
        b'4' => found(Element::Minute, 1),
        b'5' => found(Element::Second, 1),
        b'P' if rest.starts_with(b"PM") => found(Element::UpperPm, 2),
        b'p' if rest.starts_with(b"pm") => found(Element::LowerPm, 2),
        b'-' | b'Z' => offset_at(rest).map(|(offset, length)| (0, Element::Offset(offset), length)),
        b'.' | b',' => fraction_at(rest).map(|(fraction, length)| (0, Element::Fraction(fraction), length)),
        _ => None,
    }
}

fn offset_at(rest: &[u8]) -> Option<(Offset, usize)> {
    let zulu = rest[0] == b'Z';
    let tail = &rest[1..];
    let made = |colons, minutes, seconds, length| Some((Offset { zulu, colons, minutes, seconds }, length));
    if tail.starts_with(b"070000") {
        made(false, true, true, 7)
    } else if tail.starts_with(b"07:00:00") {
        made(true, true, true, 9)
    } else if tail.starts_with(b"0700") {
        made(false, true, false, 5)
    } else if tail.starts_with(b"07:00") {
        made(true, true, false, 6)
    } else if tail.starts_with(b"07") {
        made(false, false, false, 3)
    } else {
        None
    }
}

fn fraction_at(rest: &[u8]) -> Option<(Fraction, usize)> {
    let digit = *rest.get(1).filter(|d| matches!(d, b'0' | b'9'))?;
    let digits = rest[1..].iter().take_while(|d| **d == digit).count();
    let ends = !rest.get(1 + digits).is_some_and(u8::is_ascii_digit);
    ends.then_some((Fraction { digits, keep_zeros: digit == b'0', separator: rest[0] }, 1 + digits))
}
