//! Cached state of the kernel, so that many readers cause few requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_kernel::host::{Handle, HostStopped};
use switchboard_kernel::state::KernelState;
use tokio::sync::Mutex;

/// Maximum age of a cached state.
const FRESH: Duration = Duration::from_millis(300);

/// Cached state, shared by all readers.
pub struct StateCache {
    handle: Handle,
    last: Mutex<Option<(Instant, Arc<KernelState>)>>,
}

impl StateCache {
    /// Creates an empty cache for a kernel.
    pub fn new(handle: Handle) -> Self {
        Self { handle, last: Mutex::default() }
    }

    /// Returns the state, which may be slightly outdated.
    pub async fn state(&self) -> Result<Arc<KernelState>, HostStopped> {
        // Held during the request, so that concurrent readers share its result.
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

    /// Clears the cache after an action.
    pub async fn clear(&self) {
        *self.last.lock().await = None;
    }
}

/// Returns a digest that changes whenever a page may change, but not with the time.
pub fn version(state: &KernelState) -> String {
    let operators = state.operators.iter().map(|o| {
        let words = o.units.iter().fold(0_u64, |sum, unit| sum.wrapping_mul(31).wrapping_add(unit.health as u64 + 1));
        format!("{}{:?}{}/{}/{words}", o.name, o.health, o.runs, o.units_total)
    });
    let tables = state.tables.iter().map(|t| format!("{}{}{}", t.objects, t.bytes, t.watch_error.is_some()));
    let found = state.findings.iter().map(|finding| finding.count().to_string());
    let all: Vec<String> = operators.chain(tables).chain(found).collect();
    let digest = ring::digest::digest(&ring::digest::SHA256, all.join("|").as_bytes());
    digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use switchboard_kernel::state::OperatorState;
    use switchboard_kernel::timestamp::Timestamp;

    use super::*;

    #[test]
    fn version_depends_on_state_and_not_on_time() {
        let operator = OperatorState { name: "a".into(), runs: 1, ..OperatorState::default() };
        let state = KernelState { operators: vec![operator], ..KernelState::default() };
        assert_eq!(version(&state), version(&KernelState { now: Timestamp(9), ..state.clone() }));
        let mut later = state.clone();
        later.operators[0].runs = 2;
        assert_ne!(version(&state), version(&later));
    }
}
