//! Stack growth for recursion whose depth a template controls.

/// Remaining stack below which more is allocated. Unoptimized frames of one level fit into it many times.
const RED_ZONE_BYTES: usize = 128 << 10;

/// Size of an additional stack segment.
const STACK_BYTES: usize = 4 << 20;

/// Runs `step` with enough stack for its work up to the next call of this function.
pub(crate) fn grow<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE_BYTES, STACK_BYTES, step)
}
