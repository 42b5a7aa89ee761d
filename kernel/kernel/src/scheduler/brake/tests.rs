#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Records runs in each interval from `from` on, and returns the end.
fn intervals(brake: &mut Brake, from: Timestamp, count: u64, write: Duration, used: bool) -> Timestamp {
    let mut now = from;
    for _ in 0..count {
        for _ in 0..MIN_SAMPLES {
            now = now.after(INTERVAL / MIN_SAMPLES);
            brake.record(now, write, used);
        }
    }
    now
}

#[test]
fn the_rate_rises_while_it_is_used_and_the_server_is_fast() {
    let mut brake = Brake::default();
    let now = intervals(&mut brake, Timestamp(0), 1, ms(5), false);
    assert_eq!(brake.writes_per_second(), START_WRITES_PER_SECOND, "what is not used need not grow");
    let now = intervals(&mut brake, now, 2, ms(5), true);
    assert_eq!(brake.writes_per_second(), START_WRITES_PER_SECOND + 2 * INCREASE);
    intervals(&mut brake, now, 1_000, ms(5), true);
    assert_eq!((brake.writes_per_second(), brake.reason()), (MAX_WRITES_PER_SECOND, None));
}

#[test]
fn the_rate_falls_when_even_the_fastest_write_is_slow_and_recovers() {
    let mut brake = Brake::default();
    let now = intervals(&mut brake, Timestamp(0), 2, ms(5), false);
    let now = intervals(&mut brake, now, 1, ms(300), true);
    assert_eq!(brake.writes_per_second(), START_WRITES_PER_SECOND / 2);
    assert_eq!(brake.reason(), Some(SlowServer::Latency { fastest_ms: 300, usual_ms: 5 }));
    let now = intervals(&mut brake, now, 50, ms(300), true);
    assert_eq!(brake.writes_per_second(), MIN_WRITES_PER_SECOND);
    intervals(&mut brake, now, 50, ms(6), true);
    assert!(brake.writes_per_second() > START_WRITES_PER_SECOND && brake.reason().is_none());
}

#[test]
fn few_writes_are_enough_to_recover_the_start_value() {
    let mut brake = Brake::default();
    (0..20).for_each(|count| brake.throttle(Timestamp(count * 1_000)));
    assert_eq!(brake.writes_per_second(), MIN_WRITES_PER_SECOND);
    intervals(&mut brake, Timestamp(60_000), 10, ms(5), false);
    assert!(brake.writes_per_second() >= START_WRITES_PER_SECOND && brake.reason().is_none());
}

#[test]
fn single_slow_writes_are_no_reason_to_slow_down() {
    let mut brake = Brake::default();
    let mut now = intervals(&mut brake, Timestamp(0), 2, ms(5), false);
    for _ in 0..20 {
        for write in [ms(5_000), ms(5_000), ms(5_000), ms(8)] {
            now = now.after(INTERVAL / MIN_SAMPLES);
            brake.record(now, write, true);
        }
    }
    // A few slow writes far apart say nothing about the server either.
    let before = brake.writes_per_second();
    for _ in 0..20 {
        now = now.after(INTERVAL);
        brake.record(now, ms(5_000), false);
    }
    assert_eq!((brake.writes_per_second(), brake.reason()), (before, None));
}

#[test]
fn responses_429_halve_the_rate_once_per_interval() {
    let mut brake = Brake::default();
    for at in 0..100 {
        brake.throttle(Timestamp(1_000 + at));
    }
    assert_eq!(brake.writes_per_second(), START_WRITES_PER_SECOND / 2);
    assert_eq!(brake.reason(), Some(SlowServer::TooManyRequests));
    brake.throttle(Timestamp(1_000).after(INTERVAL));
    assert_eq!(brake.writes_per_second(), START_WRITES_PER_SECOND / 4);
}

#[test]
fn a_server_that_stays_farther_away_is_usual_after_a_while() {
    let mut brake = Brake::default();
    let now = intervals(&mut brake, Timestamp(0), 2, ms(5), false);
    let now = intervals(&mut brake, now, 2, ms(300), true);
    assert!(brake.reason().is_some());
    intervals(&mut brake, now.after(USUAL_AGE), 20, ms(300), true);
    assert_eq!(brake.reason(), None);
}

proptest! {
    #[test]
    fn guarantees_the_rate_stays_within_its_bounds(
        events in prop::collection::vec((0u64..2_000, 0u64..5_000, any::<bool>(), any::<bool>()), 1..300),
    ) {
        let (mut brake, mut now) = (Brake::default(), Timestamp(0));
        for (passed, write, used, throttled) in events {
            now = now.after(ms(passed));
            if throttled { brake.throttle(now) } else { brake.record(now, ms(write), used) }
            prop_assert!((MIN_WRITES_PER_SECOND..=MAX_WRITES_PER_SECOND).contains(&brake.writes_per_second()));
        }
    }
}
