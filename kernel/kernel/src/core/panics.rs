//! Handling of operators that panic.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::operator::{DecideError, Operator, Unit};
use crate::plan::Plan;
use crate::view::View;

thread_local! {
    static DECIDING: Cell<bool> = const { Cell::new(false) };
}

static QUIET: Once = Once::new();

/// Disables the panic hook's report on this thread while an operator decides: the driver reports the panic as a
/// failure, with secrets redacted. For drivers that decide on threads of their own.
pub fn silence_panic_hook() {
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !DECIDING.get() {
                usual(info);
            }
        }));
    });
    DECIDING.set(true);
}

/// Lets an operator decide. A panic becomes a failure with its message. If the operator read a kind that is not cached,
/// the result is
/// [`DecideError::NotCached`], even if the operator ignored the error.
///
/// The panic hook's report on stderr is suppressed, because the message may hold secrets; the failure shows it
/// redacted.
pub fn decide_catching_panics(operator: &dyn Operator, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
    silence_panic_hook();
    let caught = panic::catch_unwind(AssertUnwindSafe(|| operator.decide(unit, view)));
    DECIDING.set(false);
    // An operator that ignored the error has decided on incomplete data.
    if let Some(parked) = view.not_cached() {
        return Err(parked);
    }
    caught.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_string());
        Err(DecideError::Failed(format!("panicked: {text}")))
    })
}
