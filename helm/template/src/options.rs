//! Options and limits of an execution.

use std::any::Any;

/// Result of a map lookup whose key is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// No value, which prints as `<no value>`.
    #[default]
    Invalid,
    /// Zero value of the map's element type.
    Zero,
    /// Error.
    Error,
    /// No value, which conditions and functions such as `default` accept. Printing it or passing it to any other
    /// function is an error that names the key. Go has no such option.
    Strict,
}

/// Limits of an execution. They count work and use no clock, so the same input always ends the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionLimits {
    /// Maximum bytes of output, and of any string or list that a function creates.
    pub output_bytes: usize,
    /// Maximum nesting depth of templates.
    pub depth: usize,
    /// Maximum number of evaluated actions, arguments and calls, plus what functions charge for long work.
    pub steps: u64,
}

/// The largest known chart renders 2 MB.
const MAX_OUTPUT_BYTES: usize = 256 << 20;

/// Go's own limit, which its error text contains.
const MAX_DEPTH: usize = 100_000;

/// A few seconds of work. The largest charts need a few million steps.
const MAX_STEPS: u64 = 100_000_000;

/// Levels of nested actions per level of template depth, plus those that the parser allows in one template.
const LEVELS_OF_DEPTH: usize = 4;
const LEVELS: usize = 20_000;

impl ExecutionLimits {
    /// Returns the maximum nesting of actions and parentheses over all running templates, which use memory as templates
    /// do.
    pub(crate) fn nesting(&self) -> usize {
        self.depth.saturating_mul(LEVELS_OF_DEPTH).saturating_add(LEVELS)
    }
}

impl Default for ExecutionLimits {
    fn default() -> ExecutionLimits {
        ExecutionLimits { output_bytes: MAX_OUTPUT_BYTES, depth: MAX_DEPTH, steps: MAX_STEPS }
    }
}

/// Options of an execution.
#[derive(Clone, Copy, Default)]
pub struct ExecutionOptions<'a> {
    /// Handling of missing map keys.
    pub missing_key: MissingKey,
    /// Limits of the execution.
    pub limits: ExecutionLimits,
    /// Objects that functions get with [`crate::Execution::host`]: a clock, access to a cluster, the state of an
    /// engine.
    pub hosts: &'a [&'a dyn Any],
}
