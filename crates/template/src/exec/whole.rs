//! What work on all of a value costs, before it is done.

use super::Execution;
use crate::error::Error;
use crate::value::Value;

/// How many parts a value may have that a function goes through as a whole: lists, maps, their entries, and pieces of
/// long texts. The values of the largest charts have some thousands. A value that holds another one twice at every level
/// has more parts than there is memory, and is made in a few steps.
pub const MAX_PARTS: u64 = 2_000_000;

/// Deeper parts are not counted: what goes through a value has a bound of its own for that.
const MAX_DEPTH: usize = 1_000;
/// Bytes of text that count as one part.
const PART_BYTES: usize = 64;

/// What a list or a map costs that stays in memory, in steps.
pub const KEPT: u64 = 64;
/// What a part costs that is only looked at.
pub const SEEN: u64 = 4;

impl Execution<'_> {
    /// Accounts for work on all parts of these values before it is done, at so many steps a part.
    ///
    /// # Errors
    /// When a value has more than [`MAX_PARTS`], or the steps do not suffice.
    pub fn charge_whole(&mut self, values: &[Value], steps: u64) -> Result<(), Error> {
        let mut parts = 0;
        if !values.iter().all(|value| count(value, 0, &mut parts)) {
            return Err(Error::call(format!("value has more than {MAX_PARTS} parts")));
        }
        self.charge(parts.saturating_mul(steps))
    }
}

/// Counts the parts; false when there are too many.
fn count(value: &Value, depth: usize, parts: &mut u64) -> bool {
    *parts += 1;
    if *parts > MAX_PARTS {
        return false;
    }
    match value {
        Value::String(text) => *parts += (text.len() / PART_BYTES) as u64,
        Value::Bytes(bytes) => *parts += (bytes.len() / PART_BYTES) as u64,
        _ if depth >= MAX_DEPTH => {}
        Value::List(_, list) => return list.iter().all(|item| count(item, depth + 1, parts)),
        Value::Map(_, map) => return map.entries().values().all(|item| count(item, depth + 1, parts)),
        _ => {}
    }
    true
}
