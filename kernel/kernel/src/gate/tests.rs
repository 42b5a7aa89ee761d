#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::{Gate, admit};
use crate::moment::Moment;
use crate::scheduler::window::Window;

/// When so many pass that come one after the other, each so long after the last, by a clock that is told.
fn passed(limit: u32, size: u64, apart_ms: u64) -> Vec<u64> {
    let (mut window, mut now, mut all) = (Window::new(Duration::from_secs(1)), Moment(0), Vec::new());
    for number in 0..size {
        now = now.max(Moment(number * apart_ms));
        while let Some(again) = admit(&mut window, now, limit) {
            assert!(again > now, "asking again at once would spin");
            now = again;
        }
        all.push(now.0);
    }
    all
}

#[test]
fn guarantees_no_second_sees_more_than_the_limit() {
    for (limit, apart_ms) in [(1, 0), (10, 0), (10, 37), (100, 3), (7, 1000)] {
        let passed = passed(limit, 300, apart_ms);
        for from in &passed {
            let within = passed.iter().filter(|at| *at >= from && **at < from + 1000).count();
            assert!(within <= limit as usize, "{within} within a second, {limit} allowed");
        }
        // Nobody waits longer than needed either: two hundredths of each second, at most.
        let (rounds, rest) = (299 / u64::from(limit), 299 % u64::from(limit));
        let (last, ideal) = (passed[299], (rounds * 1000 + rest * apart_ms).max(299 * apart_ms));
        assert!(last <= ideal + ideal / 25 + 20, "{last} ms instead of {ideal}");
    }
}

#[tokio::test]
async fn guarantees_everybody_passes_in_turn() {
    let gate = Gate::of(50);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let held = gate.0.passed.lock().await;
    for number in 0..60 {
        let (gate, tell) = (gate.clone(), tell.clone());
        tokio::spawn(async move {
            gate.pass().await;
            let _ = tell.send(number);
        });
        // On this one thread it stands in line when it is our turn again.
        tokio::task::yield_now().await;
    }
    drop((held, tell));
    let mut order = Vec::new();
    while let Some(number) = told.recv().await {
        order.push(number);
    }
    assert_eq!(order, (0..60).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_changed_limit_holds_from_the_next_on() {
    let gate = Gate::of(1);
    gate.pass().await;
    gate.set(1_000);
    // At one a second this would take longer than any test may.
    for _ in 0..900 {
        gate.pass().await;
    }
    let open = Gate::open();
    for _ in 0..100_000 {
        open.pass().await;
    }
}
