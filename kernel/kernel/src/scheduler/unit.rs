//! Scheduling state of one unit.

use std::sync::Arc;
use std::time::Duration;

use crate::decision::{Cause, MAX_CAUSES};
use crate::limits::{COOL_DOWN, DEBOUNCE, Limits, RUN_BURST, UNIT_WRITES_PER_SECOND, WRITE_BURST};
use crate::resource::{ObjectKey, TableKey};
use crate::state::Wait;
use crate::timestamp::Timestamp;

use super::bucket::{BucketRate, TokenBucket};
use super::jitter::JitterFraction;

/// Minimum time between an unfinished run and the next one, so that the change that made it stale can be observed.
const UNFINISHED_WAIT: Duration = Duration::from_millis(10);
/// Runs of a unit without a cool-down of its own.
const RUNS: BucketRate = BucketRate { burst: RUN_BURST, refill: COOL_DOWN };
/// Writes of a unit without a budget of its operator.
const WRITES: BucketRate =
    BucketRate { burst: WRITE_BURST, refill: Duration::from_millis(1000 / UNIT_WRITES_PER_SECOND as u64) };

/// Origin of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TriggerOrigin {
    /// Another writer, a user, or an external system.
    Other,
    /// The unit's own write was observed: the next step of its work.
    OwnWrite,
}

/// Events of a unit. Delays are derived from them and the limits, so that changed limits apply at once.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitEntry {
    pub(super) running: Option<Timestamp>,
    // Boxed, because most units have none.
    pending: Option<Box<PendingTrigger>>,
    // Time until which a further cause that is not an own write belongs to a burst.
    burst_until: Timestamp,
    // Runs and writes since the last quiet.
    runs: TokenBucket,
    writes: TokenBucket,
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

/// Causes of the next run.
#[derive(Clone, Debug)]
struct PendingTrigger {
    causes: Vec<Cause>,
    // Time of the first cause, time since which no debounce applies, and whether a cause came from another writer.
    triggered_at: Timestamp,
    requested_at: Option<Timestamp>,
    changed: bool,
    // Time since which no adaptive debounce applies, and whether a cause belongs to a burst.
    prompt_at: Option<Timestamp>,
    burst: bool,
}

impl PendingTrigger {
    fn new(now: Timestamp) -> Self {
        let (causes, requested_at, changed, prompt_at, burst) = Default::default();
        Self { causes, triggered_at: now, requested_at, changed, prompt_at, burst }
    }

    fn add(&mut self, cause: Cause) {
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
        self.pending.is_some() || self.unfinished
    }

    /// Returns the causes of the next run so far.
    pub(super) fn causes(&self) -> &[Cause] {
        self.pending.as_ref().map_or(&[], |pending| &pending.causes)
    }

    pub(super) fn trigger(&mut self, now: Timestamp, cause: Cause, origin: TriggerOrigin) {
        self.forgotten = false;
        self.missing = None;
        let pending = self.pending.get_or_insert_with(|| Box::new(PendingTrigger::new(now)));
        match origin {
            // The next step of the unit's work need not wait, unless the changes of others are being collected.
            TriggerOrigin::OwnWrite if pending.burst => {}
            TriggerOrigin::OwnWrite => drop(pending.prompt_at.get_or_insert(now)),
            TriggerOrigin::Other => {
                // Further kinds may become readable soon.
                if now >= self.burst_until && !matches!(cause, Cause::KindCached { .. }) {
                    pending.prompt_at.get_or_insert(now);
                } else {
                    pending.burst = true;
                }
                self.burst_until = now.after(DEBOUNCE);
            }
        }
        if matches!(cause, Cause::Requested) {
            pending.requested_at.get_or_insert(now);
        }
        pending.changed |= matches!(
            cause,
            Cause::Changed { .. }
                | Cause::Matched { .. }
                | Cause::KindCached { .. }
                | Cause::Requested
                | Cause::External
        );
        pending.add(cause);
    }

    /// Ends the debounce of a triggered unit.
    pub(super) fn skip_debounce(&mut self, now: Timestamp) {
        if let Some(pending) = &mut self.pending {
            pending.requested_at.get_or_insert(now);
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
        let triggered_at = timers.iter().map(|(at, _)| *at).chain(self.triggered_at()).min().unwrap_or(now);
        let mut causes = self.pending.take().map(|pending| pending.causes).unwrap_or_default();
        causes.truncate(MAX_CAUSES - timers.len());
        causes.extend(timers.into_iter().map(|(_, cause)| cause));
        (self.requeue_at, self.hold) = (None, None);
        (self.unfinished, self.failed, self.rested) = (false, false, false);
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
            self.runs.take(now, RUNS, 1);
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
            RunEnd::NotCached { missing } if self.pending.is_none() => {
                self.missing = (!missing.is_empty()).then(|| missing.into());
            }
            RunEnd::NotCached { .. } => {}
            RunEnd::Gone => self.forgotten = self.pending.is_none(),
        }
    }

