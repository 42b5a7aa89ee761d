//! Go's `fmt`: how values are printed.

mod arg;
mod directive;
mod float;
mod pad;
pub mod quote;
#[cfg(test)]
mod tests;

use crate::value::{Str, Value};
use pad::Flags;

pub(crate) use float::{Width, append as append_float};

/// Deepest value that is printed. A map can contain itself, and Go dies of that.
const MAX_DEPTH: usize = 10_000;

/// Largest text made where no execution gives a limit: those are parts of errors.
const MAX_BYTES: usize = 1 << 20;

/// Go's `fmt.Sprint`: spaces between operands when neither is a string.
pub fn sprint(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    print(&mut out, values, MAX_BYTES).ok();
    out
}

/// Go's `fmt.Sprintln`: spaces between all, and a newline.
pub fn sprintln(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    println(&mut out, values, MAX_BYTES).ok();
    out
}

/// Go's `fmt.Sprintf`.
pub fn sprintf(format: impl AsRef<[u8]>, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    printf(&mut out, format.as_ref(), values, MAX_BYTES).ok();
    out
}

/// `%v` as a string: what sprig's `toString` makes of a value.
pub fn text_of(value: &Value) -> Str {
    match value {
        Value::String(text) => text.clone(),
        other => sprint(std::slice::from_ref(other)).into(),
    }
}

/// Like [`sprint`], added to `out`, and refused where the text would be longer than `limit` bytes.
pub(crate) fn print(out: &mut Vec<u8>, values: &[Value], limit: usize) -> Result<(), Refusal> {
    let mut printer = Printer::new(out, limit);
    let mut after_string = false;
    for (index, value) in values.iter().enumerate() {
        let is_string = value.kind() == crate::value::Kind::String;
        if index > 0 && !is_string && !after_string {
            printer.push(b" ");
        }
        printer.arg(value, 'v');
        after_string = is_string;
    }
    printer.finish()
}

pub(crate) fn println(out: &mut Vec<u8>, values: &[Value], limit: usize) -> Result<(), Refusal> {
    let mut printer = Printer::new(out, limit);
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            printer.push(b" ");
        }
        printer.arg(value, 'v');
    }
    printer.push(b"\n");
    printer.finish()
}

pub(crate) fn printf(out: &mut Vec<u8>, format: &[u8], values: &[Value], limit: usize) -> Result<(), Refusal> {
    let mut printer = Printer::new(out, limit);
    directive::run(&mut printer, format, values);
    printer.finish()
}

/// Prints one value as an action does: `%v`, but what a pointer points to, and the fast way for what is printed most.
pub(crate) fn append(out: &mut Vec<u8>, value: &Value, limit: usize) -> Result<(), Refusal> {
    match value {
        Value::String(text) => out.extend_from_slice(text),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) | Value::Int64(number) => pad::append_decimal(out, *number),
        other => {
            let mut printer = Printer::new(out, limit);
            printer.through_pointer = true;
            printer.arg(other, 'v');
            return printer.finish();
        }
    }
    Ok(())
}

/// Why a value was not printed, or not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    TooLong,
    TooDeep,
}

impl Refusal {
    /// The refusal in words; `limit` is the longest text.
    pub(crate) fn message(self, limit: usize) -> String {
        match self {
            Refusal::TooLong => format!("output is larger than the limit of {limit} bytes"),
            Refusal::TooDeep => format!("value nests deeper than {MAX_DEPTH}"),
        }
    }
}

/// The state of one call of `fmt`.
struct Printer<'o> {
    out: &'o mut Vec<u8>,
    /// Length of `out` that may not be passed.
    limit: usize,
    /// Set when something was left out: too long, or too deep.
    problem: Option<Refusal>,
    flags: Flags,
    /// Guards against methods of values while a wrong verb is reported.
    erroring: bool,
    /// Whether a pointer that is printed stands for what it points to.
    through_pointer: bool,
}

impl<'o> Printer<'o> {
    fn new(out: &'o mut Vec<u8>, limit: usize) -> Printer<'o> {
        Printer { out, limit, problem: None, flags: Flags::default(), erroring: false, through_pointer: false }
    }

    fn finish(self) -> Result<(), Refusal> {
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
            self.problem = Some(Refusal::TooLong);
        }
        self.problem.is_none()
    }
}
