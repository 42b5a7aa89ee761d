#![allow(clippy::unwrap_used)]

use super::*;

fn keys(ids: &[(&str, u8)]) -> Sealer {
    let lines: Vec<String> = ids.iter().map(|(id, byte)| format!("{id}:{}", STANDARD.encode([*byte; 32]))).collect();
    Sealer::with_keys(&lines.join("\n")).unwrap()
}

fn cell<'a>(column: &'a str, key: &'a RowKey) -> CredentialCell<'a> {
    CredentialCell { table: "repositorycredentials", column, key }
}

#[test]
fn a_sealed_credential_opens_only_where_it_was_sealed() {
    let (here, there) = (RowKey::from("a"), RowKey::from("b"));
    let sealer = keys(&[("k1", 1)]);
    let stored = sealer.seal(&SecretString::from("hunter2"), cell("repo_cred_pass", &here)).unwrap();
    assert!(stored.starts_with("swb1:k1:") && !stored.contains("hunter2"));
    assert_eq!(sealer.open(&stored, cell("repo_cred_pass", &here)).unwrap().expose(), "hunter2");
    assert!(matches!(sealer.open(&stored, cell("repo_cred_ssh", &here)), Err(SealError::Refused { .. })));
    assert!(matches!(sealer.open(&stored, cell("repo_cred_pass", &there)), Err(SealError::Refused { .. })));
}

#[test]
fn the_same_credential_is_never_stored_the_same_way_twice() {
    let key = RowKey::from("a");
    let sealer = keys(&[("k1", 1)]);
    let seal = || sealer.seal(&SecretString::from("x"), cell("repo_cred_pass", &key)).unwrap();
    assert_ne!(seal(), seal());
}

#[test]
fn a_change_of_a_single_character_is_detected() {
    let key = RowKey::from("a");
    let sealer = keys(&[("k1", 1)]);
    let stored = sealer.seal(&SecretString::from("hunter2"), cell("repo_cred_pass", &key)).unwrap();
    for at in "swb1:k1:".len()..stored.len() {
        let mut bytes = stored.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let opened = sealer.open(std::str::from_utf8(&bytes).unwrap(), cell("repo_cred_pass", &key));
        // The last character of base64 may carry bits that mean nothing; the decoder refuses those as well.
        assert!(opened.is_err(), "position {at}");
    }
}

#[test]
fn older_keys_open_and_the_first_seals() {
    let key = RowKey::from("a");
    let stored = keys(&[("k1", 1)]).seal(&SecretString::from("x"), cell("repo_cred_pass", &key)).unwrap();
    let both = keys(&[("k2", 2), ("k1", 1)]);
    assert_eq!(both.open(&stored, cell("repo_cred_pass", &key)).unwrap().expose(), "x");
    assert!(!both.is_current(&stored));
    let again = both.seal(&SecretString::from("x"), cell("repo_cred_pass", &key)).unwrap();
    assert!(again.starts_with("swb1:k2:") && both.is_current(&again));
    let unknown = keys(&[("k3", 3)]).open(&again, cell("repo_cred_pass", &key)).unwrap_err();
    assert!(unknown.to_string().contains("key `k2` is not among the given keys"), "{unknown}");
}

#[test]
fn the_same_id_with_another_key_opens_nothing() {
    let key = RowKey::from("a");
    let stored = keys(&[("k1", 1)]).seal(&SecretString::from("x"), cell("repo_cred_pass", &key)).unwrap();
    assert!(matches!(keys(&[("k1", 9)]).open(&stored, cell("repo_cred_pass", &key)), Err(SealError::Refused { .. })));
}

#[test]
fn plaintext_credentials_are_read_whatever_they_begin_with() {
    let key = RowKey::from("a");
    let plain = Sealer::plain();
    for text in ["hunter2", "swb1:k1:AAAA", "swb0:x", "ü"] {
        let stored = plain.seal(&SecretString::from(text), cell("repo_cred_pass", &key)).unwrap();
        assert_eq!(plain.open(&stored, cell("repo_cred_pass", &key)).unwrap().expose(), text);
        assert!(plain.is_current(&stored));
    }
    assert_eq!(plain.seal(&SecretString::from("hunter2"), cell("repo_cred_pass", &key)).unwrap(), "hunter2");
}

#[test]
fn keys_that_are_not_keys_are_refused_without_being_repeated() {
    assert_eq!(Sealer::with_keys("# nothing\n\n").unwrap_err(), SealError::NoKey);
    for bad in ["secretsecret", "k1:c2hvcnQ=", ":AAAA", "k 1:AAAA"] {
        let error = Sealer::with_keys(bad).unwrap_err();
        assert_eq!(error, SealError::BadKey(1));
        assert!(!error.to_string().contains(bad));
    }
    let same = format!("k1:{0}\nk1:{0}", STANDARD.encode([1; 32]));
    assert_eq!(Sealer::with_keys(&same).unwrap_err(), SealError::SameId("k1".into()));
    assert_eq!(format!("{:?}", keys(&[("k1", 1)])), r#"Sealing { current: Some("k1"), keys: ["k1"] }"#);
}
