//! Go's `fmt` package: formatting of values.

mod arg;
mod directive;
mod float;
mod pad;
#[cfg(test)]
mod tests;

use crate::value::{Str, Value};
use pad::FormatFlags;

pub(crate) use float::{FloatWidth, append as append_float};

/// Maximum depth of a printed value. A map can contain itself, which overflows the stack in Go.
const MAX_DEPTH: usize = 10_000;

/// Maximum length of texts outside an execution, such as parts of errors.
const MAX_BYTES: usize = 1 << 20;

/// Formats like Go's `fmt.Sprint`: spaces between operands when neither is a string.
pub fn sprint(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    print(&mut out, values, MAX_BYTES).ok();
    out
}

/// Formats like Go's `fmt.Sprintln`: spaces between all operands, and a newline.
pub fn sprintln(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    println(&mut out, values, MAX_BYTES).ok();
    out
}

/// Formats like Go's `fmt.Sprintf`.
pub fn sprintf(format: impl AsRef<[u8]>, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    printf(&mut out, format.as_ref(), values, MAX_BYTES).ok();
    out
}

/// Formats a value with `%v`, like sprig's `toString`.
pub fn text_of(value: &Value) -> Str {
    match value {
        Value::String(text) => text.clone(),
        other => sprint(std::slice::from_ref(other)).into(),
    }
}

/// Appends the text of [`sprint`] to `out`. Fails if `out` would become longer than `limit` bytes.
pub(crate) fn print(out: &mut Vec<u8>, values: &[Value], limit: usize) -> Result<(), PrintError> {
    let mut printer = ValuePrinter::new(out, limit);
    let mut after_string = false;
    for (index, value) in values.iter().enumerate() {
        let is_string = value.kind() == crate::value::ReflectKind::String;
        if index > 0 && !is_string && !after_string {
            printer.push(b" ");
        }
        printer.arg(value, 'v');
        after_string = is_string;
    }
    printer.finish()
}

pub(crate) fn println(out: &mut Vec<u8>, values: &[Value], limit: usize) -> Result<(), PrintError> {
    let mut printer = ValuePrinter::new(out, limit);
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            printer.push(b" ");
        }
        printer.arg(value, 'v');
    }
    printer.push(b"\n");
    printer.finish()
}

pub(crate) fn printf(out: &mut Vec<u8>, format: &[u8], values: &[Value], limit: usize) -> Result<(), PrintError> {
    let mut printer = ValuePrinter::new(out, limit);
    directive::run(&mut printer, format, values);
    printer.finish()
}

/// Appends one value as an action does: `%v`, with pointers dereferenced, and a fast path for the most common kinds.
pub(crate) fn append(out: &mut Vec<u8>, value: &Value, limit: usize) -> Result<(), PrintError> {
    match value {
        Value::String(text) => out.extend_from_slice(text),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) | Value::Int64(number) => pad::append_decimal(out, *number),
        other => {
            let mut printer = ValuePrinter::new(out, limit);
            printer.through_pointer = true;
            printer.arg(other, 'v');
            return printer.finish();
        }
    }
    Ok(())
}

/// Reason why a value was not printed, or not completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrintError {
    TooLong,
    TooDeep,
}

impl PrintError {
    /// Returns the error message. `limit` is the maximum length of a text.
    pub(crate) fn message(self, limit: usize) -> String {
        match self {
            PrintError::TooLong => format!("output is larger than the limit of {limit} bytes"),
            PrintError::TooDeep => format!("value is nested deeper than {MAX_DEPTH} levels"),
        }
    }
}

/// State of one call of `fmt`.
struct ValuePrinter<'o> {
    out: &'o mut Vec<u8>,
    /// Maximum length of `out`.
    limit: usize,
    /// Set if the output was cut off because it is too long or too deep.
    problem: Option<PrintError>,
    flags: FormatFlags,
    /// Set while a bad verb is reported, to avoid calling methods of values.
    erroring: bool,
    /// Whether a pointer prints as the value it points to.
    through_pointer: bool,
}

impl<'o> ValuePrinter<'o> {
    fn new(out: &'o mut Vec<u8>, limit: usize) -> ValuePrinter<'o> {
        ValuePrinter {
            out,
            limit,
            problem: None,
            flags: FormatFlags::default(),
            erroring: false,
            through_pointer: false,
        }
    }

    fn finish(self) -> Result<(), PrintError> {
        self.problem.map_or(Ok(()), Err)
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.fits(bytes.len()) {
            self.out.extend_from_slice(bytes);
        }
    }

    fn push_str(&mut self, text: &str) {
        self.push(text.as_bytes());
    }

    fn push_char(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    fn repeat(&mut self, byte: u8, count: usize) {
        if self.fits(count) {
            self.out.resize(self.out.len() + count, byte);
        }
    }

    fn fits(&mut self, bytes: usize) -> bool {
        if self.problem.is_none() && self.out.len() + bytes > self.limit {
            self.problem = Some(PrintError::TooLong);
        }
        self.problem.is_none()
    }
}
