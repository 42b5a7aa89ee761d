//! Format strings: flags, widths, precisions, argument numbers, and the texts for bad ones.

use super::ValuePrinter;
use super::pad::FormatFlags;
use crate::rune;
use crate::value::Value;

/// Largest width and precision that Go accepts.
const MAX_NUMBER: i64 = 1_000_000;

/// Position in the format and the arguments.
struct FormatCursor<'f> {
    format: &'f [u8],
    at: usize,
    values: &'f [Value],
    value: usize,
    reordered: bool,
    good_number: bool,
}

pub(super) fn run(printer: &mut ValuePrinter<'_>, format: &[u8], values: &[Value]) {
    let mut cursor = FormatCursor { format, at: 0, values, value: 0, reordered: false, good_number: true };
    while cursor.at < format.len() && printer.problem.is_none() {
        cursor.good_number = true;
        let rest = &format[cursor.at..];
        let text = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
        printer.push(&rest[..text]);
        cursor.at += text;
        if cursor.at >= format.len() {
            break;
        }
        cursor.at += 1;
        cursor.directive(printer);
    }
    if !cursor.reordered && cursor.value < values.len() {
        extra(printer, &values[cursor.value..]);
    }
}

/// Reports arguments that no verb used.
fn extra(printer: &mut ValuePrinter<'_>, values: &[Value]) {
    printer.flags = FormatFlags::default();
    printer.push(b"%!(EXTRA ");
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            printer.push(b", ");
        }
        match value {
            Value::Nil => printer.push(b"<nil>"),
            value => {
                printer.push_str(&value.type_name());
                printer.push(b"=");
                printer.arg(value, 'v');
            }
        }
    }
    printer.push(b")");
}

impl FormatCursor<'_> {
    /// Formats one verb. The percent sign has been read.
    fn directive(&mut self, printer: &mut ValuePrinter<'_>) {
        printer.flags = FormatFlags::default();
        self.flags(&mut printer.flags);
        let mut after_index = self.argument_number();
        if self.peek() == Some(b'*') {
            self.at += 1;
            let width = self.number_argument();
            if width.is_none() {
                printer.push(b"%!(BADWIDTH)");
            }
            printer.flags.width = width.map(|width| width.unsigned_abs() as usize);
            if width.is_some_and(|width| width < 0) {
                printer.flags.minus = true;
                printer.flags.zero = false;
            }
            after_index = false;
        } else {
            printer.flags.width = self.number();
            if after_index && printer.flags.width.is_some() {
                self.good_number = false;
            }
        }
        if self.at + 1 < self.format.len() && self.peek() == Some(b'.') {
            self.at += 1;
            if after_index {
                self.good_number = false;
            }
            after_index = self.argument_number();
            if self.peek() == Some(b'*') {
                self.at += 1;
                let precision = self.number_argument().and_then(|number| usize::try_from(number).ok());
                if precision.is_none() {
                    printer.push(b"%!(BADPREC)");
                }
                printer.flags.precision = precision;
                after_index = false;
            } else {
                printer.flags.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !after_index {
            self.argument_number();
        }
        self.verb(printer);
    }

    fn flags(&mut self, flags: &mut FormatFlags) {
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => break,
            }
            self.at += 1;
        }
    }

    fn verb(&mut self, printer: &mut ValuePrinter<'_>) {
        if self.at >= self.format.len() {
            return printer.push(b"%!(NOVERB)");
        }
        let (verb, length) = rune::decode(&self.format[self.at..]);
        self.at += length;
        let complain = |printer: &mut ValuePrinter<'_>, problem: &[u8]| {
            printer.push(b"%!");
            printer.push_char(verb);
            printer.push(problem);
        };
        match self.values.get(self.value) {
            _ if verb == '%' => printer.push(b"%"),
            _ if !self.good_number => complain(printer, b"(BADINDEX)"),
            None => complain(printer, b"(MISSING)"),
            Some(value) => {
                if matches!(verb, 'v' | 'w') {
                    let flags = &mut printer.flags;
                    flags.sharp_v = std::mem::take(&mut flags.sharp);
                    flags.plus_v = std::mem::take(&mut flags.plus);
                }
                printer.arg(value, verb);
                self.value += 1;
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// Reads a number from the format.
    fn number(&mut self) -> Option<usize> {
        let (number, at) = parse_number(self.format, self.at, self.format.len());
        self.at = at;
        number
    }

    /// Reads `[3]`, the number of the next argument.
    fn argument_number(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let (index, length) = bracketed(rest);
        self.at += length;
        match index {
            Some(index) if (1..=self.values.len()).contains(&index) => {
                self.value = index - 1;
                true
            }
            index => {
                self.good_number = false;
                index.is_some()
            }
        }
    }

    /// Reads `*`: a width or precision from the arguments.
    fn number_argument(&mut self) -> Option<i64> {
        let value = self.values.get(self.value)?;
        self.value += 1;
        let number = value.as_i64().or_else(|| value.as_u64().and_then(|number| i64::try_from(number).ok()));
        number.filter(|number| (-MAX_NUMBER..=MAX_NUMBER).contains(number))
    }
}

/// Returns the number in the brackets at the start of `text`, and the length to skip.
fn bracketed(text: &[u8]) -> (Option<usize>, usize) {
    if text.len() < 3 {
        return (None, 1);
    }
    let Some(end) = text.iter().position(|byte| *byte == b']') else { return (None, 1) };
    match parse_number(text, 1, end) {
        (Some(number), at) if at == end => (Some(number), end + 1),
        _ => (None, end + 1),
    }
}

fn parse_number(text: &[u8], start: usize, end: usize) -> (Option<usize>, usize) {
    if start >= end {
        return (None, end);
    }
    let mut number = None;
    for (at, byte) in text.iter().enumerate().take(end).skip(start) {
        if !byte.is_ascii_digit() {
            return (number, at);
        }
        if number.unwrap_or(0) > MAX_NUMBER as usize {
            return (None, end); // The number is too large.
        }
        number = Some(number.unwrap_or(0) * 10 + usize::from(byte - b'0'));
    }
    (number, end)
}
