//! Decoding of values: strings, numbers, times.

use super::{EOF, MAX_DEPTH, ScanResult, TomlReader, is_newline, shown};
use crate::sprig::cast::{ParseIntError, parse_float, parse_int};
use crate::sprig::runes;
use crate::sprig::text::quoted;
use crate::sprig::time::{Zone, parse_in};
use crate::sprig::time_values::TimeValue;
use crate::value::Value;

const NEWLINE_IN_STRING: &str = "strings cannot contain newlines";

/// Layouts of TOML's times, and the zone of those without one.
const LAYOUTS: [(&[u8], &str); 7] = [
    (b"2006-01-02T15:04:05.999999999Z07:00", ""),
    (b"2006-01-02T15:04:05.999999999", "datetime-local"),
    (b"2006-01-02", "date-local"),
    (b"15:04:05.999999999", "time-local"),
    (b"2006-01-02T15:04Z07:00", ""),
    (b"2006-01-02T15:04", "datetime-local"),
    (b"15:04", "time-local"),
];

impl TomlReader<'_> {
    pub(super) fn value(&mut self, in_array: bool) -> ScanResult<Value> {
        if self.depth >= MAX_DEPTH {
            return self.scanner.fail("values are nested too deeply");
        }
        self.depth += 1;
        let value = crate::stack::grow(|| self.value_here(in_array));
        self.depth -= 1;
        value
    }

    fn value_here(&mut self, in_array: bool) -> ScanResult<Value> {
        self.scanner.skip(super::is_blank)?;
        let start = self.scanner.at;
        let first = self.scanner.peek()?;
        if first.is_ascii_digit() {
            return self.number_or_date();
        }
        if self.scanner.ended() {
            self.scanner.next()?;
            return self.scanner.fail("unexpected EOF; expected value");
        }
        self.scanner.next()?;
        match first {
            '[' => self.array(),
            '{' => self.inline_table(in_array),
            '"' => self.string_value('"'),
            '\'' => self.string_value('\''),
            '.' => self.scanner.fail("floats must start with a digit, not '.'"),
            '-' | '+' => self.signed(start),
            'i' | 'n' if self.word(start, &["inf", "nan"]) => self.float(start),
            letter if runes::is_letter(letter) => {
                self.scanner.skip(runes::is_letter)?;
                match &self.scanner.text[start..self.scanner.at] {
                    b"true" => Ok(Value::Bool(true)),
                    b"false" => Ok(Value::Bool(false)),
                    other => {
                        let found = quoted(&String::from_utf8_lossy(other));
                        self.scanner.fail(format!("expected value but found {found} instead"))
                    }
                }
            }
            '\n' => self.scanner.fail_before("expected value but found '\\n' instead"),
            other => self.scanner.fail(format!("expected value but found {} instead", shown(other))),
        }
    }

    /// Consumes one of the words at the start. Returns whether it was there.
    fn word(&mut self, start: usize, words: &[&str]) -> bool {
        let found = words.iter().find(|word| self.scanner.text[start..].starts_with(word.as_bytes()));
        if let Some(word) = found {
            self.scanner.at = start + word.len();
        }
        found.is_some()
    }

    fn signed(&mut self, start: usize) -> ScanResult<Value> {
        match self.scanner.peek()? {
            'i' | 'n' if self.word(start + 1, &["inf", "nan"]) => return self.float(start),
            'i' | 'n' => {
                self.scanner.next()?;
                let found = String::from_utf8_lossy(&self.scanner.text[start..self.scanner.at]).into_owned();
                return self.scanner.fail(format!("invalid float: '{found}'"));
            }
            '.' => return self.scanner.fail("floats must start with a digit, not '.'"),
            digit if digit.is_ascii_digit() => {}
            other => return self.scanner.fail(format!("expected a digit but got {}", shown(other))),
        }
        if let Some(base @ (b'b' | b'o' | b'x')) = self.scanner.text.get(start + 2)
            && self.scanner.text[start + 1] == b'0'
        {
            let sign = char::from(self.scanner.text[start]);
            let base = char::from(*base);
            return self.scanner.fail(format!("cannot use sign with non-decimal numbers: '{sign}0{base}'"));
        }
        self.decimal(start)
    }

    fn decimal(&mut self, start: usize) -> ScanResult<Value> {
        self.scanner.skip(|rune| rune.is_ascii_digit() || rune == '_')?;
        if matches!(self.scanner.peek()?, '.' | 'e' | 'E') {
            self.scanner.skip(|rune| rune.is_ascii_digit() || matches!(rune, '_' | '.' | '-' | '+' | 'e' | 'E'))?;
            return self.float(start);
        }
        self.integer(start)
    }

    fn number_or_date(&mut self) -> ScanResult<Value> {
        let start = self.scanner.at;
        let rest = &self.scanner.text[start..];
        if let [b'0', base @ (b'b' | b'o' | b'x'), ..] = rest {
            let (base, radix, kind) = match base {
                b'b' => ('b', 2, "a binary"),
                b'o' => ('o', 8, "an octal"),
                _ => ('x', 16, "a hexadecimal"),
            };
            self.scanner.at += 2;
            let first = self.scanner.peek()?;
            if !first.is_digit(radix) {
                return self.scanner.fail(format!("not {kind} number: '0{base}{first}'"));
            }
            self.scanner.skip(|rune| rune.is_digit(radix) || rune == '_')?;
            return self.integer(start);
        }
        self.scanner.skip(|rune| rune.is_ascii_digit())?;
        // A date has at least two digits before its first separator.
        let digits = self.scanner.at - start;
        if matches!(self.scanner.peek()?, '-' | ':') && (digits > 1 || rest[0] != b'0') {
            let dated =
                |r: char| r.is_ascii_digit() || matches!(r, '-' | ':' | 'T' | 't' | ' ' | '.' | 'Z' | 'z' | '+');
            self.scanner.skip(dated)?;
            return self.date(start);
        }
        self.decimal(start)
    }

    fn integer(&mut self, start: usize) -> ScanResult<Value> {
        let text = self.written(start);
        let shown = quoted(&text);
        if !underscores_fit(&text) {
            return self.scanner.fail(format!("Invalid integer {shown}: underscores must be surrounded by digits"));
        }
        if leads_with_zero(&text) {
            return self.scanner.fail(format!("Invalid integer {shown}: cannot have leading zeroes"));
        }
        match parse_int(&text, 0) {
            Ok(number) => Ok(Value::Int64(number)),
            Err(ParseIntError::Range(_)) => self.scanner.fail(format!("{text} is out of range for int64")),
            Err(ParseIntError::Syntax) => self.scanner.fail(format!("Expected integer value, but got '{text}'.")),
        }
    }

    fn written(&self, start: usize) -> String {
        String::from_utf8_lossy(&self.scanner.text[start..self.scanner.at]).into_owned()
    }

    fn float(&mut self, start: usize) -> ScanResult<Value> {
        let text = self.written(start);
        let shown = quoted(&text);
        let mut parts = text.split(['.', 'e', 'E']).filter(|part| !part.is_empty()).peekable();
        let zero_led = parts.peek().is_some_and(|part| leads_with_zero(part));
        if !parts.all(underscores_fit) {
            return self.scanner.fail(format!("Invalid float {shown}: underscores must be surrounded by digits"));
        }
        if zero_led {
            return self.scanner.fail(format!("Invalid float {shown}: cannot have leading zeroes"));
        }
        let dotted = text.split('.').skip(1).all(|tail| tail.starts_with(|c: char| c.is_ascii_digit()));
        if !dotted {
            return self.scanner.fail(format!("Invalid float {shown}: '.' must be followed by one or more digits"));
        }
        let plain = text.replace('_', "");
        match (plain.as_str(), parse_float(&plain), plain.parse::<f64>()) {
            ("nan" | "+nan", ..) => Ok(Value::Float64(f64::NAN)),
            ("-nan", ..) => Ok(Value::Float64(-f64::NAN)),
            (_, Some(number), _) => Ok(Value::Float64(number)),
            (_, None, Ok(_)) => self.scanner.fail(format!("{text} is out of range for float64")),
            (_, None, Err(_)) => self.scanner.fail(format!("Invalid float value: {shown}")),
        }
    }

    fn date(&mut self, start: usize) -> ScanResult<Value> {
        let text = self.written(start).trim().replace(['t', ' '], "T").replace('z', "Z");
        for (layout, name) in LAYOUTS {
            let zone = match name {
                "" => Zone::Utc,
                name => Zone::Fixed { name: name.to_string(), offset_seconds: 0 },
            };
            if let Ok(moment) = parse_in(layout, text.as_bytes(), &zone)
                && !lacks_leading_zero(text.as_bytes(), layout)
            {
                return Ok(Value::from_object(TimeValue(moment)));
            }
        }
        self.scanner.fail(format!("invalid datetime: {}", quoted(&text)))
    }

    /// Reads a string on one or several lines. The first quote has been read.
    fn string_value(&mut self, quote: char) -> ScanResult<Value> {
        let several = self.scanner.text[self.scanner.at..].starts_with(&[quote as u8, quote as u8]);
        if several {
            self.scanner.at += 2;
            return self.multiline(quote).map(Value::string);
        }
        if quote == '"' { self.basic_string().map(Value::string) } else { self.raw_string().map(Value::string) }
    }

    pub(super) fn raw_string(&mut self) -> ScanResult<Vec<u8>> {
        let start = self.scanner.at;
        loop {
            match self.scanner.next()? {
                '\'' => return Ok(self.scanner.text[start..self.scanner.at - 1].to_vec()),
                rune if is_newline(rune) => return self.scanner.fail_before(NEWLINE_IN_STRING),
                EOF => return self.scanner.fail("unexpected EOF; expected \"'\""),
                _ => {}
            }
        }
    }

    pub(super) fn basic_string(&mut self) -> ScanResult<Vec<u8>> {
        let (start, mut out) = (self.scanner.at, Vec::new());
        loop {
            match self.scanner.next()? {
                '"' => return Ok(out),
                '\\' => self.escape(start, &mut out)?,
                rune if is_newline(rune) => return self.scanner.fail_before(NEWLINE_IN_STRING),
                EOF => return self.scanner.fail("unexpected EOF; expected '\"'"),
                rune => push(&mut out, rune),
            }
        }
    }

    /// Reads an escape after a backslash, in a string that began at `from`.
    fn escape(&mut self, from: usize, out: &mut Vec<u8>) -> ScanResult<()> {
        let rune = self.scanner.next()?;
        let (digits, count) = match rune {
            'b' => return plain(out, 8),
            't' => return plain(out, 9),
            'n' => return plain(out, 10),
            'f' => return plain(out, 12),
            'r' => return plain(out, 13),
            'e' => return plain(out, 27),
            '"' | '\\' => return plain(out, rune as u8),
            ' ' | '\t' => return self.scanner.fail(format!("invalid escape: '\\{rune}'")),
            'x' => (2, "two"),
            'u' => (4, "four"),
            'U' => (8, "eight"),
            _ => return self.scanner.fail(format!("invalid escape in string '\\{rune}'")),
        };
        let start = self.scanner.at;
        for _ in 0..digits {
            if !self.scanner.next()?.is_ascii_hexdigit() {
                let found = quoted(&self.written(from));
                return self
                    .scanner
                    .fail(format!("expected {count} hexadecimal digits after '\\{rune}', but got {found} instead"));
            }
        }
        let hex = self.written(start);
        match u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32) {
            Some(made) => push(out, made),
            None => return self.scanner.fail(format!("Escaped character '\\u{hex}' is not valid UTF-8.")),
        }
        Ok(())
    }

    /// Reads text after three quotes, up to the next three.
    fn multiline(&mut self, quote: char) -> ScanResult<Vec<u8>> {
        let (start, mut out) = (self.scanner.at, Vec::new());
        let close = [quote as u8; 3];
        if !self.scanner.accept('\n')? && self.scanner.text[self.scanner.at..].starts_with(b"\r\n") {
            self.scanner.next()?;
            self.scanner.next()?;
        }
        loop {
            if self.scanner.text[self.scanner.at..].starts_with(&close) {
                let run = self.scanner.text[self.scanner.at..].iter().take_while(|b| **b == quote as u8).count();
                if run > 5 {
                    let shown = if quote == '"' { "'\"\"\"\"\"\"'" } else { "\"''''''\"" };
                    return self.scanner.fail(format!("unexpected {shown}"));
                }
                out.extend(std::iter::repeat_n(quote as u8, run - 3));
                self.scanner.at += run;
                return Ok(out);
            }
            match self.scanner.next()? {
                '\\' if quote == '"' => self.multiline_escape(start, &mut out)?,
                EOF if self.scanner.ended() => {
                    let expected = if quote == '"' { "'\"\"\"'" } else { "\"'''\"" };
                    return self.scanner.fail(format!("unexpected EOF; expected {expected}"));
                }
                rune => push(&mut out, rune),
            }
        }
    }

    /// Reads an escape. A backslash at the end of a line removes all white space up to the next word.
    fn multiline_escape(&mut self, from: usize, out: &mut Vec<u8>) -> ScanResult<()> {
        let rest = &self.scanner.text[self.scanner.at..];
        let space = rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')).count();
        if rest[..space].contains(&b'\n') {
            let end = self.scanner.at + space;
            while self.scanner.at < end {
                self.scanner.next()?;
            }
            return Ok(());
        }
        self.escape(from, out)
    }
}

