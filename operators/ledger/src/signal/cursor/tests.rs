#![allow(clippy::unwrap_used)]

use super::*;

fn entry(made_by: i64, seq: i64) -> Entry {
    Entry { position: Position { made_by, seq }, table: "application".into(), key: format!("{made_by}/{seq}") }
}

fn seen(text: &str) -> Snapshot {
    Snapshot::parse(text).unwrap()
}

fn log(now: &str, entries: Vec<Entry>) -> Log {
    Log { cut: 0, now: seen(now), entries, is_all: true }
}

fn keys(signals: &[Signal]) -> Vec<&str> {
    fn key(signal: &Signal) -> &str {
        match signal {
            Signal::Changed { key, .. } => key,
            Signal::Everything => "*",
        }
    }
    signals.iter().map(key).collect()
}

#[test]
fn a_snapshot_is_read_as_postgresql_writes_it() {
    let some = seen("10:20:10,14,15");
    assert_eq!((some.end(), some.open().collect::<Vec<_>>()), (20, vec![10, 14, 15]));
    assert!(some.sees(9) && some.sees(11) && some.sees(19));
    assert!(!some.sees(14) && !some.sees(20));
    assert_eq!(seen("7:7:").open().count(), 0);
    for wrong in ["", "1", "1:2", "1:x:", "1:2:3,x"] {
        assert_eq!(Snapshot::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_transaction_that_began_earlier_and_ends_later_is_not_missed() {
    let mut cursor = Cursor::at(seen("6:6:"));
    // 7 is committed, 6 still runs.
    assert_eq!(keys(&cursor.take(log("6:8:6", vec![entry(7, 2)]))), ["7/2"]);
    // 6 is committed: it is before 7, and 7 is not told again.
    assert_eq!(keys(&cursor.take(log("8:8:", vec![entry(6, 1), entry(7, 2)]))), ["6/1"]);
    assert_eq!(cursor.told(), &seen("8:8:"));
}

#[test]
fn a_transaction_that_stays_open_keeps_nothing_back() {
    let mut cursor = Cursor::at(seen("5:5:"));
    for number in 6..5000 {
        let news = cursor.take(log(&format!("5:{}:5", number + 1), vec![entry(number, number)]));
        assert_eq!(keys(&news), [format!("{number}/{number}")]);
    }
    assert_eq!(cursor.told().open().collect::<Vec<_>>(), [5], "what is remembered does not grow");
}

#[test]
fn what_is_more_than_a_page_is_told_page_by_page_and_once() {
    let mut cursor = Cursor::at(seen("5:5:"));
    let first = Log { is_all: false, ..log("7:8:7", vec![entry(5, 1), entry(5, 2)]) };
    assert_eq!(keys(&cursor.take(first)), ["5/1", "5/2"]);
    assert!(cursor.has_more());
    assert_eq!(cursor.after(), Position { made_by: 5, seq: 2 });
    // 7 and 8 were committed between the pages. They come with the next look, and so no earlier one is passed over.
    assert_eq!(cursor.until(&seen("9:9:")), &seen("7:8:7"));
    assert_eq!(keys(&cursor.take(log("9:9:", vec![entry(6, 3), entry(7, 4)]))), ["6/3"]);
    assert!(!cursor.has_more());
    assert_eq!(keys(&cursor.take(log("9:9:", vec![entry(7, 4), entry(8, 5)]))), ["7/4", "8/5"]);
}

#[test]
fn who_reads_after_the_log_was_cut_is_told_so_once() {
    let mut cursor = Cursor::at(seen("2:2:"));
    assert_eq!(keys(&cursor.take(Log { cut: 3, ..log("5:5:", vec![entry(4, 10)]) })), ["*"]);
    assert_eq!(keys(&cursor.take(Log { cut: 3, ..log("6:6:", vec![entry(5, 11)]) })), ["5/11"]);
}

#[test]
fn what_another_server_wrote_is_no_news_and_hides_none() {
    let mut cursor = Cursor::at(seen("5:5:"));
    let entries = vec![entry(5, 41), entry(9000, 7)];
    assert_eq!(keys(&cursor.take(Log { cut: 8000, ..log("6:6:", entries) })), ["5/41"]);
}

#[test]
fn doubt_is_told_even_if_nothing_is_in_the_log() {
    let mut cursor = Cursor::at(seen("1:1:"));
    cursor.doubt();
    assert_eq!(keys(&cursor.take(log("1:1:", vec![]))), ["*"]);
    assert!(cursor.take(log("1:1:", vec![])).is_empty());
}
