//! What work on all of a value costs, before it is done.

use std::rc::Rc;

use super::Execution;
use crate::error::Error;
use crate::format;
use crate::stack;
use crate::value::{Str, Value};

/// How many parts a value may have that a function goes through as a whole: lists, maps, their entries, and pieces of
/// long texts. The values of the largest charts have some thousands. A value that holds another one twice at every level
/// has more parts than there is memory, and is made in a few steps.
pub const MAX_PARTS: u64 = 2_000_000;

/// Deeper parts are not counted: what goes through a value has a bound of its own for that, which is not above this one.
const MAX_DEPTH: usize = 10_000;
/// Levels that count as one part more for whatever is below them: what is written of it is indented, as far as values are
/// written at all.
const PART_LEVELS: usize = 32;
const MAX_WRITTEN_DEPTH: usize = 1_000;
/// Bytes of text that count as one part.
const PART_BYTES: usize = 64;

/// What a list or a map costs that stays in memory, in steps.
pub const KEPT: u64 = 64;
/// What a part costs that is only looked at.
pub const SEEN: u64 = 4;

/// Bytes of a list or a map besides its entries, and of an entry of a map.
const COLLECTION_BYTES: usize = 64;
const ENTRY_BYTES: usize = 80;

impl Execution<'_> {
    /// Accounts for work on all parts of these values before it is done, at so many steps a part.
    ///
    /// # Errors
    /// When a value has more than [`MAX_PARTS`], or the steps do not suffice.
    pub fn charge_whole(&mut self, values: &[Value], steps: u64) -> Result<(), Error> {
        self.charge_parts(values, steps, MAX_DEPTH)
    }

    /// The same for work that ends at a depth.
    pub(crate) fn charge_parts(&mut self, values: &[Value], steps: u64, deepest: usize) -> Result<(), Error> {
        let mut count = Count { parts: 0, deepest };
        if !values.iter().all(|value| count.add(value, 0)) {
            return Err(Error::call(format!("value has more than {MAX_PARTS} parts")));
        }
        self.charge(count.parts.saturating_mul(steps))
    }

    /// Accounts for a value that a function read out of a text: all of its parts are new.
    ///
    /// # Errors
    /// As [`Execution::charge_whole`], and when functions have made too much.
    pub fn charge_read(&mut self, value: &Value, text: usize) -> Result<(), Error> {
        self.charge_whole(std::slice::from_ref(value), KEPT)?;
        self.charge_memory(text)
    }

    /// Accounts for the texts a function is given: nearly all go through them.
    #[inline]
    pub(super) fn look_at<'v>(&mut self, values: impl Iterator<Item = &'v Value>) -> Result<(), Error> {
        let mut bytes = 0;
        for value in values {
            match value {
                Value::String(text) => bytes += text.len(),
                Value::Bytes(data) => bytes += data.len(),
                _ => {}
            }
        }
        // Most are a few words.
        if bytes < PART_BYTES { Ok(()) } else { self.charge((bytes / PART_BYTES) as u64) }
    }

    /// Accounts for what a function made. What others hold as well was there before.
    #[inline]
    pub(super) fn keep(&mut self, value: &Value) -> Result<(), Error> {
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

    /// A value as `%v` prints it, within what a result may have.
    pub(crate) fn shown(&mut self, value: &Value) -> Result<Str, Error> {
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

struct Count {
    parts: u64,
    deepest: usize,
}

impl Count {
    /// Counts the parts; false when there are too many.
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
