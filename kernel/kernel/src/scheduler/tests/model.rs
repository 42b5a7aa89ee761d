//! Random sequences of events in virtual time, held against a naive record of what happened.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 3] = ["a", "b", "c"];
const UNITS: usize = 4;

#[derive(Clone, Debug)]
enum Event {
    Pass(u64),
    ToNext,
    Wake(usize, usize),
    Finish(usize, usize),
    Spend(usize, usize),
    Refund(usize, usize),
    Hold(usize, usize, u64),
    Release(usize, usize),
    Slow(usize, usize, u64),
    Pause(usize, bool),
    SetLimits(usize, Limits),
    Remove(usize),
}

fn limits() -> impl Strategy<Value = Limits> {
    let times = (0u64..400, 0u64..1500, prop::option::of(2000u64..9000), 1u64..500);
    (times, 1u32..4, 4u32..40, 1u32..4, prop::sample::select(vec![0u64, 40, 70, 300])).prop_map(
        |((debounce, cool_down, resync, backoff), writes, minute, max, memory)| Limits {
            debounce: ms(debounce),
            cool_down: ms(cool_down),
            writes_per_second: writes,
            writes_per_minute: minute,
            resync: resync.map(ms),
            backoff_first: ms(backoff),
            backoff_max: ms(backoff * 16),
            max_concurrent: max,
            memory_bytes: memory,
            ..Limits::default()
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let (o, u) = (0..NAMES.len(), 0..UNITS);
    prop_oneof![
        4 => (0u64..700).prop_map(Event::Pass),
        6 => Just(Event::ToNext),
        8 => (o.clone(), u.clone()).prop_map(|(o, u)| Event::Wake(o, u)),
        8 => (0usize..8, 0usize..5).prop_map(|(which, how)| Event::Finish(which, how)),
        4 => (o.clone(), 1usize..5).prop_map(|(o, n)| Event::Spend(o, n)),
        4 => (0usize..6, 1usize..5).prop_map(|(ago, n)| Event::Refund(ago, n)),
        1 => (o.clone(), u.clone(), 0u64..900).prop_map(|(o, u, t)| Event::Hold(o, u, t)),
        1 => (o.clone(), u.clone()).prop_map(|(o, u)| Event::Release(o, u)),
        1 => (o.clone(), u, 0u64..900).prop_map(|(o, u, t)| Event::Slow(o, u, t)),
        1 => (o.clone(), any::<bool>()).prop_map(|(o, p)| Event::Pause(o, p)),
        1 => (o.clone(), limits()).prop_map(|(o, l)| Event::SetLimits(o, l)),
        1 => o.prop_map(Event::Remove),
    ]
}

/// The scheduler and a record of everything, looked through with loops.
struct Bench {
    scheduler: Scheduler,
    global: GlobalLimits,
    now: Moment,
    limits: Vec<Limits>,
    running: Vec<(UnitId, u64)>,
    ended: BTreeMap<UnitId, Moment>,
    // Forgotten since their last run.
    gone: BTreeSet<UnitId>,
    // Woken and not started since.
    woken: BTreeMap<UnitId, Moment>,
    spent: Vec<(Moment, usize, usize, Limits)>,
    // Of the same, what was given back.
    refunded: Vec<usize>,
}

impl Bench {
    fn new(seed: u64, all: &[Limits]) -> Self {
        let global = GlobalLimits { max_concurrent: 4, requests_per_second: 10, process_memory_bytes: 100 };
        let mut scheduler = Scheduler::new(seed, global.clone());
        for (name, limits) in NAMES.iter().zip(all) {
            scheduler.set_operator(Moment(0), &operator(name), limits.clone());
        }
        let (running, ended, gone, woken, spent, refunded) = Default::default();
        Self { scheduler, global, now: Moment(0), limits: all.to_vec(), running, ended, gone, woken, spent, refunded }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Pass(time) => self.pass(self.now.after(ms(time))),
            Event::ToNext => self.pass(self.scheduler.next().unwrap_or(self.now).max(self.now)),
            Event::Wake(o, u) => {
                let unit = unit(NAMES[o], u);
                self.scheduler.wake(self.now, &unit, changed(self.now.0));
                self.woken.entry(unit).or_insert(self.now);
            }
            Event::Finish(which, how) => self.finish(which, how),
            Event::Spend(o, wanted) => {
                let granted = self.scheduler.spend(self.now, &operator(NAMES[o]), wanted);
                assert!(granted <= wanted);
                self.spent.push((self.now, o, granted, self.limits[o].clone()));
                self.refunded.push(0);
            }
            Event::Refund(ago, count) => {
                let Some(at) = self.spent.len().checked_sub(ago + 1) else { return };
                let (granted, o, of, _) = &self.spent[at];
                let back = count.min(of - self.refunded[at]);
                self.refunded[at] += back;
                self.scheduler.refund(&operator(NAMES[*o]), *granted, back);
            }
            Event::Hold(o, u, t) => self.scheduler.hold(&unit(NAMES[o], u), object("x"), self.now.after(ms(t))),
            Event::Release(o, u) => self.scheduler.release(self.now, &unit(NAMES[o], u)),
            Event::Slow(o, u, t) => self.scheduler.slow(self.now, &unit(NAMES[o], u), self.now.after(ms(t))),
            Event::Pause(o, paused) => self.scheduler.pause(&operator(NAMES[o]), paused),
            Event::SetLimits(o, limits) => {
                // What was forgotten and had rested does not rest again when the cool-down grows.
                let (now, rest, gone) = (self.now, self.limits[o].cool_down, &self.gone);
                let rested = |unit: &UnitId, at: &Moment| gone.contains(unit) && now.since(*at) >= rest;
                self.ended.retain(|unit, at| unit.operator != operator(NAMES[o]) || !rested(unit, at));
                self.limits[o] = limits.clone();
                self.scheduler.set_operator(self.now, &operator(NAMES[o]), limits);
            }
            Event::Remove(o) => {
                self.scheduler.remove_operator(&operator(NAMES[o]));
                self.scheduler.set_operator(self.now, &operator(NAMES[o]), self.limits[o].clone());
                self.woken.retain(|unit, _| unit.operator != operator(NAMES[o]));
                self.gone.extend((0..UNITS).map(|u| unit(NAMES[o], u)));
            }
        }
        self.start();
    }

    fn finish(&mut self, which: usize, how: usize) {
        if self.running.is_empty() {
            return;
        }
        let (unit, _) = self.running.remove(which % self.running.len());
        let ended = match how {
            0 => Ended::Done { again: Some(ms(300)) },
            1 => Ended::Unfinished,
            2 => Ended::Failed,
            3 => Ended::Parked { missing: vec![table()] },
            _ => Ended::Gone,
        };
        if ended == Ended::Gone {
            self.gone.insert(unit.clone());
        }
        self.scheduler.finish(self.now, &unit, ended);
        self.ended.insert(unit, self.now);
    }

    /// Time passes to `then`; on the way everything is started when `next` says so, and nothing can be before.
    fn pass(&mut self, then: Moment) {
        while let Some(next) = self.scheduler.next().filter(|next| *next <= then) {
            assert!(next > self.now, "start was just called at {:?}, and next is {next:?}", self.now);
            if next.0 - 1 > self.now.0 {
                let mut early = self.scheduler.clone();
                assert!(early.start(Moment(next.0 - 1)).is_empty(), "next was late");
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

    fn check(&mut self, started: &Started) {
        let unit = &started.unit;
        let at = NAMES.iter().position(|name| operator(name) == unit.operator).unwrap();
        assert!(self.running.iter().all(|(other, _)| other != unit), "{unit} runs already");
        let same = self.running.iter().filter(|(other, _)| other.operator == unit.operator).count();
        assert!(same < self.limits[at].max_concurrent as usize, "{unit}: its operator runs {same}");
        if let Some(ended) = self.ended.get(unit) {
            assert!(self.now.since(*ended) >= self.limits[at].cool_down, "{unit} has not rested");
        }
        assert!(!started.causes.is_empty() && started.causes.len() <= crate::decision::MAX_CAUSES);
        if let Some(woken) = self.woken.remove(unit) {
            assert!(started.causes.iter().any(|c| matches!(c, Cause::Changed { .. })), "{unit} lost its cause");
            assert!(started.woken <= woken);
        }
        self.gone.remove(unit);
        let memory = self.limits[at].memory_bytes.min(self.global.process_memory_bytes);
        self.running.push((unit.clone(), memory));
        assert!(self.running.iter().map(|(_, memory)| memory).sum::<u64>() <= 100, "too much memory");
    }

    /// Everything goes on and every run ends: whatever waits must run.
    fn settle(&mut self) {
        NAMES.iter().for_each(|name| self.scheduler.pause(&operator(name), false));
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
        let within = |from: Moment, length: u64, operator: Option<usize>| -> usize {
            let inside = self.spent.iter().zip(&self.refunded);
            let inside = inside.filter(|((at, ..), _)| *at >= from && at.0 < from.0 + length);
            // What is given back was sent all the same: it counts for all operators together.
            let kept = inside.map(|((_, o, n, _), back)| match operator {
                Some(wanted) if wanted == *o => n - back,
                Some(_) => 0,
                None => *n,
            });
            kept.sum()
        };
        // A window is fullest when it ends with a write, so its limits are those at that write.
        for (at, o, granted, limits) in self.spent.iter().filter(|(.., granted, _)| *granted > 0) {
            let second = Moment(at.0.saturating_sub(999));
            let minute = Moment(at.0.saturating_sub(59_999));
            let until = |from: Moment| at.0 - from.0 + 1;
            // Limits that were just lowered leave what was granted before.
            let steady = self.spent.iter().all(|(_, other, _, before)| other != o || before == limits);
            if steady {
                assert!(within(second, until(second), Some(*o)) <= limits.writes_per_second as usize, "{granted}");
                assert!(within(minute, until(minute), Some(*o)) <= limits.writes_per_minute as usize);
            }
            assert!(within(second, until(second), None) <= self.global.writes_per_second() as usize);
        }
    }
}

fn play(seed: u64, limits: &[Limits], events: Vec<Event>) -> Bench {
    let mut bench = Bench::new(seed, limits);
    events.into_iter().for_each(|event| bench.step(event));
    bench
}

fn script() -> impl Strategy<Value = (u64, Vec<Limits>, Vec<Event>)> {
    (any::<u64>(), prop::collection::vec(limits(), 3), prop::collection::vec(event(), 1..120))
}

// Every script is checked against all of `Bench::check` and `Bench::pass`; each test adds what its name says.
proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn guarantees_never_more_than_the_maximum_at_once((seed, limits, mut events) in script()) {
        // Nothing ends, so all that may run does.
        events.retain(|event| !matches!(event, Event::Finish(..)));
        play(seed, &limits, events);
    }

    #[test]
    fn guarantees_never_sooner_than_the_cool_down((seed, limits, events) in script()) {
        // Each run ends at once and is woken at once.
        let hot = events.into_iter().flat_map(|e| [e, Event::Finish(0, 0), Event::Wake(0, 0), Event::Wake(1, 1)]);
        play(seed, &limits, hot.collect());
    }

    #[test]
    fn guarantees_no_change_is_lost((seed, limits, events) in script()) {
        let woken = events.into_iter().flat_map(|e| [e, Event::Wake(0, 0)]);
        play(seed, &limits, woken.collect()).settle();
    }

    #[test]
    fn guarantees_no_unit_twice_at_a_time((seed, limits, events) in script()) {
        let woken = events.into_iter().flat_map(|e| [e, Event::Wake(0, 0), Event::ToNext]);
        play(seed, &limits, woken.collect());
    }

    #[test]
    fn guarantees_every_waiting_unit_runs_eventually((seed, limits, events) in script()) {
        play(seed, &limits, events).settle();
    }

    #[test]
    fn guarantees_budgets_hold_in_any_window((seed, limits, events) in script()) {
        let writes = events.into_iter().flat_map(|e| [e, Event::Spend(0, 3), Event::Spend(1, 1)]);
        play(seed, &limits, writes.collect()).check_budgets();
    }

    #[test]
    fn guarantees_next_never_misses((seed, limits, events) in script()) {
        let waits = events.into_iter().flat_map(|e| [e, Event::Pass(130)]);
        play(seed, &limits, waits.collect());
    }
}

/// The hottest unit of a busy operator does not keep a quiet one from running.
#[test]
fn nobody_starves_behind_a_hot_unit() {
    let mut scheduler = Scheduler::new(1, GlobalLimits { max_concurrent: 1, ..GlobalLimits::default() });
    for name in NAMES {
        scheduler.set_operator(Moment(0), &operator(name), Limits::none());
    }
    scheduler.wake(Moment(0), &unit("a", 0), changed(0));
    scheduler.wake(Moment(0), &unit("a", 1), changed(0));
    scheduler.wake(Moment(0), &unit("c", 0), changed(0));
    let mut seen = Vec::new();
    for now in 0..3 {
        let started = scheduler.start(Moment(now)).remove(0).unit;
        scheduler.wake(Moment(now), &started, changed(now));
        scheduler.finish(Moment(now), &started, Ended::Done { again: None });
        seen.push(started.to_string());
    }
    assert_eq!(seen, ["a shop/u0", "c shop/u0", "a shop/u1"]);
}

/// Instructions cannot be counted here, but a scan of 100,000 units per event would take minutes.
#[test]
fn a_hundred_thousand_units_are_no_burden() {
    let mut scheduler = Scheduler::new(1, GlobalLimits::default());
    scheduler.set_operator(Moment(0), &operator("a"), Limits::none());
    for number in 0..100_000 {
        scheduler.wake(Moment(0), &unit("a", number), changed(1));
    }
    let mut ran = 0;
    while let Some(next) = scheduler.next() {
        for started in scheduler.start(next) {
            ran += 1;
            scheduler.finish(next, &started.unit, Ended::Done { again: None });
        }
    }
    assert_eq!(ran, 100_000);
}
