//! Queue of checks against clusters and git servers. Units enqueue a check, a task with network access runs it, and the
//! unit is triggered.
//!
//! ```text
//!  unit runs ─▶ enqueue ─▶ queue ─▶ (task with network access) ─▶ record ─▶ unit runs again, with the answer
//! ```
//!
//! Nothing is persisted: a unit whose answer was lost enqueues the check again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_kernel::operator::Unit;
use switchboard_sql::DbTimestamp;
use tokio::sync::mpsc;

/// Delay before a failed check is retried, doubled each time.
const RETRY_FIRST_MS: i64 = 30 * 1000;
/// Maximum delay before a failed check is retried.
const RETRY_MAX_MS: i64 = 30 * 60 * 1000;

/// Checks and answers of one kind of unit.
pub struct CheckQueue<Q, A> {
    entries: Mutex<BTreeMap<Unit, CheckEntry<Q, A>>>,
    out: mpsc::UnboundedSender<(Unit, Q)>,
    /// Receiver for the task that runs the checks.
    receiver: Mutex<Option<mpsc::UnboundedReceiver<(Unit, Q)>>>,
}

struct CheckEntry<Q, A> {
    question: Q,
    answer: Option<A>,
    /// Whether the check is queued or running.
    is_pending: bool,
    /// Number of consecutive failures.
    refusals: u32,
    /// Time of the last failure.
    refused: Option<DbTimestamp>,
    /// Set for a check that is repeated regardless of its answer.
    periodic: Option<PeriodicCheck>,
}

struct PeriodicCheck {
    /// Fingerprint of the inputs for which the rows matched; empty if the rows must be read again.
    fingerprint: Vec<u8>,
    /// Interval of the check.
    every_ms: i64,
    /// Time of the last success.
    since: DbTimestamp,
}

/// State of a periodic check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckState<A> {
    /// The check is queued or running.
    Pending,
    /// The check is next due after so many milliseconds. With the last answer.
    Fresh(u64, Option<A>),
}

impl<Q, A> Default for CheckQueue<Q, A> {
    fn default() -> Self {
        // Each unit has at most one check in the queue, which bounds its length.
        let (out, receiver) = mpsc::unbounded_channel();
        CheckQueue { entries: Mutex::default(), out, receiver: Mutex::new(Some(receiver)) }
    }
}

impl<Q: Clone + PartialEq, A: Clone> CheckQueue<Q, A> {
    /// Returns the last answer for a unit. A failure is dropped when the check is due again.
    pub fn answer(&self, unit: &Unit, now: DbTimestamp) -> Option<A> {
        let mut entries = self.entries();
        let entry = entries.get_mut(unit)?;
        // A periodic check keeps its answer until the next one.
        let is_due = entry.refused.is_some_and(|since| now.since_ms(since) >= backoff_ms(entry.refusals));
        if is_due && entry.periodic.is_none() {
            entry.answer = None;
            entry.refused = None;
        }
        entry.answer.clone()
    }

    /// Enqueues a check, unless the same check is pending.
    pub fn enqueue(&self, unit: &Unit, question: Q) {
        let mut entries = self.entries();
        let before = entries.get(unit);
        let same = before.filter(|before| before.question == question);
        if same.is_some_and(|same| same.is_pending) {
            return;
        }
        let refusals = same.map_or(0, |same| same.refusals);
        let entry = CheckEntry {
            question: question.clone(),
            answer: None,
            is_pending: true,
            refusals,
            refused: None,
            periodic: None,
        };
        entries.insert(unit.clone(), entry);
        // Without a receiver the process is ending.
        let _ = self.out.send((unit.clone(), question));
    }

    /// Whether this check is still the pending one.
    pub fn is_pending_check(&self, unit: &Unit, question: &Q) -> bool {
        self.entries().get(unit).is_some_and(|entry| entry.is_pending && entry.question == *question)
    }

    /// Records the answer, if the check is still the current one.
    pub fn record(&self, unit: &Unit, question: &Q, answer: A, is_refusal: bool, now: DbTimestamp) {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(unit).filter(|entry| entry.question == *question) else { return };
        entry.answer = Some(answer);
        entry.is_pending = false;
        entry.refused = is_refusal.then_some(now);
        entry.refusals = if is_refusal { entry.refusals.saturating_add(1) } else { 0 };
        if let Some(periodic) = entry.periodic.as_mut().filter(|_| !is_refusal) {
            periodic.since = now;
        }
    }

    /// Repeats a check periodically, because the rows match its answer for these inputs.
    pub fn recheck_periodically(&self, unit: &Unit, question: Q, fingerprint: &[u8], every_ms: i64, now: DbTimestamp) {
        let mut entries = self.entries();
        let before = entries.remove(unit).filter(|before| before.question == question);
        let new = CheckEntry { question, answer: None, is_pending: false, refusals: 0, refused: None, periodic: None };
        let mut entry = before.unwrap_or(new);
        let since = entry.periodic.as_ref().map_or(now, |periodic| periodic.since);
        entry.periodic = Some(PeriodicCheck { fingerprint: fingerprint.to_vec(), every_ms, since });
        entries.insert(unit.clone(), entry);
    }

    /// Returns the state of a periodic check and enqueues it if it is due; `None` if the rows must be read.
    pub fn periodic_state(&self, unit: &Unit, fingerprint: &[u8], now: DbTimestamp) -> Option<CheckState<A>> {
        let mut entries = self.entries();
        let entry = entries.get_mut(unit)?;
        let periodic = entry.periodic.as_ref().filter(|periodic| periodic.fingerprint == fingerprint)?;
        if entry.is_pending {
            return Some(CheckState::Pending);
        }
        let left = match entry.refused {
            Some(since) => backoff_ms(entry.refusals).min(periodic.every_ms) - now.since_ms(since),
            None => periodic.every_ms - now.since_ms(periodic.since),
        };
        if let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) {
            return Some(CheckState::Fresh(left, entry.answer.clone()));
        }
        entry.is_pending = true;
        let _ = self.out.send((unit.clone(), entry.question.clone()));
        Some(CheckState::Pending)
    }

    /// Whether the check of a unit is periodic.
    pub fn is_periodic(&self, unit: &Unit) -> bool {
        self.entries().get(unit).is_some_and(|entry| entry.periodic.is_some())
    }

    /// Requires all units to read their rows again.
    pub fn invalidate_all(&self) {
        for periodic in self.entries().values_mut().filter_map(|entry| entry.periodic.as_mut()) {
            periodic.fingerprint.clear();
        }
    }

    /// Returns the milliseconds until a failed check is retried.
    pub fn retry_after_ms(&self, unit: &Unit, now: DbTimestamp) -> Option<u64> {
        let entries = self.entries();
        let entry = entries.get(unit)?;
        let most = entry.periodic.as_ref().map_or(i64::MAX, |periodic| periodic.every_ms);
        let left = backoff_ms(entry.refusals).min(most) - now.since_ms(entry.refused?);
        Some(u64::try_from(left).unwrap_or_default().max(1))
    }

    /// Forgets the check of a unit.
    pub fn forget(&self, unit: &Unit) {
        self.entries().remove(unit);
    }

    /// Returns the receiver of checks, once.
    pub fn receiver(&self) -> Option<mpsc::UnboundedReceiver<(Unit, Q)>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<Unit, CheckEntry<Q, A>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn backoff_ms(refusals: u32) -> i64 {
    RETRY_FIRST_MS.saturating_mul(2i64.saturating_pow(refusals.saturating_sub(1))).min(RETRY_MAX_MS)
}

#[cfg(test)]
mod tests;
