//! What an execution may do and use.

use std::any::Any;

/// What a field of a map is that the map does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// No value; printed it is `<no value>`.
    #[default]
    Invalid,
    /// The zero value of the map's element type.
    Zero,
    /// An error.
    Error,
    /// No value, which conditions and functions such as `default` may be asked about; to print it, or to give it to any
    /// other function, is an error that names the key. Go has no such option.
    Strict,
}

/// Bounds of an execution. All are counted, none is a clock, so the same input always ends the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of output, and of any string or list a function makes on the way.
    pub output_bytes: usize,
    /// Templates within templates.
    pub depth: usize,
    /// Actions, arguments and calls evaluated, and what functions charge for long work.
    pub steps: u64,
}

/// Output of the largest chart seen is 2 MB.
const MAX_OUTPUT_BYTES: usize = 256 << 20;

/// Go's own limit, which is in the text of its error.
const MAX_DEPTH: usize = 100_000;

/// A few seconds of work; the largest charts need a few million.
const MAX_STEPS: u64 = 100_000_000;

/// Levels of actions that every depth of templates may have, and what the parser allows in one besides.
const LEVELS_OF_DEPTH: usize = 4;
const LEVELS: usize = 20_000;

impl Limits {
    /// Actions and parentheses within each other, of all templates together: they take memory as templates do.
    pub(crate) fn nesting(&self) -> usize {
        self.depth.saturating_mul(LEVELS_OF_DEPTH).saturating_add(LEVELS)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { output_bytes: MAX_OUTPUT_BYTES, depth: MAX_DEPTH, steps: MAX_STEPS }
    }
}

/// How a template is executed.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// What a missing key is.
    pub missing_key: MissingKey,
    /// Where an execution ends.
    pub limits: Limits,
    /// What functions find with [`crate::Execution::host`]: a clock, a view of a cluster, an engine's own state.
    pub hosts: &'a [&'a dyn Any],
}
