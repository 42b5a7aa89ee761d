//! Every fault worth trying, found from how the undisturbed run went.

use switchboard_kernel::applier::MAX_RESENDS;

use crate::fault::{Fault, Kind, Part};

/// Runs with at most so many writes are tried with pairs of crashes as well: their number grows with the square.
pub const PAIRS_MAX_WRITES: u32 = 8;
/// By how many events a view may be late, how many are missed, how many are merged.
pub const WINDOW_EVENTS: u32 = 3;
/// More writes or events than this are not tried one by one; the first ones are.
pub const MAX_POINTS: u32 = 1_000;

/// The faults for a run that sent so many writes and was told of so many events.
pub fn schedule(writes: u32, events: u32) -> Vec<Fault> {
    let writes = writes.min(MAX_POINTS);
    let events = events.min(MAX_POINTS);
    let one = |kind: Kind, at: u32, times: u32| Fault::of([Part { kind, at, times }]);
    let mut faults = Vec::new();
    for at in 1..=writes {
        faults.extend(Kind::CRASHES.map(|kind| one(kind, at, 1)));
    }
    for at in 1..=writes {
        // Once: sending it again helps. As often as it is sent again: the unit has to come back later.
        for times in [1, MAX_RESENDS + 1] {
            faults.extend(Kind::ANSWERS.map(|kind| one(kind, at, times)));
        }
    }
    for at in 1..=events {
        for times in 1..=WINDOW_EVENTS {
            faults.extend(Kind::EVENTS.map(|kind| one(kind, at, times)));
        }
    }
    if writes <= PAIRS_MAX_WRITES {
        faults.extend(pairs(writes));
    }
    faults
}

/// A second crash while the first is being recovered from. What was written before is written again at most once more,
/// so the numbers go one past the undisturbed run's.
fn pairs(writes: u32) -> impl Iterator<Item = Fault> {
    let points = (1..=writes).flat_map(move |first| (first + 1..=writes + 1).map(move |second| (first, second)));
    points.flat_map(|(first, second)| {
        Kind::CRASHES.into_iter().flat_map(move |a| {
            Kind::CRASHES.map(move |b| Fault::of([Part::once(a, first), Part::once(b, second)])).into_iter()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_strikes_every_point_and_no_run_is_tried_twice() {
        let faults = schedule(2, 3);
        let distinct: BTreeSet<&Fault> = faults.iter().collect();
        assert_eq!(distinct.len(), faults.len());
        for kind in Kind::ALL {
            let points = if Kind::EVENTS.contains(&kind) { 3 } else { 2 };
            for at in 1..=points {
                assert!(faults.iter().any(|fault| fault.parts() == [Part::once(kind, at)]), "{kind:?} at {at}");
            }
        }
        assert_eq!(faults.iter().filter(|fault| fault.parts().len() == 2).count(), 3 * 9);
    }

    #[test]
    fn long_runs_are_not_tried_in_pairs() {
        assert!(schedule(PAIRS_MAX_WRITES + 1, 0).iter().all(|fault| fault.parts().len() == 1));
    }
}
