#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

const SLOW: Rate = Rate { per_s: 2.0, burst: 3.0 };

#[test]
fn a_burst_is_followed_by_the_steady_rate() {
    let mut buckets = TokenBuckets::new(SLOW);
    for _ in 0..3 {
        buckets.take("shop", 0).unwrap();
    }
    assert_eq!(buckets.take("shop", 0), Err(500));
    assert!(buckets.take("shop", 499).is_err());
    buckets.take("shop", 500).unwrap();
    assert_eq!(buckets.take("shop", 500), Err(500));
}

#[test]
fn guarantees_tenants_do_not_take_from_each_other() {
    let mut buckets = TokenBuckets::new(SLOW);
    while buckets.take("shop", 0).is_ok() {}
    for _ in 0..3 {
        buckets.take("bank", 0).unwrap();
    }
}

#[test]
fn guarantees_buckets_are_bounded() {
    let mut buckets = TokenBuckets::new(SLOW);
    while buckets.take("greedy", 0).is_ok() {}
    for one in 0..MAX_BUCKETS * 2 {
        buckets.take(&format!("tenant-{one}"), 0).unwrap();
        assert!(buckets.buckets.len() <= MAX_BUCKETS);
    }
    assert!(buckets.take("greedy", 0).is_err(), "callers over their rate are kept");
}

#[test]
fn a_clock_that_goes_back_adds_no_tokens() {
    let mut buckets = TokenBuckets::new(SLOW);
    while buckets.take("shop", 10_000).is_ok() {}
    assert!(buckets.take("shop", 0).is_err());
    assert!(buckets.take("shop", 10_000).is_err());
}

proptest! {
    #[test]
    fn guarantees_no_caller_gets_more_than_burst_and_rate(steps in prop::collection::vec(0u64..300, 1..200)) {
        let mut buckets = TokenBuckets::new(SLOW);
        let (mut now_ms, mut given) = (0, 0.0);
        for step in steps {
            now_ms += step;
            if buckets.take("shop", now_ms).is_ok() {
                given += 1.0;
            }
            prop_assert!(given <= SLOW.burst + SLOW.per_s * now_ms as f64 / 1000.0 + 1e-6);
        }
    }
}
