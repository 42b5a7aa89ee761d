//! Schedule of the faults to inject, derived from the undisturbed run.

use switchboard_kernel::applier::MAX_RESENDS;

use crate::fault::{Fault, FaultKind, FaultPart};

/// Maximum number of writes for which pairs of crashes are scheduled: their number grows with the square.
pub const PAIRS_MAX_WRITES: u32 = 8;
/// Maximum number of events by which a view is delayed, and which are lost or merged.
pub const WINDOW_EVENTS: u32 = 3;
/// Maximum number of writes and events with faults of their own: the first ones.
pub const MAX_POINTS: u32 = 1_000;

/// Returns the faults for a run with this number of writes and events.
pub fn schedule(writes: u32, events: u32) -> Vec<Fault> {
    let writes = writes.min(MAX_POINTS);
    let events = events.min(MAX_POINTS);
    let one = |kind: FaultKind, at: u32, times: u32| Fault::of([FaultPart { kind, at, times }]);
    let mut faults = Vec::new();
    for at in 1..=writes {
        faults.extend(FaultKind::CRASHES.map(|kind| one(kind, at, 1)));
    }
    for at in 1..=writes {
        // Once, so that a retry succeeds; and as often as the write is retried, so that the unit must run again.
        for times in [1, MAX_RESENDS + 1] {
            faults.extend(FaultKind::RESPONSES.map(|kind| one(kind, at, times)));
        }
    }
    for at in 1..=events {
        for times in 1..=WINDOW_EVENTS {
            faults.extend(FaultKind::EVENTS.map(|kind| one(kind, at, times)));
        }
    }
    if writes <= PAIRS_MAX_WRITES {
        faults.extend(pairs(writes));
    }
    faults
}

/// Returns the faults for a run in which the operator sent `sent` commits of rows, and all writers made `made`.
pub fn row_schedule(sent: u32, made: u32) -> Vec<Fault> {
    let one = |kind: FaultKind, at: u32, times: u32| Fault::of([FaultPart { kind, at, times }]);
    let mut faults = Vec::new();
    for at in 1..=sent.min(MAX_POINTS) {
        faults.extend(FaultKind::COMMITS.map(|kind| one(kind, at, 1)));
    }
    for at in 1..=made.min(MAX_POINTS) {
        faults.push(one(FaultKind::TrimLog, at, 1));
        faults.extend((1..=WINDOW_EVENTS).map(|times| one(FaultKind::LateLog, at, times)));
    }
    faults
}

/// Returns pairs of crashes, the second during the recovery from the first. Earlier writes are repeated at most once,
/// so the numbers go one past those of the undisturbed run.
fn pairs(writes: u32) -> impl Iterator<Item = Fault> {
    let points = (1..=writes).flat_map(move |first| (first + 1..=writes + 1).map(move |second| (first, second)));
    points.flat_map(|(first, second)| {
        FaultKind::CRASHES.into_iter().flat_map(move |a| {
            FaultKind::CRASHES
                .map(move |b| Fault::of([FaultPart::once(a, first), FaultPart::once(b, second)]))
                .into_iter()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_fault_applies_to_every_point_and_no_run_is_repeated() {
        let faults = schedule(2, 3);
        let distinct: BTreeSet<&Fault> = faults.iter().collect();
        assert_eq!(distinct.len(), faults.len());
        for kind in FaultKind::ALL.into_iter().filter(|kind| !kind.is_of_rows()) {
            let points = if FaultKind::EVENTS.contains(&kind) { 3 } else { 2 };
            for at in 1..=points {
                assert!(faults.iter().any(|fault| fault.parts() == [FaultPart::once(kind, at)]), "{kind:?} at {at}");
            }
        }
        assert_eq!(faults.iter().filter(|fault| fault.parts().len() == 2).count(), 3 * 9);
    }

    #[test]
    fn long_runs_are_not_tried_in_pairs() {
        assert!(schedule(PAIRS_MAX_WRITES + 1, 0).iter().all(|fault| fault.parts().len() == 1));
    }
}
