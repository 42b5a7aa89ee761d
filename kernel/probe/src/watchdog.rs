//! Detection of hung operators: a thread that decides cannot be stopped, but the probe can abandon it.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use switchboard_kernel::operator::UnitId;

/// Interval between checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Current decision of a thread, with its start time.
#[derive(Default)]
pub struct Watchdog(Mutex<WatchedRun>);

#[derive(Default)]
struct WatchedRun {
    /// Number of the current fault.
    at: usize,
    unit: Option<(UnitId, Instant)>,
}

/// Operator that did not return in time.
pub struct HungOperator {
    /// Number of its fault.
    pub at: usize,
    pub unit: UnitId,
}

impl Watchdog {
    /// Sets the fault of the thread's next run.
    pub fn set_fault(&self, at: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).at = at;
    }

    /// Watches a decision while it runs.
    pub fn watch<T>(&self, unit: &UnitId, decide: impl FnOnce() -> T) -> T {
        self.set(Some((unit.clone(), Instant::now())));
        let decided = decide();
        self.set(None);
        decided
    }

    fn set(&self, unit: Option<(UnitId, Instant)>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unit = unit;
    }

    fn hung(&self, patience: Duration) -> Option<HungOperator> {
        let deciding = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (unit, since) = deciding.unit.as_ref()?;
        (since.elapsed() > patience).then(|| HungOperator { at: deciding.at, unit: unit.clone() })
    }
}

/// Receives the next result of the threads; `None` when all have ended.
///
/// # Errors
/// When an operator takes longer than `patience` to decide.
pub fn receive<T>(
    receiver: &Receiver<T>,
    pulses: &[Arc<Watchdog>],
    patience: Duration,
) -> Result<Option<T>, HungOperator> {
    loop {
        match receiver.recv_timeout(CHECK_INTERVAL) {
            Ok(value) => return Ok(Some(value)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(hung) = pulses.iter().find_map(|watchdog| watchdog.hung(patience)) {
            return Err(hung);
        }
    }
}
