//! Texts that go-yaml resolves to times. They stay text, but are quoted when written.

/// Whether `text` is a date, or a date and time, in one of go-yaml's forms.
pub(super) fn is_timestamp(text: &str) -> bool {
    let mut rest = TimestampParser(text);
    let Some(year) = rest.number(4, 4).filter(|_| rest.eat('-')) else { return false };
    let Some(month) = rest.number(1, 2).filter(|m| (1..=12).contains(m) && rest.eat('-')) else { return false };
    let Some(day) = rest.number(1, 2).filter(|d| (1..=days(year, month)).contains(d)) else { return false };
    debug_assert!(day > 0);
    if rest.0.is_empty() {
        return true;
    }
    if rest.eat('T') || rest.eat('t') {
        return rest.time() && rest.zone();
    }
    if rest.eat(' ') {
        rest.0 = rest.0.trim_start_matches(' ');
        return rest.time() && rest.0.is_empty();
    }
    false
}

struct TimestampParser<'a>(&'a str);

impl TimestampParser<'_> {
    fn eat(&mut self, c: char) -> bool {
        match self.0.strip_prefix(c) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn number(&mut self, min: usize, max: usize) -> Option<u32> {
        let digits = self.0.bytes().take(max).take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at_checked(digits).filter(|_| digits >= min)?;
        self.0 = rest;
        number.parse().ok()
    }

    fn time(&mut self) -> bool {
        let hour = self.number(1, 2).is_some_and(|h| h < 24) && self.eat(':');
        let minute = hour && self.number(1, 2).is_some_and(|m| m < 60) && self.eat(':');
        let second = minute && self.number(1, 2).is_some_and(|s| s < 60);
        if second && self.0.starts_with(['.', ',']) && self.0[1..].starts_with(|c: char| c.is_ascii_digit()) {
            self.0 = self.0[1..].trim_start_matches(|c: char| c.is_ascii_digit());
        }
        second
    }

    fn zone(&mut self) -> bool {
        if self.eat('Z') {
            return self.0.is_empty();
        }
        let sign = self.eat('+') || self.eat('-');
        let hours = sign && self.number(2, 2).is_some_and(|h| h <= 24) && self.eat(':');
        hours && self.number(2, 2).is_some_and(|m| m < 60) && self.0.is_empty()
    }
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn times() {
        for yes in [
            "2024-01-02",
            "2024-1-2",
            "2024-02-29",
            "2024-01-02T03:04:05Z",
            "2024-01-02t3:4:5.123+01:00",
            "2024-01-02 03:04:05",
        ] {
            assert!(is_timestamp(yes), "{yes}");
        }
        for no in [
            "2024",
            "2024-",
            "2024-13-01",
            "2023-02-29",
            "2024-01-02T03:04:05",
            "2024-01-02T25:00:00Z",
            "2024-01-02x",
            "24-01-02",
        ] {
            assert!(!is_timestamp(no), "{no}");
        }
    }
}
