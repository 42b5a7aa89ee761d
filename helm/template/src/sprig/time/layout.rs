//! Layouts: the reference time `Mon Jan 2 15:04:05 MST 2006`, split into its elements.

/// An element of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayoutElement {
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
    Offset(OffsetLayout),
    Fraction(FractionLayout),
}

/// Format of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffsetLayout {
    /// Whether a zero offset is written as `Z`.
    pub zulu: bool,
    pub colons: bool,
    pub minutes: bool,
    pub seconds: bool,
}

/// Format of fractional seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FractionLayout {
    pub digits: usize,
    /// Whether trailing zeros are kept: `.000` keeps them, `.999` does not.
    pub keep_zeros: bool,
    pub separator: u8,
}

/// Returns the text before the first element, the element, and the rest.
pub(super) fn next(layout: &[u8]) -> (&[u8], Option<LayoutElement>, &[u8]) {
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

/// Returns the element at the start: bytes to skip before it, the element, and its length.
fn element_at(rest: &[u8]) -> Option<(usize, LayoutElement, usize)> {
    let found = |element: LayoutElement, length: usize| Some((0, element, length));
    match rest[0] {
        b'J' if rest.starts_with(b"January") => found(LayoutElement::LongMonth, 7),
        b'J' if rest.starts_with(b"Jan") && !lower_follows(&rest[3..]) => found(LayoutElement::Month, 3),
        b'M' if rest.starts_with(b"Monday") => found(LayoutElement::LongWeekDay, 6),
        b'M' if rest.starts_with(b"Mon") && !lower_follows(&rest[3..]) => found(LayoutElement::WeekDay, 3),
        b'M' if rest.starts_with(b"MST") => found(LayoutElement::ZoneName, 3),
        b'0' => match rest.get(1..)? {
            [b'1', ..] => found(LayoutElement::ZeroMonth, 2),
            [b'2', ..] => found(LayoutElement::ZeroDay, 2),
            [b'3', ..] => found(LayoutElement::ZeroHour12, 2),
            [b'4', ..] => found(LayoutElement::ZeroMinute, 2),
            [b'5', ..] => found(LayoutElement::ZeroSecond, 2),
            [b'6', ..] => found(LayoutElement::Year, 2),
            [b'0', b'2', ..] => found(LayoutElement::ZeroYearDay, 3),
            _ => None,
        },
        b'1' if rest.starts_with(b"15") => found(LayoutElement::Hour, 2),
        b'1' => found(LayoutElement::NumMonth, 1),
        b'2' if rest.starts_with(b"2006") => found(LayoutElement::LongYear, 4),
        b'2' => found(LayoutElement::Day, 1),
        // `_2006` is an underscore followed by a year.
        b'_' if rest.starts_with(b"_2006") => Some((1, LayoutElement::LongYear, 4)),
        b'_' if rest.starts_with(b"_2") => found(LayoutElement::UnderDay, 2),
        b'_' if rest.starts_with(b"__2") => found(LayoutElement::UnderYearDay, 3),
        b'3' => found(LayoutElement::Hour12, 1),
        b'4' => found(LayoutElement::Minute, 1),
        b'5' => found(LayoutElement::Second, 1),
        b'P' if rest.starts_with(b"PM") => found(LayoutElement::UpperPm, 2),
        b'p' if rest.starts_with(b"pm") => found(LayoutElement::LowerPm, 2),
        b'-' | b'Z' => offset_at(rest).map(|(offset, length)| (0, LayoutElement::Offset(offset), length)),
        b'.' | b',' => fraction_at(rest).map(|(fraction, length)| (0, LayoutElement::Fraction(fraction), length)),
        _ => None,
    }
}

fn offset_at(rest: &[u8]) -> Option<(OffsetLayout, usize)> {
    let zulu = rest[0] == b'Z';
    let tail = &rest[1..];
    let made = |colons, minutes, seconds, length| Some((OffsetLayout { zulu, colons, minutes, seconds }, length));
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

fn fraction_at(rest: &[u8]) -> Option<(FractionLayout, usize)> {
    let digit = *rest.get(1).filter(|d| matches!(d, b'0' | b'9'))?;
    let digits = rest[1..].iter().take_while(|d| **d == digit).count();
    let ends = !rest.get(1 + digits).is_some_and(u8::is_ascii_digit);
    ends.then_some((FractionLayout { digits, keep_zeros: digit == b'0', separator: rest[0] }, 1 + digits))
}
