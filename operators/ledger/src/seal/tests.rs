#![allow(clippy::unwrap_used)]

use super::*;

fn keys(ids: &[(&str, u8)]) -> Sealing {
    let lines: Vec<String> = ids.iter().map(|(id, byte)| format!("{id}:{}", STANDARD.encode([*byte; 32]))).collect();
    Sealing::with_keys(&lines.join("\n")).unwrap()
}

fn place<'a>(column: &'a str, key: &'a Key) -> Place<'a> {
    Place { table: "repositorycredentials", column, key }
}

#[test]
fn what_is_sealed_opens_where_it_was_sealed_and_nowhere_else() {
    let (here, there) = (Key::from("a"), Key::from("b"));
    let sealing = keys(&[("k1", 1)]);
    let stored = sealing.seal(&Secret::from("hunter2"), place("repo_cred_pass", &here)).unwrap();
    assert!(stored.starts_with("swb1:k1:") && !stored.contains("hunter2"));
    assert_eq!(sealing.open(&stored, place("repo_cred_pass", &here)).unwrap().expose(), "hunter2");
    assert!(matches!(sealing.open(&stored, place("repo_cred_ssh", &here)), Err(SealError::Refused { .. })));
    assert!(matches!(sealing.open(&stored, place("repo_cred_pass", &there)), Err(SealError::Refused { .. })));
}

#[test]
fn the_same_credential_is_never_stored_the_same_way_twice() {
    let key = Key::from("a");
    let sealing = keys(&[("k1", 1)]);
    let seal = || sealing.seal(&Secret::from("x"), place("repo_cred_pass", &key)).unwrap();
    assert_ne!(seal(), seal());
}

#[test]
fn a_change_of_a_single_character_is_noticed() {
    let key = Key::from("a");
    let sealing = keys(&[("k1", 1)]);
    let stored = sealing.seal(&Secret::from("hunter2"), place("repo_cred_pass", &key)).unwrap();
    for at in "swb1:k1:".len()..stored.len() {
        let mut bytes = stored.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let opened = sealing.open(std::str::from_utf8(&bytes).unwrap(), place("repo_cred_pass", &key));
        // The last character of base64 may carry bits that mean nothing; the decoder refuses those as well.
        assert!(opened.is_err(), "position {at}");
    }
}

#[test]
fn older_keys_open_and_the_first_seals() {
    let key = Key::from("a");
    let stored = keys(&[("k1", 1)]).seal(&Secret::from("x"), place("repo_cred_pass", &key)).unwrap();
    let both = keys(&[("k2", 2), ("k1", 1)]);
    assert_eq!(both.open(&stored, place("repo_cred_pass", &key)).unwrap().expose(), "x");
    assert!(!both.is_current(&stored));
    let again = both.seal(&Secret::from("x"), place("repo_cred_pass", &key)).unwrap();
    assert!(again.starts_with("swb1:k2:") && both.is_current(&again));
    let unknown = keys(&[("k3", 3)]).open(&again, place("repo_cred_pass", &key)).unwrap_err();
    assert!(unknown.to_string().contains("key `k2`, which was not given"), "{unknown}");
}

#[test]
fn the_same_id_with_another_key_opens_nothing() {
    let key = Key::from("a");
    let stored = keys(&[("k1", 1)]).seal(&Secret::from("x"), place("repo_cred_pass", &key)).unwrap();
    assert!(matches!(keys(&[("k1", 9)]).open(&stored, place("repo_cred_pass", &key)), Err(SealError::Refused { .. })));
}

#[test]
fn clear_credentials_are_read_as_they_are_whatever_they_begin_with() {
    let key = Key::from("a");
    let plain = Sealing::plain();
    for text in ["hunter2", "swb1:k1:AAAA", "swb0:x", "ü"] {
        let stored = plain.seal(&Secret::from(text), place("repo_cred_pass", &key)).unwrap();
        assert_eq!(plain.open(&stored, place("repo_cred_pass", &key)).unwrap().expose(), text);
        assert!(plain.is_current(&stored));
    }
    assert_eq!(plain.seal(&Secret::from("hunter2"), place("repo_cred_pass", &key)).unwrap(), "hunter2");
}

#[test]
fn keys_that_are_not_keys_are_refused_without_being_repeated() {
    assert_eq!(Sealing::with_keys("# nothing\n\n").unwrap_err(), SealError::NoKey);
    for bad in ["secretsecret", "k1:c2hvcnQ=", ":AAAA", "k 1:AAAA"] {
        let error = Sealing::with_keys(bad).unwrap_err();
        assert_eq!(error, SealError::BadKey(1));
        assert!(!error.to_string().contains(bad));
    }
    let same = format!("k1:{0}\nk1:{0}", STANDARD.encode([1; 32]));
    assert_eq!(Sealing::with_keys(&same).unwrap_err(), SealError::SameId("k1".into()));
    assert_eq!(format!("{:?}", keys(&[("k1", 1)])), r#"Sealing { current: Some("k1"), keys: ["k1"] }"#);
}
