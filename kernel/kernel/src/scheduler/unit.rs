//! One unit: what it is wanted for, and what it must wait for first.

use std::sync::Arc;
use std::time::Duration;

use crate::decision::{Cause, MAX_CAUSES};
use crate::limits::Limits;
use crate::moment::Moment;
use crate::resource::{ObjectKey, TableKey};
use crate::state::Wait;

use super::chance::Share;

/// The least time between a run that was not finished and the next: what made it stale must be able to come in.
const UNFINISHED_WAIT: Duration = Duration::from_millis(10);

/// Everything is kept as it happened; waits are derived from it and the limits, so changed limits hold at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) running: Option<Moment>,
    pub(super) causes: Vec<Cause>,
    // The first cause, the first that somebody waits for, and whether one came from outside.
    woken: Option<Moment>,
    asked: Option<Moment>,
    changed: bool,
    pub(super) ended: Option<Moment>,
    pub(super) failures: u32,
    failed: bool,
    unfinished: bool,
    // Whether the last run left nothing to do, so that a regular look makes sense.
    rested: bool,
    share: Share,
    again: Option<Moment>,
    slowed: Option<Moment>,
    // Boxed, as few units have them at a time.
    pub(super) hold: Option<Box<(ObjectKey, Moment)>>,
    pub(super) parked: Option<Box<[TableKey]>>,
    /// Forgotten, but for the rests it must still keep should it be woken.
    pub(super) gone: bool,
    /// By whom it takes turns, if not by its namespace.
    pub(super) party: Option<Arc<str>>,
    /// Its place in the queue of its operator.
    pub(super) queued: Option<(Moment, u64)>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There is nothing more to do, but perhaps later.
    Done {
        /// Run again after this long, whatever happens.
        again: Option<Duration>,
    },
    /// The budget was spent or an object had changed: it runs again soon. No failure.
    Unfinished,
    /// It runs again after a backoff.
    Failed,
    /// It read kinds that are not known yet: it runs again when it is woken.
    Parked {
        /// Which.
        missing: Vec<TableKey>,
    },
    /// There is no such unit any more: it is forgotten unless it was woken meanwhile.
    Gone,
}

impl Entry {
    /// Whether something new is to be looked at, or the last run left work.
    pub(super) fn is_wanted(&self) -> bool {
        !self.causes.is_empty() || self.unfinished
    }

