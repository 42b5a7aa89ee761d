//! An operator that panics.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::operator::{Operator, Stop, Unit};
use crate::plan::Plan;
use crate::view::View;

thread_local! {
    static DECIDING: Cell<bool> = const { Cell::new(false) };
}

static QUIET: Once = Once::new();

/// From now on this thread decides for operators: a panic on it is told by whoever waits for it, with secrets taken out, and not reported
/// as usual. For operators that have threads of their own decide.
pub fn decides_here() {
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

/// Lets an operator decide; a panic becomes a failure with its message, and reading what is not known yet parks the run
/// whatever the operator makes of it.
///
/// The usual report on stderr is left out: it cannot be told what secrets the message holds, and the failure is shown with
/// them taken out.
pub fn decide_caught(operator: &dyn Operator, unit: &Unit, view: &View) -> Result<Plan, Stop> {
    decides_here();
    let caught = panic::catch_unwind(AssertUnwindSafe(|| operator.decide(unit, view)));
    DECIDING.set(false);
    // Whoever goes on after that has decided on less than there is.
    if let Some(parked) = view.parked() {
        return Err(parked);
    }
    caught.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_string());
        Err(Stop::Failed(format!("panicked: {text}")))
    })
}
