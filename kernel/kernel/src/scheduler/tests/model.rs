//! Random event sequences in virtual time, compared with a naive log of all events.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::limits::{MAX_WRITES_PER_SECOND, RUN_BURST, UNIT_WRITES_PER_SECOND, WRITE_BURST};

const NAMES: [&str; 3] = ["a", "b", "c"];
const UNITS: usize = 4;

#[derive(Clone, Debug)]
enum BenchEvent {
    Pass(u64),
    ToNext,
    Wake(usize, usize),
    WakeByOwnWrite(usize, usize),
    Finish(usize, usize),
    Spend(usize, usize),
    Refund(usize, usize),
    Hold(usize, usize, u64),
    Release(usize, usize),
    Slow(usize, usize, u64),
    Written(u64),
    Throttle,
    Pause(usize, bool),
    SetLimits(usize, Limits),
    Remove(usize),
}

fn limits() -> impl Strategy<Value = Limits> {
    use prop::option::of;
    let times = (of(0u64..400), of(0u64..1500), of(2000u64..9000), 1u64..500);
    let writes = of((1u32..4, 4u32..40));
    (times, writes, 1u32..4, prop::sample::select(vec![0u64, 40, 70, 300])).prop_map(
        |((debounce, cool_down, resync, backoff), writes, max, memory)| Limits {
            debounce: debounce.map(ms),
            cool_down: cool_down.map(ms),
            writes_per_second: writes.map(|(second, _)| second),
            writes_per_minute: writes.map(|(_, minute)| minute),
            resync: resync.map(ms),
            backoff_first: ms(backoff),
            backoff_max: ms(backoff * 16),
            max_concurrent: max,
            memory_bytes: memory,
            ..Limits::default()
        },
    )
}

fn event() -> impl Strategy<Value = BenchEvent> {
    let (o, u) = (0..NAMES.len(), 0..UNITS);
    prop_oneof![
        4 => (0u64..700).prop_map(BenchEvent::Pass),
        6 => Just(BenchEvent::ToNext),
        8 => (o.clone(), u.clone()).prop_map(|(o, u)| BenchEvent::Wake(o, u)),
        2 => (o.clone(), u.clone()).prop_map(|(o, u)| BenchEvent::WakeByOwnWrite(o, u)),
        8 => (0usize..8, 0usize..5).prop_map(|(which, how)| BenchEvent::Finish(which, how)),
        4 => (o.clone(), 1usize..5).prop_map(|(o, n)| BenchEvent::Spend(o, n)),
        4 => (0usize..6, 1usize..5).prop_map(|(ago, n)| BenchEvent::Refund(ago, n)),
        1 => (o.clone(), u.clone(), 0u64..900).prop_map(|(o, u, t)| BenchEvent::Hold(o, u, t)),
        1 => (o.clone(), u.clone()).prop_map(|(o, u)| BenchEvent::Release(o, u)),
        1 => (o.clone(), u, 0u64..900).prop_map(|(o, u, t)| BenchEvent::Slow(o, u, t)),
        1 => (0u64..900).prop_map(BenchEvent::Written),
        1 => Just(BenchEvent::Throttle),
        1 => (o.clone(), any::<bool>()).prop_map(|(o, p)| BenchEvent::Pause(o, p)),
        1 => (o.clone(), limits()).prop_map(|(o, l)| BenchEvent::SetLimits(o, l)),
        1 => o.prop_map(BenchEvent::Remove),
    ]
}

/// Scheduler with a log of all events, which is searched with loops.
struct SchedulerBench {
    scheduler: Scheduler,
    global: GlobalLimits,
    now: Timestamp,
    limits: Vec<Limits>,
    running: Vec<(UnitId, u64)>,
    ended: BTreeMap<UnitId, Timestamp>,
    // Units forgotten since their last run.
    gone: BTreeSet<UnitId>,
    // Units triggered and not started since.
    woken: BTreeMap<UnitId, Timestamp>,
    // Ends of the runs that decided, since the limits of the operator changed.
    worked: BTreeMap<UnitId, Vec<Timestamp>>,
    spent: Vec<(Timestamp, usize, usize, Limits)>,
    // Refunded writes of these grants.
    refunded: Vec<usize>,
}

