//! Remaining budget of an execution.

use std::collections::HashSet;

use crate::options::ExecutionLimits;
use crate::value::Str;

/// Bytes that functions may create in addition to `OUTPUTS` times the output limit. Created bytes count even if they
/// are not retained: a text passes through several functions on its way to the output.
const BYTES: u64 = 128 << 20;
const OUTPUTS: u64 = 4;

/// Number of expressions that count as compiled at a time. Threads cache at least as many.
const MAX_PATTERNS: usize = 128;

/// Steps and bytes an execution may still use. Related executions, such as those of all templates of a chart, share one
/// budget: see [`crate::TemplateSet::render_with_budget`].
#[derive(Debug)]
pub struct ExecutionBudget {
    pub(super) steps_left: u64,
    pub(super) bytes_left: u64,
    /// Regular expressions already charged for.
    patterns: HashSet<Str>,
}

impl ExecutionBudget {
    /// Creates a full budget from these limits.
    pub fn new(limits: &ExecutionLimits) -> ExecutionBudget {
        ExecutionBudget { steps_left: limits.steps, bytes_left: total_bytes(limits), patterns: HashSet::new() }
    }

    /// Creates an empty budget, as a placeholder for one that is lent out.
    pub(crate) fn empty() -> ExecutionBudget {
        ExecutionBudget { steps_left: 0, bytes_left: 0, patterns: HashSet::new() }
    }

    /// Whether the expression is new and must be charged for.
    pub(crate) fn is_new_pattern(&mut self, pattern: &[u8]) -> bool {
        if self.patterns.contains(pattern) {
            return false;
        }
        if self.patterns.len() >= MAX_PATTERNS {
            self.patterns.clear();
        }
        self.patterns.insert(Str::new(pattern))
    }
}

/// Returns the number of bytes that all functions of an execution may create together.
pub(super) fn total_bytes(limits: &ExecutionLimits) -> u64 {
    (limits.output_bytes as u64).saturating_mul(OUTPUTS).saturating_add(BYTES)
}
