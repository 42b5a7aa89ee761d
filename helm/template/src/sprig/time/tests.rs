#![allow(clippy::unwrap_used)]

use super::{GoDuration, GoTime, Zone, parse_in};

fn berlin() -> Zone {
    match Zone::load("Europe/Berlin", &Zone::Utc).unwrap() {
        Zone::Named(zone) => Zone::Local(zone),
        other => panic!("{other:?}"),
    }
}

#[test]
fn days_and_dates_round_trip() {
    for days in (-1_000_000..1_000_000).step_by(997) {
        let civil = GoTime::unix(days * 86_400, 0, Zone::Utc).civil();
        assert_eq!(super::days_from_civil(civil.year, civil.month, civil.day), days);
    }
}

#[test]
fn times_without_zone_use_the_local_zone() {
    let berlin = berlin();
    let moment = parse_in(b"2006-01-02 15:04", b"2024-07-01 12:00", &berlin).unwrap();
    assert_eq!(moment.to_string(), "2024-07-01 12:00:00 +0200 CEST");
    let named = parse_in(b"2006-01-02 15:04 MST", b"2024-07-01 12:00 CET", &berlin).unwrap();
    assert_eq!(named.to_string(), "2024-07-01 13:00:00 +0200 CEST");
}

#[test]
fn nonexistent_hours_are_resolved_as_in_go() {
    let berlin = berlin();
    let moment = parse_in(b"2006-01-02 15:04", b"2024-03-31 02:30", &berlin).unwrap();
    assert_eq!(moment.to_string(), "2024-03-31 03:30:00 +0200 CEST");
}

#[test]
fn durations_round_trip() {
    for nanos in [0, 1, -1, 999, 1_000, 1_500_000, 61_000_000_000, -3_661_500_000_000, i64::MAX, i64::MIN] {
        assert_eq!(
            GoDuration::parse(&GoDuration(nanos).to_string()).unwrap(),
            GoDuration(nanos),
            "{}",
            GoDuration(nanos)
        );
    }
}

#[test]
fn daylight_saving_continues_after_year_9999() {
    let summer = GoTime::unix(778_179_658_119, 0, Zone::load("America/New_York", &Zone::Utc).unwrap());
    assert_eq!(summer.format(b"2006-01-02 MST"), b"26629-07-13 EDT");
}

#[test]
fn pm_takes_precedence_over_am() {
    assert_eq!(parse_in(b"PM 3 PM", b"PM 1 AM", &Zone::Utc).unwrap().civil().hour, 13);
}