    pub(super) fn wake(&mut self, now: Moment, cause: Cause) {
        self.gone = false;
        self.parked = None;
        self.woken.get_or_insert(now);
        if matches!(cause, Cause::Asked) {
            self.asked.get_or_insert(now);
        }
        self.changed |= matches!(
            cause,
            Cause::Changed { .. } | Cause::Matched { .. } | Cause::Known { .. } | Cause::Asked | Cause::Outside
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

    /// Gives the causes of the run that begins, and when the first came in.
    pub(super) fn begin(&mut self, now: Moment, limits: &Limits) -> (Vec<Cause>, Moment) {
        let retry = self.retry(limits).filter(|at| *at <= now).map(|at| (at, Cause::Retry { failures: self.failures }));
        let unfinished = self.unfinished_at(limits).filter(|at| *at <= now).map(|at| (at, Cause::Unfinished));
        let again = self.again.filter(|at| *at <= now).map(|at| (at, Cause::Again));
        let resync = self.resync(limits).filter(|at| *at <= now).map(|at| (at, Cause::Resync));
        let timers: Vec<_> = [retry, unfinished, again, resync].into_iter().flatten().collect();
        let woken = timers.iter().map(|(at, _)| *at).chain(self.woken).min().unwrap_or(now);
        let mut causes = std::mem::take(&mut self.causes);
        causes.truncate(MAX_CAUSES - timers.len());
        causes.extend(timers.into_iter().map(|(_, cause)| cause));
        (self.woken, self.asked, self.again, self.hold) = (None, None, None, None);
        (self.changed, self.unfinished, self.failed, self.rested) = (false, false, false, false);
        self.running = Some(now);
        (causes, woken)
    }

    /// The unit is idle from here on, with what woke it meanwhile.
    pub(super) fn finish(&mut self, now: Moment, ended: Ended, share: Share) {
        self.running = None;
        self.ended = Some(now);
        self.share = share;
        if !matches!(ended, Ended::Failed | Ended::Parked { .. }) {
            self.failures = 0;
        }
        match ended {
            Ended::Done { again } => {
                self.again = again.map(|wait| now.after(wait));
                self.rested = true;
            }
            Ended::Unfinished => self.unfinished = true,
            Ended::Failed => {
                self.failures = self.failures.saturating_add(1);
                self.failed = true;
            }
            Ended::Parked { missing } if self.woken.is_none() => {
                self.parked = (!missing.is_empty()).then(|| missing.into());
            }
            Ended::Parked { .. } => {}
            Ended::Gone => self.gone = self.woken.is_none(),
        }
    }

    /// Nothing wakes it but a new cause.
    pub(super) fn forget(&mut self) {
        let (ended, slowed, queued) = (self.ended, self.slowed, self.queued);
        *self = Self { running: self.running, ended, slowed, queued, gone: true, ..Self::default() };
    }

    pub(super) fn slow(&mut self, until: Moment) {
        self.slowed = self.slowed.max(Some(until));
    }

    /// Until when it rests, should it be woken.
    pub(super) fn rests(&self, limits: &Limits) -> Moment {
        self.cooled(limits).max(self.slowed).unwrap_or_default()
    }

    /// From when on it may run, as far as it alone is concerned; and what it waits for until then.
    pub(super) fn due(&self, limits: &Limits) -> Option<(Moment, Wait)> {
        let wanted = [
            self.woken.map(|at| at.after(limits.debounce)).map(|until| (until, Wait::Debounced { until })),
            self.asked.map(|until| (until, Wait::Debounced { until })),
            self.unfinished_at(limits).map(|until| (until, Wait::CoolingDown { until })),
            self.retry(limits).map(|until| (until, self.backing_off(until))),
            self.again.map(|at| (at, Wait::NothingChanged)),
            self.resync(limits).map(|at| (at, Wait::NothingChanged)),
        ];
        let (at, wait) = wanted.into_iter().flatten().min_by_key(|(at, _)| *at)?;
        // It would have run by then in any case, but something it read did change.
        let changed = wait == Wait::NothingChanged && self.woken.is_some();
        let wanted = (at, if changed { Wait::Debounced { until: at } } else { wait });
        let retry = if self.changed { self.early(limits) } else { self.retry(limits) };
        let floors = [
            self.cooled(limits).map(|until| (until, Wait::CoolingDown { until })),
            retry.map(|until| (until, self.backing_off(until))),
            self.slowed.map(|until| (until, Wait::Slowed { until })),
            self.hold.as_deref().map(|(object, until)| (*until, Wait::Echo { object: object.clone(), until: *until })),
        ];
        // Strictly later ones only: of equal waits, the one that is wanted says more.
        Some(floors.into_iter().flatten().fold(wanted, |last, floor| if floor.0 > last.0 { floor } else { last }))
    }

    fn backing_off(&self, until: Moment) -> Wait {
        Wait::BackingOff { until, failures: self.failures }
    }

    fn cooled(&self, limits: &Limits) -> Option<Moment> {
        self.ended.map(|at| at.after(limits.cool_down))
    }

    fn unfinished_at(&self, limits: &Limits) -> Option<Moment> {
        let wait = limits.debounce.max(UNFINISHED_WAIT);
        self.ended.filter(|_| self.unfinished).map(|at| at.after(wait))
    }

    // Between half and the whole of what the failures in a row call for.
    fn retry(&self, limits: &Limits) -> Option<Moment> {
        let ended = self.ended.filter(|_| self.failed)?;
        let doubled = 1u32.checked_shl(self.failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let wait = limits.backoff_first.saturating_mul(doubled).min(limits.backoff_max.max(limits.backoff_first));
        Some(ended.after(wait / 2 + self.share.of(wait / 2)))
    }

    // What a change from outside shortens the backoff to.
    fn early(&self, limits: &Limits) -> Option<Moment> {
        let retry = self.retry(limits)?;
        self.ended.map(|at| at.after(limits.backoff_first).min(retry))
    }

    // Up to a tenth early, so that units that were made together do not stay together.
    fn resync(&self, limits: &Limits) -> Option<Moment> {
        let ended = self.ended.filter(|_| self.rested)?;
        limits.resync.map(|every| ended.after(every - self.share.of(every / 10)))
    }
}