impl SchedulerBench {
    fn new(seed: u64, all: &[Limits]) -> Self {
        // Half of the scripts have no request limit.
        let requests_per_second = seed.is_multiple_of(2).then_some(10);
        let global = GlobalLimits { max_concurrent: 4, requests_per_second, process_memory_bytes: 100 };
        let mut scheduler = Scheduler::new(seed, global.clone());
        for (name, limits) in NAMES.iter().zip(all) {
            scheduler.set_operator(Timestamp(0), &operator(name), limits.clone());
        }
        let (running, ended, gone, woken, worked, spent, refunded) = Default::default();
        Self {
            scheduler,
            global,
            now: Timestamp(0),
            limits: all.to_vec(),
            running,
            ended,
            gone,
            woken,
            worked,
            spent,
            refunded,
        }
    }

    fn step(&mut self, event: BenchEvent) {
        match event {
            BenchEvent::Pass(time) => self.pass(self.now.after(ms(time))),
            BenchEvent::ToNext => self.pass(self.scheduler.next().unwrap_or(self.now).max(self.now)),
            BenchEvent::Wake(o, u) => self.wake(unit(NAMES[o], u)),
            BenchEvent::WakeByOwnWrite(o, u) => {
                let unit = unit(NAMES[o], u);
                self.scheduler.trigger_next_step(self.now, &unit, changed(self.now.0));
                self.scheduler.recognize_own_writes(self.now, &unit, &|_| true);
                self.woken.entry(unit).or_insert(self.now);
            }
            BenchEvent::Finish(which, how) => self.finish(which, how),
            BenchEvent::Spend(o, wanted) => {
                let unit = unit(NAMES[o], 0);
                self.wake(unit.clone());
                let granted = self.scheduler.spend(self.now, &unit, wanted);
                assert!(granted <= wanted);
                self.spent.push((self.now, o, granted, self.limits[o].clone()));
                self.refunded.push(0);
            }
            BenchEvent::Refund(ago, count) => {
                let Some(at) = self.spent.len().checked_sub(ago + 1) else { return };
                let (granted, o, of, _) = &self.spent[at];
                let back = count.min(of - self.refunded[at]);
                self.refunded[at] += back;
                self.scheduler.refund(&unit(NAMES[*o], 0), *granted, back);
            }
            BenchEvent::Hold(o, u, t) => self.scheduler.hold(&unit(NAMES[o], u), object("x"), self.now.after(ms(t))),
            BenchEvent::Release(o, u) => self.scheduler.release(self.now, &unit(NAMES[o], u)),
            BenchEvent::Slow(o, u, t) => self.scheduler.slow(self.now, &unit(NAMES[o], u), self.now.after(ms(t))),
            BenchEvent::Written(time) => self.scheduler.record_write_time(self.now, ms(time)),
            BenchEvent::Throttle => self.scheduler.throttle(self.now),
            BenchEvent::Pause(o, paused) => {
                let pause = paused.then(|| OperatorPause { by: "ada".into(), since: self.now });
                self.scheduler.pause(&operator(NAMES[o]), pause);
            }
            BenchEvent::SetLimits(o, limits) => {
                // A forgotten unit whose cool-down has ended does not wait again when the cool-down grows.
                let (now, rest, gone) = (self.now, self.limits[o].cool_down.unwrap_or_default(), &self.gone);
                let rested = |unit: &UnitId, at: &Timestamp| gone.contains(unit) && now.since(*at) >= rest;
                self.worked.retain(|unit, _| unit.operator != operator(NAMES[o]));
                self.ended.retain(|unit, at| unit.operator != operator(NAMES[o]) || !rested(unit, at));
                self.limits[o] = limits.clone();
                self.scheduler.set_operator(self.now, &operator(NAMES[o]), limits);
            }
            BenchEvent::Remove(o) => {
                self.scheduler.remove_operator(&operator(NAMES[o]));
                self.scheduler.set_operator(self.now, &operator(NAMES[o]), self.limits[o].clone());
                self.woken.retain(|unit, _| unit.operator != operator(NAMES[o]));
                self.worked.retain(|unit, _| unit.operator != operator(NAMES[o]));
                self.gone.extend((0..UNITS).map(|u| unit(NAMES[o], u)));
            }
        }
        self.start();
    }

