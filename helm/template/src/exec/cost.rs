//! Cost of functions that traverse whole values, charged before the work starts.

use std::rc::Rc;

use super::Execution;
use crate::error::Error;
use crate::format;
use crate::stack;
use crate::value::{Str, Value};

/// Maximum number of parts of a value that a function traverses: lists, maps, their entries, and pieces of long texts.
/// The values of the largest charts have some thousands. A value that contains another one twice at every level has
/// more parts than fit into memory, and takes only a few steps to create.
pub const MAX_PARTS: u64 = 2_000_000;

/// Maximum depth that is counted. Every traversal has its own depth limit, which is not above this one.
const MAX_DEPTH: usize = 10_000;
/// Every `PART_LEVELS` levels of nesting, each part counts one more, because nested output is indented. Values are not
/// printed below `MAX_WRITTEN_DEPTH`, so the count does not grow further there.
const PART_LEVELS: usize = 32;
const MAX_WRITTEN_DEPTH: usize = 1_000;
/// Bytes of text that count as one part.
const PART_BYTES: usize = 64;

/// Steps charged for a list or map that stays in memory.
pub const NEW_PART_STEPS: u64 = 64;
/// Steps charged for a part that is only read.
pub const READ_PART_STEPS: u64 = 4;

/// Bytes of a list or map besides its entries, and of one map entry besides its key and value.
const COLLECTION_BYTES: usize = 64;
const ENTRY_BYTES: usize = 80;

impl Execution<'_> {
    /// Charges for work on all parts of these values, at `steps` per part, before the work starts.
    ///
    /// # Errors
    /// If a value has more than [`MAX_PARTS`] parts, or the remaining steps do not suffice.
    pub fn charge_traversal(&mut self, values: &[Value], steps: u64) -> Result<(), Error> {
        self.charge_traversal_to_depth(values, steps, MAX_DEPTH)
    }

    /// Charges like [`Execution::charge_traversal`] for work that ends at a depth.
    pub(crate) fn charge_traversal_to_depth(
        &mut self,
        values: &[Value],
        steps: u64,
        deepest: usize,
    ) -> Result<(), Error> {
        let mut count = PartCount { parts: 0, deepest };
        if !values.iter().all(|value| count.add(value, 0)) {
            return Err(Error::call(format!("value has more than {MAX_PARTS} parts")));
        }
        self.charge(count.parts.saturating_mul(steps))
    }

    /// Charges for a value that a function parsed from a text. All of its parts are new.
    ///
    /// # Errors
    /// Errors of [`Execution::charge_traversal`], and if functions have created too many bytes.
    pub fn charge_read(&mut self, value: &Value, text: usize) -> Result<(), Error> {
        self.charge_traversal(std::slice::from_ref(value), NEW_PART_STEPS)?;
        self.charge_memory(text)
    }

    /// Charges for the texts passed to a function, because nearly all functions traverse them.
    #[inline]
    pub(super) fn charge_texts<'v>(&mut self, values: impl Iterator<Item = &'v Value>) -> Result<(), Error> {
        let mut bytes = 0;
        for value in values {
            match value {
                Value::String(text) => bytes += text.len(),
                Value::Bytes(data) => bytes += data.len(),
                _ => {}
            }
        }
        // Most texts are short.
        if bytes < PART_BYTES { Ok(()) } else { self.charge((bytes / PART_BYTES) as u64) }
    }

    /// Charges for the result of a function. Parts that are referenced elsewhere existed before and are free.
    #[inline]
    pub(super) fn charge_result(&mut self, value: &Value) -> Result<(), Error> {
        let bytes = match value {
            Value::String(text) => text.own_bytes(),
            Value::Bytes(bytes) if Rc::strong_count(bytes) == 1 => bytes.len(),
            Value::List(_, list) if Rc::strong_count(list) == 1 => COLLECTION_BYTES + size_of_val(&list[..]),
            Value::Map(_, map) if Rc::strong_count(map) == 1 => COLLECTION_BYTES + map.len() * ENTRY_BYTES,
            _ => 0,
        };
        if bytes == 0 {
            return Ok(());
        }
        let limit = self.options.limits.output_bytes;
        if bytes > limit && matches!(value, Value::String(_) | Value::Bytes(_)) {
            return Err(Error::call(format!("result of {bytes} bytes is larger than the limit of {limit}")));
        }
        self.charge_memory(bytes)
    }

    /// Formats a value with `%v`, within the limits of a result.
    pub(crate) fn display_text(&mut self, value: &Value) -> Result<Str, Error> {
        if let Value::String(text) = value {
            return Ok(text.clone());
        }
        let limit = self.options.limits.output_bytes;
        let mut text = Vec::new();
        let printed = format::print(&mut text, std::slice::from_ref(value), limit);
        printed.map_err(|refusal| Error::call(refusal.message(limit)))?;
        self.charge_bytes(text.len())?;
        self.charge_memory(text.len())?;
        Ok(text.into())
    }
}

struct PartCount {
    parts: u64,
    deepest: usize,
}

impl PartCount {
    /// Counts the parts. Returns false if there are too many.
    fn add(&mut self, value: &Value, depth: usize) -> bool {
        self.parts += (1 + depth.min(MAX_WRITTEN_DEPTH) / PART_LEVELS) as u64;
        if self.parts > MAX_PARTS {
            return false;
        }
        match value {
            Value::String(text) => self.parts += (text.len() / PART_BYTES) as u64,
            Value::Bytes(bytes) => self.parts += (bytes.len() / PART_BYTES) as u64,
            _ if depth >= self.deepest => {}
            Value::List(_, list) => return stack::grow(|| list.iter().all(|item| self.add(item, depth + 1))),
            Value::Map(_, map) => {
                return stack::grow(|| map.entries().values().all(|item| self.add(item, depth + 1)));
            }
            _ => {}
        }
        true
    }
}
