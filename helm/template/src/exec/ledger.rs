//! What is left of an execution's means.

use std::collections::HashSet;

use crate::options::Limits;
use crate::value::Str;

/// What functions may make in any case, and how many outputs' worth besides. It counts what was made, not what is kept:
/// a text passes through a handful of functions on its way out.
const BYTES: u64 = 128 << 20;
const OUTPUTS: u64 = 4;

/// How many expressions count as compiled at a time; threads keep at least as many.
const MAX_PATTERNS: usize = 128;

/// The steps and bytes an execution may still use. Executions that belong together, such as those of all templates of a
/// chart, share one: see [`crate::Set::render_on`].
#[derive(Debug)]
pub struct Ledger {
    pub(super) steps_left: u64,
    pub(super) bytes_left: u64,
    /// Regular expressions that were paid for.
    patterns: HashSet<Str>,
}

impl Ledger {
    /// All that these limits allow.
    pub fn new(limits: &Limits) -> Ledger {
        Ledger { steps_left: limits.steps, bytes_left: total_bytes(limits), patterns: HashSet::new() }
    }

    /// With nothing left, in the place of one that is lent.
    pub(crate) fn spent() -> Ledger {
        Ledger { steps_left: 0, bytes_left: 0, patterns: HashSet::new() }
    }

    /// Whether the expression is new, and so must be paid for.
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

/// Bytes that all functions of an execution may make together.
pub(super) fn total_bytes(limits: &Limits) -> u64 {
    (limits.output_bytes as u64).saturating_mul(OUTPUTS).saturating_add(BYTES)
}