    /// Forgets everything except running delays; only a new cause triggers the unit.
    pub(super) fn forget(&mut self) {
        let (ended, slowed, queued) = (self.ended, self.slowed, self.queued);
        let (runs, writes) = (self.runs, self.writes);
        *self = Self { running: self.running, ended, slowed, queued, runs, writes, forgotten: true, ..Self::default() };
    }

    /// Treats the pending causes as the next step of the unit's work if all of them are its own writes. Their events may
    /// arrive before the responses, when nothing shows yet whose writes they are.
    pub(super) fn recognize_own_writes(&mut self, now: Timestamp, is_own: &dyn Fn(&Cause) -> bool) {
        let Some(pending) = &mut self.pending else { return };
        if pending.causes.len() < MAX_CAUSES && pending.causes.iter().all(is_own) {
            pending.burst = false;
            pending.prompt_at.get_or_insert(now);
            self.burst_until = Timestamp::default();
        }
    }

    /// Returns how many writes the unit may make.
    pub(super) fn writes_left(&self, now: Timestamp, limits: &Limits) -> usize {
        if limits.has_write_budget() { usize::MAX } else { self.writes.left(now, WRITES) }
    }

    pub(super) fn spend(&mut self, now: Timestamp, count: usize) {
        self.writes.take(now, WRITES, count);
    }

    pub(super) fn refund(&mut self, count: usize) {
        self.writes.give_back(WRITES, count);
    }

    pub(super) fn slow(&mut self, until: Timestamp) {
        self.slowed = self.slowed.max(Some(until));
    }

    /// Returns the end of the delays that apply if the unit is triggered, and of the memory of its last burst.
    pub(super) fn rest_until(&self, limits: &Limits) -> Timestamp {
        let cooled = if limits.cool_down.is_some() { self.cooled_at(limits) } else { Some(self.runs.full_at()) };
        let written = if limits.has_write_budget() { None } else { Some(self.writes.full_at()) };
        cooled.max(written).max(self.slowed).unwrap_or_default()
    }

    /// Returns the time from which the unit may run by its own state, and what it waits for until then.
    pub(super) fn due(&self, limits: &Limits) -> Option<(Timestamp, Wait)> {
        let wanted = [
            self.collected_at(limits).map(|until| (until, Wait::Debounced { until })),
            self.pending
                .as_ref()
                .and_then(|pending| pending.requested_at)
                .map(|until| (until, Wait::Debounced { until })),
            self.unfinished_at(limits).map(|until| (until, Wait::CoolingDown { until })),
            self.retry_at(limits).map(|until| (until, self.backing_off(until))),
            self.requeue_at.map(|at| (at, Wait::NothingChanged)),
            self.resync_at(limits).map(|at| (at, Wait::NothingChanged)),
        ];
        let (at, wait) = wanted.into_iter().flatten().min_by_key(|(at, _)| *at)?;
        // The unit would have run by then anyway, but something it read has changed.
        let changed = wait == Wait::NothingChanged && self.pending.is_some();
        let wanted = (at, if changed { Wait::Debounced { until: at } } else { wait });
        let retry = if self.pending.as_ref().is_some_and(|pending| pending.changed) {
            self.early_retry_at(limits)
        } else {
            self.retry_at(limits)
        };
        let floors = [
            self.cooled_at(limits).map(|until| (until, Wait::CoolingDown { until })),
            retry.map(|until| (until, self.backing_off(until))),
            self.writable_at(limits).map(|until| (until, Wait::WritesSpent { until })),
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

    // Time at which the debounce of the pending causes ends.
    fn collected_at(&self, limits: &Limits) -> Option<Timestamp> {
        let pending = self.pending.as_ref()?;
        let Some(fixed) = limits.debounce else {
            let collected = pending.triggered_at.after(DEBOUNCE);
            return Some(pending.prompt_at.map_or(collected, |prompt| prompt.min(collected)));
        };
        Some(pending.triggered_at.after(fixed))
    }

    fn triggered_at(&self) -> Option<Timestamp> {
        self.pending.as_ref().map(|pending| pending.triggered_at)
    }

    fn cooled_at(&self, limits: &Limits) -> Option<Timestamp> {
        match limits.cool_down {
            Some(fixed) => self.ended.map(|at| at.after(fixed)),
            None => Some(self.runs.available_at(RUNS, 1)),
        }
    }

    // Time from which the unit has the writes of a second: with fewer it would decide again for each of them.
    fn writable_at(&self, limits: &Limits) -> Option<Timestamp> {
        (!limits.has_write_budget()).then(|| self.writes.available_at(WRITES, UNIT_WRITES_PER_SECOND))
    }

    fn unfinished_at(&self, limits: &Limits) -> Option<Timestamp> {
        let ended = self.ended.filter(|_| self.unfinished)?;
        let wait = match limits.debounce {
            Some(fixed) => fixed.max(UNFINISHED_WAIT),
            // Without writes, it continues as soon as it may write. Otherwise an object had changed: that change is
            // about to be observed, and then it runs at once.
            None if self.writable_at(limits).is_some_and(|at| at > ended) => UNFINISHED_WAIT,
            None => COOL_DOWN,
        };
        Some(ended.after(wait))
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
