//! Scheduling state of one unit.

use std::sync::Arc;
use std::time::Duration;

use crate::decision::{Cause, MAX_CAUSES};
use crate::limits::Limits;
use crate::resource::{ObjectKey, TableKey};
use crate::state::Wait;
use crate::timestamp::Timestamp;

use super::jitter::JitterFraction;

/// Minimum time between an unfinished run and the next one, so that the change that made it stale can be observed.
const UNFINISHED_WAIT: Duration = Duration::from_millis(10);

/// Events of a unit. Delays are derived from them and the limits, so that changed limits apply at once.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitEntry {
    pub(super) running: Option<Timestamp>,
    pub(super) causes: Vec<Cause>,
    // Time of the first cause, time since which no debounce applies, and whether a cause came from another writer.
    triggered_at: Option<Timestamp>,
    requested_at: Option<Timestamp>,
    changed: bool,
    pub(super) ended: Option<Timestamp>,
    pub(super) failures: u32,
    failed: bool,
    unfinished: bool,
    // Whether the last run left nothing to do, so that a resync makes sense.
    rested: bool,
    share: JitterFraction,
    requeue_at: Option<Timestamp>,
    slowed: Option<Timestamp>,
    // Boxed, because few units have them at the same time.
    pub(super) hold: Option<Box<(ObjectKey, Timestamp)>>,
    pub(super) missing: Option<Box<[TableKey]>>,
    /// Whether the unit is forgotten, except for the delays that apply if it is triggered.
    pub(super) forgotten: bool,
    /// Flow for fair scheduling, if it is not the namespace.
    pub(super) flow: Option<Arc<str>>,
    /// Position in the queue of its operator.
    pub(super) queued: Option<(Timestamp, u64)>,
}

/// End of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The run finished.
    Done {
        /// Time after which the unit runs again.
        requeue_after: Option<Duration>,
    },
    /// The budget was spent or an object had changed: the unit runs again soon, without counting a failure.
    Unfinished,
    /// The run failed: the unit runs again after a backoff.
    Failed,
    /// The run read kinds that are not cached yet: the unit runs again when it is triggered.
    NotCached {
        /// Missing kinds.
        missing: Vec<TableKey>,
    },
    /// The unit does not exist any more: it is forgotten unless it was triggered meanwhile.
    Gone,
}

impl UnitEntry {
    /// Whether the unit has new causes or unfinished work.
    pub(super) fn has_work(&self) -> bool {
        !self.causes.is_empty() || self.unfinished
    }

    pub(super) fn trigger(&mut self, now: Timestamp, cause: Cause) {
        self.forgotten = false;
        self.missing = None;
        self.triggered_at.get_or_insert(now);
        if matches!(cause, Cause::Requested) {
            self.requested_at.get_or_insert(now);
        }
        self.changed |= matches!(
            cause,
            Cause::Changed { .. }
                | Cause::Matched { .. }
                | Cause::KindCached { .. }
                | Cause::Requested
                | Cause::External
        );
        let same = |old: &Cause| match (old, &cause) {
            (Cause::Changed { object: a, .. }, Cause::Changed { object: b, .. }) => a == b,
            (Cause::Matched { list: l, object: a, .. }, Cause::Matched { list: m, object: b, .. }) => l == m && a == b,
            (a, b) => a == b,
        };
        match self.causes.iter().position(same) {
            Some(at) => self.causes[at] = cause,
            None if self.causes.len() < MAX_CAUSES => self.causes.push(cause),
            None => {}
        }
    }

    /// Ends the debounce of a triggered unit.
    pub(super) fn skip_debounce(&mut self, now: Timestamp) {
        if self.triggered_at.is_some() {
            self.requested_at.get_or_insert(now);
        }
    }

    /// Starts a run, and returns its causes and the time of the first one.
    pub(super) fn begin(&mut self, now: Timestamp, limits: &Limits) -> (Vec<Cause>, Timestamp) {
        let retry =
            self.retry_at(limits).filter(|at| *at <= now).map(|at| (at, Cause::Retry { failures: self.failures }));
        let unfinished = self.unfinished_at(limits).filter(|at| *at <= now).map(|at| (at, Cause::Unfinished));
        let again = self.requeue_at.filter(|at| *at <= now).map(|at| (at, Cause::RequeueAfter));
        let resync = self.resync_at(limits).filter(|at| *at <= now).map(|at| (at, Cause::Resync));
        let timers: Vec<_> = [retry, unfinished, again, resync].into_iter().flatten().collect();
        let triggered_at = timers.iter().map(|(at, _)| *at).chain(self.triggered_at).min().unwrap_or(now);
        let mut causes = std::mem::take(&mut self.causes);
        causes.truncate(MAX_CAUSES - timers.len());
        causes.extend(timers.into_iter().map(|(_, cause)| cause));
        (self.triggered_at, self.requested_at, self.requeue_at, self.hold) = (None, None, None, None);
        (self.changed, self.unfinished, self.failed, self.rested) = (false, false, false, false);
        self.running = Some(now);
        (causes, triggered_at)
    }

