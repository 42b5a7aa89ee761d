//! Room on the stack for recursion whose depth a template decides.

/// What is left on the stack when more is taken; unoptimized frames of one level fit in it many times.
const RED_ZONE_BYTES: usize = 128 << 10;

/// How much is taken at once.
const STACK_BYTES: usize = 4 << 20;

/// Runs `step` with room on the stack for what it does before it comes here again.
pub(crate) fn grow<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE_BYTES, STACK_BYTES, step)
}
