#![allow(clippy::unwrap_used)]

use super::*;

fn entry(made_by: i64, seq: i64) -> LogEntry {
    LogEntry { position: LogPosition { made_by, seq }, table: "application".into(), key: format!("{made_by}/{seq}") }
}

fn seen(text: &str) -> TransactionSnapshot {
    TransactionSnapshot::parse(text).unwrap()
}

fn log(now: &str, entries: Vec<LogEntry>) -> LogRead {
    LogRead { cut: 0, now: seen(now), entries, is_all: true }
}

fn keys(events: &[ChangeEvent]) -> Vec<&str> {
    fn key(event: &ChangeEvent) -> &str {
        match event {
            ChangeEvent::Row { key, .. } => key,
            ChangeEvent::Resync => "*",
        }
    }
    events.iter().map(key).collect()
}

#[test]
fn a_snapshot_is_read_as_postgresql_writes_it() {
    let some = seen("10:20:10,14,15");
    assert_eq!((some.end(), some.open().collect::<Vec<_>>()), (20, vec![10, 14, 15]));
    assert!(some.includes(9) && some.includes(11) && some.includes(19));
    assert!(!some.includes(14) && !some.includes(20));
    assert_eq!(seen("7:7:").open().count(), 0);
    for wrong in ["", "1", "1:2", "1:x:", "1:2:3,x"] {
        assert_eq!(TransactionSnapshot::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_transaction_that_began_earlier_and_ends_later_is_not_missed() {
    let mut cursor = LogCursor::at(seen("6:6:"));
    // Transaction 7 is committed, 6 is still running.
    assert_eq!(keys(&cursor.take(log("6:8:6", vec![entry(7, 2)]))), ["7/2"]);
    // Transaction 6 is committed: it is before 7, and 7 is not delivered again.
    assert_eq!(keys(&cursor.take(log("8:8:", vec![entry(6, 1), entry(7, 2)]))), ["6/1"]);
    assert_eq!(cursor.delivered(), &seen("8:8:"));
}

#[test]
fn a_transaction_that_stays_open_delays_nothing() {
    let mut cursor = LogCursor::at(seen("5:5:"));
    for number in 6..5000 {
        let new_entries = cursor.take(log(&format!("5:{}:5", number + 1), vec![entry(number, number)]));
        assert_eq!(keys(&new_entries), [format!("{number}/{number}")]);
    }
    assert_eq!(cursor.delivered().open().collect::<Vec<_>>(), [5], "the cursor does not grow");
}

#[test]
fn several_pages_are_delivered_once_each() {
    let mut cursor = LogCursor::at(seen("5:5:"));
    let first = LogRead { is_all: false, ..log("7:8:7", vec![entry(5, 1), entry(5, 2)]) };
    assert_eq!(keys(&cursor.take(first)), ["5/1", "5/2"]);
    assert!(cursor.has_more());
    assert_eq!(cursor.after(), LogPosition { made_by: 5, seq: 2 });
    // Transactions 7 and 8 were committed between the pages. The next read delivers them, so no earlier one is skipped.
    assert_eq!(cursor.until(&seen("9:9:")), &seen("7:8:7"));
    assert_eq!(keys(&cursor.take(log("9:9:", vec![entry(6, 3), entry(7, 4)]))), ["6/3"]);
    assert!(!cursor.has_more());
    assert_eq!(keys(&cursor.take(log("9:9:", vec![entry(7, 4), entry(8, 5)]))), ["7/4", "8/5"]);
}

#[test]
fn a_trimmed_log_causes_one_resync() {
    let mut cursor = LogCursor::at(seen("2:2:"));
    assert_eq!(keys(&cursor.take(LogRead { cut: 3, ..log("5:5:", vec![entry(4, 10)]) })), ["*"]);
    assert_eq!(keys(&cursor.take(LogRead { cut: 3, ..log("6:6:", vec![entry(5, 11)]) })), ["5/11"]);
}

#[test]
fn entries_of_another_server_are_ignored() {
    let mut cursor = LogCursor::at(seen("5:5:"));
    let entries = vec![entry(5, 41), entry(9000, 7)];
    assert_eq!(keys(&cursor.take(LogRead { cut: 8000, ..log("6:6:", entries) })), ["5/41"]);
}

#[test]
fn a_requested_resync_is_delivered_without_entries() {
    let mut cursor = LogCursor::at(seen("1:1:"));
    cursor.require_resync();
    assert_eq!(keys(&cursor.take(log("1:1:", vec![]))), ["*"]);
    assert!(cursor.take(log("1:1:", vec![])).is_empty());
}
