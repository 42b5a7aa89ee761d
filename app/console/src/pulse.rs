//! The state of the kernel, asked for at most so often, however many look.

use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_kernel::host::{Handle, Stopped};
use switchboard_kernel::state::State;
use tokio::sync::Mutex;

/// How old a state may be that is shown.
const FRESH: Duration = Duration::from_millis(300);

/// The state, shared by all who look.
pub struct Pulse {
    handle: Handle,
    last: Mutex<Option<(Instant, Arc<State>)>>,
}

impl Pulse {
    /// Of this kernel.
    pub fn new(handle: Handle) -> Self {
        Self { handle, last: Mutex::default() }
    }

    /// The kernel, as it is or was a moment ago.
    pub async fn state(&self) -> Result<Arc<State>, Stopped> {
        // Held while the kernel answers: who comes meanwhile gets the same answer.
        let mut last = self.last.lock().await;
        if let Some((at, state)) = &*last
            && at.elapsed() < FRESH
        {
            return Ok(state.clone());
        }
        let state = Arc::new(self.handle.state().await?);
        *last = Some((Instant::now(), state.clone()));
        Ok(state)
    }

    /// Forgets what it knows: something was just done.
    pub async fn forget(&self) {
        *self.last.lock().await = None;
    }
}

/// Changes whenever a page may look different: not with the time, but with what was done.
pub fn version(state: &State) -> String {
    let operators = state.operators.iter().map(|o| {
        let words = o.units.iter().fold(0_u64, |sum, unit| sum.wrapping_mul(31).wrapping_add(unit.word as u64 + 1));
        format!("{}{:?}{}/{}/{words}", o.name, o.word, o.runs, o.units_total)
    });
    let tables = state.tables.iter().map(|t| format!("{}{}{}", t.objects, t.bytes, t.lost.is_some()));
    let found = state.findings.iter().map(|finding| finding.count().to_string());
    let all: Vec<String> = operators.chain(tables).chain(found).collect();
    let digest = ring::digest::digest(&ring::digest::SHA256, all.join("|").as_bytes());
    digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use switchboard_kernel::moment::Moment;
    use switchboard_kernel::state::OperatorState;

    use super::*;

    #[test]
    fn the_version_changes_with_what_was_done_and_not_with_the_time() {
        let operator = OperatorState { name: "a".into(), runs: 1, ..OperatorState::default() };
        let state = State { operators: vec![operator], ..State::default() };
        assert_eq!(version(&state), version(&State { now: Moment(9), ..state.clone() }));
        let mut later = state.clone();
        later.operators[0].runs = 2;
        assert_ne!(version(&state), version(&later));
    }
}
