//! Tests of the checker: a consistent history passes, and each injected bug is reported.
#![allow(clippy::unwrap_used)]

use super::*;

fn put(key: &str, revision: u64, id: &str) -> HistoryEvent {
    HistoryEvent::Put { key: key.into(), revision, id: Some(id.into()) }
}

fn deleted(key: &str, revision: u64) -> HistoryEvent {
    HistoryEvent::Deleted { key: key.into(), revision }
}

fn write(life: u32, key: &str, id: Option<&str>, expect: Option<u64>, outcome: WriteOutcome) -> HistoryWrite {
    HistoryWrite { life, key: key.into(), id: id.map(Into::into), expect, outcome }
}

/// Returns two lives with a crash in between: the unacknowledged write `c` was applied, `d` was not.
fn sound_history() -> History {
    use WriteOutcome::*;
    let writes = vec![
        write(0, "x", Some("a"), None, Acknowledged(2)),
        write(0, "y", Some("b"), None, Acknowledged(3)),
        write(0, "x", None, Some(2), Acknowledged(4)),
        write(0, "y", Some("no"), Some(2), Refused),
        write(0, "y", Some("c"), Some(3), Unknown),
        write(0, "z", Some("d"), None, Unknown),
        write(1, "x", Some("e"), None, Acknowledged(6)),
    ];
    let first = WatchStream { after: 1, events: vec![put("x", 2, "a"), put("y", 3, "b")] };
    let second = WatchStream {
        after: 3,
        events: vec![deleted("x", 4), put("y", 5, "c"), HistoryEvent::Bookmark { revision: 5 }, put("x", 6, "e")],
    };
    let object = |revision, id: &str| (revision, Some(id.to_owned()));
    let listings = vec![
        ListSnapshot { life: 0, revision: 1, objects: BTreeMap::new() },
        ListSnapshot { life: 1, revision: 5, objects: BTreeMap::from([("y".into(), object(5, "c"))]) },
        ListSnapshot {
            life: 2,
            revision: 6,
            objects: BTreeMap::from([("x".into(), object(6, "e")), ("y".into(), object(5, "c"))]),
        },
    ];
    History { writes, watchers: vec![vec![first, second]], listings }
}

/// Injects a bug and expects a violation of the promise.
fn assert_found(promise: Promise, bug: impl FnOnce(&mut History)) {
    let mut history = sound_history();
    bug(&mut history);
    let found = check(&history);
    assert!(found.iter().any(|violation| violation.promise == promise), "expected {promise:?}, found {found:?}");
}

fn events(history: &mut History, stream: usize) -> &mut Vec<HistoryEvent> {
    &mut history.watchers[0][stream].events
}

#[test]
fn a_sound_history_passes() {
    assert_eq!(check(&sound_history()), []);
}

#[test]
fn events_out_of_order() {
    assert_found(Promise::Ordered, |history| {
        let second = events(history, 1);
        second.remove(2);
        second.swap(0, 1);
    });
}

#[test]
fn an_event_twice_in_a_stream() {
    assert_found(Promise::Unique, |history| events(history, 0).push(put("y", 3, "b")));
}

#[test]
fn an_event_repeated_by_a_resumed_watch() {
    assert_found(Promise::Unique, |history| events(history, 1).insert(0, put("y", 3, "b")));
}

#[test]
fn two_watchers_see_different_events_at_a_revision() {
    assert_found(Promise::Unique, |history| {
        history.watchers.push(vec![WatchStream { after: 2, events: vec![put("y", 3, "c")] }]);
    });
}

#[test]
fn a_revision_given_to_two_writes_by_two_lives() {
    assert_found(Promise::Unique, |history| history.writes[6].outcome = WriteOutcome::Acknowledged(5));
}

#[test]
fn a_resumed_watch_that_skips() {
    assert_found(Promise::Resumable, |history| drop(events(history, 1).remove(0)));
    assert_found(Promise::Resumable, |history| {
        history.watchers[0][1].after = 4;
        events(history, 1).remove(0);
    });
}

#[test]
fn half_an_object() {
    assert_found(Promise::Atomic, |history| {
        events(history, 0)[0] = HistoryEvent::Put { key: "x".into(), revision: 2, id: None };
    });
    assert_found(Promise::Atomic, |history| history.listings[1].objects.get_mut("y").unwrap().1 = None);
}

#[test]
fn an_object_nobody_wrote() {
    assert_found(Promise::Atomic, |history| events(history, 1).push(put("z", 7, "ghost")));
}

#[test]
fn a_refused_write_that_happened() {
    assert_found(Promise::Atomic, |history| events(history, 1).push(put("y", 7, "no")));
}

#[test]
fn a_write_that_happened_twice() {
    assert_found(Promise::Atomic, |history| events(history, 1).push(put("y", 7, "c")));
}

#[test]
fn a_lost_update() {
    assert_found(Promise::Atomic, |history| {
        // Both are based on revision 3, so only one may succeed.
        history.writes.push(write(1, "y", Some("f"), Some(3), WriteOutcome::Acknowledged(7)));
    });
}

#[test]
fn a_delete_nobody_asked_for() {
    assert_found(Promise::Atomic, |history| events(history, 1).push(deleted("y", 7)));
}

#[test]
fn an_acknowledged_write_lost_in_a_crash() {
    assert_found(Promise::Reliable, |history| history.listings[1].revision = 3);
    assert_found(Promise::Reliable, |history| drop(history.listings[2].objects.remove("x")));
}

#[test]
fn an_acknowledged_delete_that_never_happened() {
    let forget = |history: &mut History| {
        history.writes[2].outcome = WriteOutcome::Deleted;
        history.writes.truncate(6);
        history.listings.truncate(1);
    };
    let mut history = sound_history();
    forget(&mut history);
    history.watchers[0][1].events.truncate(3);
    assert_eq!(check(&history), []);
    assert_found(Promise::Reliable, |history| {
        forget(history);
        history.watchers[0].truncate(1);
    });
}

#[test]
fn a_deleted_object_that_came_back() {
    assert_found(Promise::Reliable, |history| {
        history.listings[1].objects.insert("x".into(), (2, Some("a".into())));
    });
}

#[test]
fn a_watch_that_misses_an_acknowledged_write() {
    assert_found(Promise::Reliable, |history| drop(events(history, 0).remove(0)));
}

#[test]
fn an_event_that_a_bookmark_had_passed() {
    assert_found(Promise::Bookmarkable, |history| {
        let second = events(history, 1);
        let bookmark = second.remove(2);
        second.insert(1, bookmark);
    });
}

#[test]
fn a_bookmark_behind_its_events() {
    assert_found(Promise::Bookmarkable, |history| {
        events(history, 1).push(HistoryEvent::Bookmark { revision: 5 });
    });
}
