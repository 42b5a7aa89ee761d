#![allow(clippy::unwrap_used)]

use super::*;

fn entry(made_by: i64, seq: i64) -> Entry {
    Entry { position: Position { made_by, seq }, table: "application".into(), key: format!("{made_by}/{seq}") }
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

const NOWHERE: Position = Position { made_by: 0, seq: 0 };

#[test]
fn a_transaction_that_began_earlier_and_ends_later_is_not_missed() {
    let mut cursor = Cursor::at(Position { made_by: 5, seq: 0 });
    // 7 is committed, 6 still runs.
    assert_eq!(keys(&cursor.take(NOWHERE, 6, vec![entry(7, 2)])), ["7/2"]);
    assert!(cursor.is_unsettled());
    // 6 is committed: it is before 7, and 7 is not told again.
    assert_eq!(keys(&cursor.take(NOWHERE, 8, vec![entry(6, 1), entry(7, 2)])), ["6/1"]);
    assert!(!cursor.is_unsettled());
    assert_eq!(cursor.position(), Position { made_by: 7, seq: 2 });
}

#[test]
fn who_reads_after_the_log_was_cut_is_told_so_once() {
    let mut cursor = Cursor::at(Position { made_by: 1, seq: 1 });
    let cut = Position { made_by: 3, seq: 9 };
    assert_eq!(keys(&cursor.take(cut, 9, vec![entry(4, 10)])), ["*"]);
    assert_eq!(keys(&cursor.take(cut, 9, vec![entry(5, 11)])), ["5/11"]);
}

#[test]
fn doubt_is_told_even_if_nothing_is_in_the_log() {
    let mut cursor = Cursor::at(NOWHERE);
    cursor.doubt();
    assert_eq!(keys(&cursor.take(NOWHERE, 1, vec![])), ["*"]);
    assert!(cursor.take(NOWHERE, 1, vec![]).is_empty());
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut cursor = Cursor::at(NOWHERE);
    let many = (0..=MAX_UNSETTLED as i64).map(|seq| entry(9, seq)).collect();
    assert_eq!(cursor.take(NOWHERE, 1, many).len(), MAX_UNSETTLED + 1);
    assert!(!cursor.is_unsettled());
}