    fn wake(&mut self, unit: UnitId) {
        self.scheduler.trigger(self.now, &unit, changed(self.now.0));
        self.woken.entry(unit).or_insert(self.now);
    }

    fn finish(&mut self, which: usize, how: usize) {
        if self.running.is_empty() {
            return;
        }
        let (unit, _) = self.running.remove(which % self.running.len());
        let ended = match how {
            0 => RunEnd::Done { requeue_after: Some(ms(300)) },
            1 => RunEnd::Unfinished,
            2 => RunEnd::Failed,
            3 => RunEnd::NotCached { missing: vec![table()] },
            _ => RunEnd::Gone,
        };
        if ended == RunEnd::Gone {
            self.gone.insert(unit.clone());
        }
        // A run that waits for a kind has decided nothing, so it starts no cool-down; an earlier one goes on.
        let decided = !matches!(ended, RunEnd::NotCached { .. });
        self.scheduler.finish(self.now, &unit, ended);
        if decided {
            self.worked.entry(unit.clone()).or_default().push(self.now);
            self.ended.insert(unit, self.now);
        }
    }

    /// Advances time to `then`, and starts units whenever `next` is due; nothing may start earlier.
    fn pass(&mut self, then: Timestamp) {
        while let Some(next) = self.scheduler.next().filter(|next| *next <= then) {
            assert!(next > self.now, "start was just called at {:?}, and next is {next:?}", self.now);
            if next.0 - 1 > self.now.0 {
                let mut early = self.scheduler.clone();
                assert!(early.start(Timestamp(next.0 - 1)).is_empty(), "next was late");
            }
            self.now = next;
            assert!(self.start() > 0, "next was early");
        }
        self.now = then;
        assert_eq!(self.start(), 0, "next was late");
    }

    fn start(&mut self) -> usize {
        let started = self.scheduler.start(self.now);
        for started in &started {
            self.check(started);
        }
        assert!(self.running.len() <= 4);
        started.len()
    }

    fn check(&mut self, started: &StartedRun) {
        let unit = &started.unit;
        let at = NAMES.iter().position(|name| operator(name) == unit.operator).unwrap();
        assert!(self.running.iter().all(|(other, _)| other != unit), "{unit} runs already");
        let same = self.running.iter().filter(|(other, _)| other.operator == unit.operator).count();
        assert!(same < self.limits[at].max_concurrent as usize, "{unit}: its operator runs {same}");
        if let Some(ended) = self.ended.get(unit) {
            let cool_down = self.limits[at].cool_down.unwrap_or_default();
            assert!(self.now.since(*ended) >= cool_down, "{unit} has not rested");
        }
        self.check_pace(unit, &self.limits[at]);
        assert!(!started.causes.is_empty() && started.causes.len() <= crate::decision::MAX_CAUSES);
        if let Some(woken) = self.woken.remove(unit) {
            assert!(started.causes.iter().any(|c| matches!(c, Cause::Changed { .. })), "{unit} lost its cause");
            assert!(started.triggered_at <= woken);
        }
        if self.gone.remove(unit) {
            // A forgotten unit has rested; the scheduler no longer knows its last end.
            self.ended.remove(unit);
        }
        let memory = self.limits[at].memory_bytes.min(self.global.process_memory_bytes);
        self.running.push((unit.clone(), memory));
        assert!(self.running.iter().map(|(_, memory)| memory).sum::<u64>() <= 100, "too much memory");
    }

