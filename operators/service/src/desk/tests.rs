#![allow(clippy::unwrap_used)]

use super::*;

fn at(seconds: i64) -> Moment {
    Moment::from_unix_us(seconds * 1_000_000)
}

#[test]
fn a_question_is_asked_once_until_it_is_answered() {
    let desk: Desk<&str, &str> = Desk::default();
    let mut inbox = desk.inbox().unwrap();
    let unit = Unit::object("shop", "web");
    desk.ask(&unit, "one");
    desk.ask(&unit, "one");
    assert_eq!(inbox.try_recv().unwrap(), (unit.clone(), "one"));
    assert!(inbox.try_recv().is_err());
    desk.ask(&unit, "two");
    assert_eq!(inbox.try_recv().unwrap().1, "two");
    desk.put(&unit, &"one", "late", false, at(0));
    assert_eq!(desk.answer(&unit, at(0)), None, "what is answered is no longer asked");
    desk.put(&unit, &"two", "yes", false, at(0));
    assert_eq!(desk.answer(&unit, at(1_000_000)), Some("yes"));
}

#[test]
fn a_no_is_asked_again_ever_more_seldom() {
    let desk: Desk<&str, &str> = Desk::default();
    let mut inbox = desk.inbox().unwrap();
    let unit = Unit::object("shop", "web");
    let mut now = 0;
    let mut waits = Vec::new();
    desk.ask(&unit, "one");
    for _ in 0..9 {
        inbox.try_recv().unwrap();
        desk.put(&unit, &"one", "no", true, at(now));
        let wait = i64::try_from(desk.again_ms(&unit, at(now)).unwrap()).unwrap() / 1000;
        assert_eq!(desk.answer(&unit, at(now + wait - 1)), Some("no"));
        assert!(inbox.try_recv().is_err(), "nobody is hammered");
        now += wait;
        assert_eq!(desk.answer(&unit, at(now)), None);
        desk.ask(&unit, "one");
        waits.push(wait);
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]);
}

#[test]
fn what_stands_is_asked_again_and_what_was_answered_last_is_not_forgotten() {
    let desk: Desk<&str, &str> = Desk::default();
    let mut inbox = desk.inbox().unwrap();
    let unit = Unit::object("shop", "web");
    let minutes = |number: i64| at(number * 60);
    desk.stand(&unit, "one", b"all", 600_000, minutes(0));
    assert_eq!(desk.rest(&unit, b"another", minutes(1)), None, "something else was read");
    assert_eq!(desk.rest(&unit, b"all", minutes(1)), Some(Rest::For(540_000, None)));
    assert!(inbox.try_recv().is_err());
    assert_eq!(desk.rest(&unit, b"all", minutes(10)), Some(Rest::Asked));
    assert_eq!(desk.rest(&unit, b"all", minutes(11)), Some(Rest::Asked), "once");
    assert_eq!(inbox.try_recv().unwrap().1, "one");
    assert!(inbox.try_recv().is_err());
    desk.put(&unit, &"one", "no", true, minutes(11));
    assert_eq!(desk.rest(&unit, b"all", minutes(11)), Some(Rest::For(30_000, Some("no"))));
    assert_eq!(desk.rest(&unit, b"all", minutes(12)), Some(Rest::Asked));
    assert_eq!(desk.answer(&unit, minutes(12)), Some("no"), "until there is another");
    desk.put(&unit, &"one", "yes", false, minutes(12));
    assert_eq!(desk.rest(&unit, b"all", minutes(12)), Some(Rest::For(600_000, Some("yes"))));
    desk.unsettle_all();
    assert_eq!(desk.rest(&unit, b"all", minutes(12)), None, "rows are looked at");
    desk.stand(&unit, "one", b"all", 600_000, minutes(13));
    assert_eq!(desk.rest(&unit, b"all", minutes(13)), Some(Rest::For(540_000, Some("yes"))));
}
