//! Who looks whether an operator still comes back: a thread that decides cannot be stopped, but it can be given up.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use switchboard_kernel::operator::UnitId;

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Of one thread: for whom it decides, and since when.
#[derive(Default)]
pub struct Pulse(Mutex<Deciding>);

#[derive(Default)]
struct Deciding {
    /// The number of the fault it is under.
    at: usize,
    unit: Option<(UnitId, Instant)>,
}

/// An operator that does not come back.
pub struct Hung {
    /// The number of the fault it was under.
    pub at: usize,
    pub unit: UnitId,
}

impl Pulse {
    /// The thread goes on to another fault.
    pub fn turn_to(&self, at: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).at = at;
    }

    /// An operator decides.
    pub fn during<T>(&self, unit: &UnitId, decide: impl FnOnce() -> T) -> T {
        self.set(Some((unit.clone(), Instant::now())));
        let decided = decide();
        self.set(None);
        decided
    }

    fn set(&self, unit: Option<(UnitId, Instant)>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unit = unit;
    }

    fn hung(&self, patience: Duration) -> Option<Hung> {
        let deciding = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (unit, since) = deciding.unit.as_ref()?;
        (since.elapsed() > patience).then(|| Hung { at: deciding.at, unit: unit.clone() })
    }
}

/// What the threads tell next; nothing when all have ended.
///
/// # Errors
/// When an operator has been deciding for longer than `patience`.
pub fn heard<T>(told: &Receiver<T>, pulses: &[Arc<Pulse>], patience: Duration) -> Result<Option<T>, Hung> {
    loop {
        match told.recv_timeout(LOOK_EVERY) {
            Ok(told) => return Ok(Some(told)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(hung) = pulses.iter().find_map(|pulse| pulse.hung(patience)) {
            return Err(hung);
        }
    }
}