    /// Checks the bounds of a unit and of all operators without fixed limits, when a unit starts.
    fn check_pace(&self, unit: &UnitId, limits: &Limits) {
        let ends = self.worked.get(unit).filter(|_| limits.cool_down.is_none());
        for (at, since) in ends.into_iter().flatten().rev().enumerate() {
            let (runs, rest) = (at as u64 + 1, self.now.0 - since.0);
            let most = u64::from(RUN_BURST) - 1;
            assert!(runs * 1000 <= most * 1000 + rest, "{unit} ran {runs} times in {rest} ms");
        }
        if self.global.requests_per_second.is_none() {
            let recent = self.spent.iter().filter(|(at, ..)| self.now.since(*at) < ms(990));
            let recent: usize = recent.map(|(_, _, granted, _)| granted).sum();
            assert!(recent < MAX_WRITES_PER_SECOND as usize, "started after {recent} writes");
        }
    }

    /// Resumes all operators and finishes all runs, so that every waiting unit must run.
    fn settle(&mut self) {
        NAMES.iter().for_each(|name| self.scheduler.pause(&operator(name), None));
        for _ in 0..500 {
            self.start();
            while !self.running.is_empty() {
                self.finish(0, 4);
                self.start();
            }
            if self.woken.is_empty() {
                return;
            }
            let next = self.scheduler.next().expect("something waits, so there is a next");
            self.now = self.now.max(next);
        }
        panic!("these never ran: {:?}", self.woken);
    }

    fn check_budgets(&self) {
        let within = |from: Timestamp, length: u64, operator: Option<usize>| -> usize {
            let inside = self.spent.iter().zip(&self.refunded);
            let inside = inside.filter(|((at, ..), _)| *at >= from && at.0 < from.0 + length);
            // Refunded writes were sent, so they count for the limit over all operators.
            let kept = inside.map(|((_, o, n, _), back)| match operator {
                Some(wanted) if wanted == *o => n - back,
                Some(_) => 0,
                None => *n,
            });
            kept.sum()
        };
        // A window is fullest when it ends with a write, so the limits at that write apply.
        for (at, o, granted, limits) in self.spent.iter().filter(|(.., granted, _)| *granted > 0) {
            let second = Timestamp(at.0.saturating_sub(999));
            let minute = Timestamp(at.0.saturating_sub(59_999));
            let until = |from: Timestamp| at.0 - from.0 + 1;
            // Limits that were lowered do not apply to earlier grants.
            let steady = self.spent.iter().all(|(_, other, _, before)| other != o || before == limits);
            let most = |limit: Option<u32>| limit.map_or(usize::MAX, |limit| limit as usize);
            if steady {
                assert!(within(second, until(second), Some(*o)) <= most(limits.writes_per_second), "{granted}");
                assert!(within(minute, until(minute), Some(*o)) <= most(limits.writes_per_minute));
            }
            if steady && !limits.has_write_budget() {
                for (from, ..) in self.spent.iter().filter(|(from, ..)| from <= at) {
                    let most = u64::from(WRITE_BURST) + (at.0 - from.0) * u64::from(UNIT_WRITES_PER_SECOND) / 1000;
                    assert!(within(*from, until(*from), Some(*o)) as u64 <= most, "only one unit writes");
                }
            }
            assert!(within(second, until(second), None) <= most(self.global.writes_per_second()));
        }
    }
}

fn play(seed: u64, limits: &[Limits], events: Vec<BenchEvent>) -> SchedulerBench {
    let mut bench = SchedulerBench::new(seed, limits);
    events.into_iter().for_each(|event| bench.step(event));
    bench
}

fn script() -> impl Strategy<Value = (u64, Vec<Limits>, Vec<BenchEvent>)> {
    (any::<u64>(), prop::collection::vec(limits(), 3), prop::collection::vec(event(), 1..120))
}