    /// Ends the run; causes that arrived meanwhile are kept.
    pub(super) fn finish(&mut self, now: Timestamp, ended: RunEnd, share: JitterFraction) {
        self.running = None;
        self.share = share;
        // A run that waits for a kind has decided nothing: its cool-down would only delay the first decision.
        if !matches!(ended, RunEnd::NotCached { .. }) {
            self.ended = Some(now);
        }
        if !matches!(ended, RunEnd::Failed | RunEnd::NotCached { .. }) {
            self.failures = 0;
        }
        match ended {
            RunEnd::Done { requeue_after: again } => {
                self.requeue_at = again.map(|wait| now.after(wait));
                self.rested = true;
            }
            RunEnd::Unfinished => self.unfinished = true,
            RunEnd::Failed => {
                self.failures = self.failures.saturating_add(1);
                self.failed = true;
            }
            RunEnd::NotCached { missing } if self.triggered_at.is_none() => {
                self.missing = (!missing.is_empty()).then(|| missing.into());
            }
            RunEnd::NotCached { .. } => {}
            RunEnd::Gone => self.forgotten = self.triggered_at.is_none(),
        }
    }

    /// Forgets everything except running delays; only a new cause triggers the unit.
    pub(super) fn forget(&mut self) {
        let (ended, slowed, queued) = (self.ended, self.slowed, self.queued);
        *self = Self { running: self.running, ended, slowed, queued, forgotten: true, ..Self::default() };
    }

    pub(super) fn slow(&mut self, until: Timestamp) {
        self.slowed = self.slowed.max(Some(until));
    }

    /// Returns the end of the delays that apply if the unit is triggered.
    pub(super) fn rest_until(&self, limits: &Limits) -> Timestamp {
        self.cooled_at(limits).max(self.slowed).unwrap_or_default()
    }

    /// Returns the time from which the unit may run by its own state, and what it waits for until then.
    pub(super) fn due(&self, limits: &Limits) -> Option<(Timestamp, Wait)> {
        let wanted = [
            self.triggered_at.map(|at| at.after(limits.debounce)).map(|until| (until, Wait::Debounced { until })),
            self.requested_at.map(|until| (until, Wait::Debounced { until })),
            self.unfinished_at(limits).map(|until| (until, Wait::CoolingDown { until })),
            self.retry_at(limits).map(|until| (until, self.backing_off(until))),
            self.requeue_at.map(|at| (at, Wait::NothingChanged)),
            self.resync_at(limits).map(|at| (at, Wait::NothingChanged)),
        ];
        let (at, wait) = wanted.into_iter().flatten().min_by_key(|(at, _)| *at)?;
        // The unit would have run by then anyway, but something it read has changed.
        let changed = wait == Wait::NothingChanged && self.triggered_at.is_some();
        let wanted = (at, if changed { Wait::Debounced { until: at } } else { wait });
        let retry = if self.changed { self.early_retry_at(limits) } else { self.retry_at(limits) };
        let floors = [
            self.cooled_at(limits).map(|until| (until, Wait::CoolingDown { until })),
            retry.map(|until| (until, self.backing_off(until))),
            self.slowed.map(|until| (until, Wait::Slowed { until })),
            self.hold
                .as_deref()
                .map(|(object, until)| (*until, Wait::AwaitingCache { object: object.clone(), until: *until })),
        ];
        // Only a strictly later floor replaces the wait: of equal times, the first reason is more helpful.
        Some(floors.into_iter().flatten().fold(wanted, |last, floor| if floor.0 > last.0 { floor } else { last }))
    }

    fn backing_off(&self, until: Timestamp) -> Wait {
        Wait::BackingOff { until, failures: self.failures }
    }

    fn cooled_at(&self, limits: &Limits) -> Option<Timestamp> {
        self.ended.map(|at| at.after(limits.cool_down))
    }

    fn unfinished_at(&self, limits: &Limits) -> Option<Timestamp> {
        let wait = limits.debounce.max(UNFINISHED_WAIT);
        self.ended.filter(|_| self.unfinished).map(|at| at.after(wait))
    }

    // Between half and all of the backoff for the number of failures in a row.
    fn retry_at(&self, limits: &Limits) -> Option<Timestamp> {
        let ended = self.ended.filter(|_| self.failed)?;
        let doubled = 1u32.checked_shl(self.failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let wait = limits.backoff_first.saturating_mul(doubled).min(limits.backoff_max.max(limits.backoff_first));
        Some(ended.after(wait / 2 + self.share.of(wait / 2)))
    }

    // Time to which a change by another writer shortens the backoff.
    fn early_retry_at(&self, limits: &Limits) -> Option<Timestamp> {
        let retry = self.retry_at(limits)?;
        self.ended.map(|at| at.after(limits.backoff_first).min(retry))
    }

    // Up to a tenth early, so that units created together are spread.
    fn resync_at(&self, limits: &Limits) -> Option<Timestamp> {
        let ended = self.ended.filter(|_| self.rested)?;
        limits.resync.map(|every| ended.after(every - self.share.of(every / 10)))
    }
}
