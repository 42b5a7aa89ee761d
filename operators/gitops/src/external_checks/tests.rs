#![allow(clippy::unwrap_used)]

use super::*;

fn at(seconds: i64) -> DbTimestamp {
    DbTimestamp::from_unix_us(seconds * 1_000_000)
}

#[test]
fn a_check_is_enqueued_once_until_it_completes() {
    let queue: CheckQueue<&str, &str> = CheckQueue::default();
    let mut receiver = queue.receiver().unwrap();
    let unit = Unit::object("shop", "web");
    queue.enqueue(&unit, "one");
    queue.enqueue(&unit, "one");
    assert_eq!(receiver.try_recv().unwrap(), (unit.clone(), "one"));
    assert!(receiver.try_recv().is_err());
    queue.enqueue(&unit, "two");
    assert_eq!(receiver.try_recv().unwrap().1, "two");
    queue.record(&unit, &"one", "late", false, at(0));
    assert_eq!(queue.answer(&unit, at(0)), None, "a completed check is not pending");
    queue.record(&unit, &"two", "yes", false, at(0));
    assert_eq!(queue.answer(&unit, at(1_000_000)), Some("yes"));
}

#[test]
fn a_failed_check_is_retried_with_backoff() {
    let queue: CheckQueue<&str, &str> = CheckQueue::default();
    let mut receiver = queue.receiver().unwrap();
    let unit = Unit::object("shop", "web");
    let mut now = 0;
    let mut waits = Vec::new();
    queue.enqueue(&unit, "one");
    for _ in 0..9 {
        receiver.try_recv().unwrap();
        queue.record(&unit, &"one", "no", true, at(now));
        let wait = i64::try_from(queue.retry_after_ms(&unit, at(now)).unwrap()).unwrap() / 1000;
        assert_eq!(queue.answer(&unit, at(now + wait - 1)), Some("no"));
        assert!(receiver.try_recv().is_err(), "no check is enqueued before its backoff");
        now += wait;
        assert_eq!(queue.answer(&unit, at(now)), None);
        queue.enqueue(&unit, "one");
        waits.push(wait);
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]);
}

#[test]
fn a_periodic_check_keeps_its_last_answer() {
    let queue: CheckQueue<&str, &str> = CheckQueue::default();
    let mut receiver = queue.receiver().unwrap();
    let unit = Unit::object("shop", "web");
    let minutes = |number: i64| at(number * 60);
    queue.recheck_periodically(&unit, "one", b"all", 600_000, minutes(0));
    assert_eq!(queue.periodic_state(&unit, b"another", minutes(1)), None, "the fingerprint has changed");
    assert_eq!(queue.periodic_state(&unit, b"all", minutes(1)), Some(CheckState::Fresh(540_000, None)));
    assert!(receiver.try_recv().is_err());
    assert_eq!(queue.periodic_state(&unit, b"all", minutes(10)), Some(CheckState::Pending));
    assert_eq!(queue.periodic_state(&unit, b"all", minutes(11)), Some(CheckState::Pending), "once");
    assert_eq!(receiver.try_recv().unwrap().1, "one");
    assert!(receiver.try_recv().is_err());
    queue.record(&unit, &"one", "no", true, minutes(11));
    assert_eq!(queue.periodic_state(&unit, b"all", minutes(11)), Some(CheckState::Fresh(30_000, Some("no"))));
    assert_eq!(queue.periodic_state(&unit, b"all", minutes(12)), Some(CheckState::Pending));
    assert_eq!(queue.answer(&unit, minutes(12)), Some("no"), "until the next answer");
    queue.record(&unit, &"one", "yes", false, minutes(12));
    assert_eq!(queue.periodic_state(&unit, b"all", minutes(12)), Some(CheckState::Fresh(600_000, Some("yes"))));
    queue.invalidate_all();
    assert_eq!(queue.periodic_state(&unit, b"all", minutes(12)), None, "rows are read");
    queue.recheck_periodically(&unit, "one", b"all", 600_000, minutes(13));
    assert_eq!(queue.periodic_state(&unit, b"all", minutes(13)), Some(CheckState::Fresh(540_000, Some("yes"))));
}