fn plain(out: &mut Vec<u8>, byte: u8) -> ScanResult<()> {
    out.push(byte);
    Ok(())
}

fn push(out: &mut Vec<u8>, rune: char) {
    out.extend_from_slice(rune.encode_utf8(&mut [0; 4]).as_bytes());
}

fn leads_with_zero(text: &str) -> bool {
    match text.as_bytes() {
        [b'0', second, ..] => !matches!(second, b'b' | b'o' | b'x'),
        [b'-' | b'+', b'0', _, ..] => true,
        _ => false,
    }
}

fn underscores_fit(text: &str) -> bool {
    if matches!(text, "nan" | "+nan" | "-nan" | "inf" | "-inf" | "+inf") {
        return true;
    }
    let mut accept = false;
    for rune in text.chars() {
        if rune == '_' && !accept {
            return false;
        }
        accept = rune.is_ascii_hexdigit();
    }
    accept
}

/// Whether a number lacks its leading zero, as the separators show. Go parses such numbers.
fn lacks_leading_zero(text: &[u8], layout: &[u8]) -> bool {
    let separators = layout.iter().enumerate().take_while(|(_, c)| !matches!(c, b'.' | b'Z'));
    separators.into_iter().any(|(at, c)| !c.is_ascii_digit() && text.get(at) != Some(c))
}
