#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::{RateLimiter, admit};
use crate::scheduler::window::BudgetWindow;
use crate::timestamp::Timestamp;

/// Returns when requests pass that arrive one after the other at a fixed interval, in virtual time.
fn passed(limit: u32, size: u64, apart_ms: u64) -> Vec<u64> {
    let (mut window, mut now, mut all) = (BudgetWindow::new(Duration::from_secs(1)), Timestamp(0), Vec::new());
    for number in 0..size {
        now = now.max(Timestamp(number * apart_ms));
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
        // No request waits longer than needed: at most two hundredths of each second.
        let (rounds, rest) = (299 / u64::from(limit), 299 % u64::from(limit));
        let (last, ideal) = (passed[299], (rounds * 1000 + rest * apart_ms).max(299 * apart_ms));
        assert!(last <= ideal + ideal / 25 + 20, "{last} ms instead of {ideal}");
    }
}

#[tokio::test]
async fn guarantees_requests_pass_in_order() {
    let rate_limiter = RateLimiter::per_second(50);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let held = rate_limiter.0.passed.lock().await;
    for number in 0..60 {
        let (rate_limiter, tell) = (rate_limiter.clone(), tell.clone());
        tokio::spawn(async move {
            rate_limiter.acquire().await;
            let _ = tell.send(number);
        });
        // With one thread, the request is in the queue when this task continues.
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
async fn a_changed_limit_applies_from_the_next_request() {
    let rate_limiter = RateLimiter::per_second(1);
    rate_limiter.acquire().await;
    rate_limiter.set_limit(Some(1_000));
    // At one per second this would take longer than a test may.
    for _ in 0..900 {
        rate_limiter.acquire().await;
    }
    let open = RateLimiter::unlimited();
    for _ in 0..100_000 {
        open.acquire().await;
    }
}