// Every script is checked with all of `Bench::check` and `Bench::pass`; each test adds the property in its name.
proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn guarantees_never_more_than_the_maximum_at_once((seed, limits, mut events) in script()) {
        // No run finishes, so all slots are used.
        events.retain(|event| !matches!(event, BenchEvent::Finish(..)));
        play(seed, &limits, events);
    }

    #[test]
    fn guarantees_never_sooner_than_the_cool_down((seed, limits, events) in script()) {
        // Each run finishes at once and is triggered again at once.
        let hot = events.into_iter().flat_map(|e| [e, BenchEvent::Finish(0, 0), BenchEvent::Wake(0, 0), BenchEvent::Wake(1, 1)]);
        play(seed, &limits, hot.collect());
    }

    #[test]
    fn guarantees_adaptive_runs_are_bounded((seed, limits, events) in script()) {
        let adaptive: Vec<Limits> = limits.into_iter().map(|one| Limits { cool_down: None, ..one }).collect();
        let hot = events.into_iter().filter(|event| !matches!(event, BenchEvent::SetLimits(..) | BenchEvent::Remove(_)));
        let hot = hot.flat_map(|e| [e, BenchEvent::Finish(0, 1), BenchEvent::WakeByOwnWrite(0, 0)]);
        play(seed, &adaptive, hot.collect());
    }

    #[test]
    fn guarantees_no_change_is_lost((seed, limits, events) in script()) {
        let woken = events.into_iter().flat_map(|e| [e, BenchEvent::Wake(0, 0)]);
        play(seed, &limits, woken.collect()).settle();
    }

    #[test]
    fn guarantees_no_unit_twice_at_a_time((seed, limits, events) in script()) {
        let woken = events.into_iter().flat_map(|e| [e, BenchEvent::Wake(0, 0), BenchEvent::ToNext]);
        play(seed, &limits, woken.collect());
    }

    #[test]
    fn guarantees_every_waiting_unit_runs_eventually((seed, limits, events) in script()) {
        play(seed, &limits, events).settle();
    }

    #[test]
    fn guarantees_budgets_hold_in_any_window((seed, limits, events) in script()) {
        let writes = events.into_iter().flat_map(|e| [e, BenchEvent::Spend(0, 3), BenchEvent::Spend(1, 1), BenchEvent::Spend(2, 40)]);
        play(seed, &limits, writes.collect()).check_budgets();
    }

    #[test]
    fn guarantees_next_never_misses((seed, limits, events) in script()) {
        let waits = events.into_iter().flat_map(|e| [e, BenchEvent::Pass(130)]);
        play(seed, &limits, waits.collect());
    }
}

/// The busiest unit of a busy operator does not block an idle one.
#[test]
fn no_unit_starves_behind_a_busy_one() {
    let mut scheduler = Scheduler::new(1, GlobalLimits { max_concurrent: 1, ..GlobalLimits::default() });
    for name in NAMES {
        scheduler.set_operator(Timestamp(0), &operator(name), Limits::none());
    }
    scheduler.trigger(Timestamp(0), &unit("a", 0), changed(0));
    scheduler.trigger(Timestamp(0), &unit("a", 1), changed(0));
    scheduler.trigger(Timestamp(0), &unit("c", 0), changed(0));
    let mut seen = Vec::new();
    for now in 0..3 {
        let started = scheduler.start(Timestamp(now)).remove(0).unit;
        scheduler.trigger(Timestamp(now), &started, changed(now));
        scheduler.finish(Timestamp(now), &started, RunEnd::Done { requeue_after: None });
        seen.push(started.to_string());
    }
    assert_eq!(seen, ["a shop/u0", "c shop/u0", "a shop/u1"]);
}

/// Instructions cannot be counted here, but scanning 100,000 units per event would take minutes.
#[test]
fn a_hundred_thousand_units_are_scheduled_quickly() {
    let mut scheduler = Scheduler::new(1, GlobalLimits::default());
    scheduler.set_operator(Timestamp(0), &operator("a"), Limits::none());
    for number in 0..100_000 {
        scheduler.trigger(Timestamp(0), &unit("a", number), changed(1));
    }
    let mut ran = 0;
    while let Some(next) = scheduler.next() {
        for started in scheduler.start(next) {
            ran += 1;
            scheduler.finish(next, &started.unit, RunEnd::Done { requeue_after: None });
        }
    }
    assert_eq!(ran, 100_000);
}
