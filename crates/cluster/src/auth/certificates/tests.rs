#![allow(clippy::unwrap_used)]
use std::os::unix::fs::PermissionsExt;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn chain(pair: &Pair) -> Vec<CertificateDer<'static>> {
    vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()]
}

#[test]
fn kept_certificates_are_used_again_and_private() {
    let dir = tempfile::tempdir().unwrap();
    let now = at("2026-11-15T00:00:00Z");
    let first = Certificates::in_directory(dir.path(), &[], now).unwrap();
    let again = Certificates::in_directory(dir.path(), &[], now + Span::new().hours(24 * 100)).unwrap();
    assert_eq!(first.serving.certificate, again.serving.certificate);
    assert_eq!(first.admin.key, again.admin.key);
    let mode = std::fs::metadata(dir.path().join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn leaves_are_renewed_near_their_end_and_the_authority_stays() {
    let dir = tempfile::tempdir().unwrap();
    let now = at("2026-11-15T00:00:00Z");
    let first = Certificates::in_directory(dir.path(), &[], now).unwrap();
    let later = Certificates::in_directory(dir.path(), &[], now + Span::new().hours(24 * 340)).unwrap();
    assert_ne!(first.serving.certificate, later.serving.certificate);
    assert_eq!(first.authority.certificate, later.authority.certificate);
}

#[test]
fn a_new_listen_address_gets_a_new_serving_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let now = at("2026-11-15T00:00:00Z");
    let first = Certificates::in_directory(dir.path(), &[], now).unwrap();
    let address: IpAddr = "192.0.2.7".parse().unwrap();
    let moved = Certificates::in_directory(dir.path(), &[address], now).unwrap();
    assert_ne!(first.serving.certificate, moved.serving.certificate);
    let kept = Certificates::in_directory(dir.path(), &[address], now).unwrap();
    assert_eq!(moved.serving.certificate, kept.serving.certificate);
}

#[test]
fn a_damaged_file_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE), "-----BEGIN nonsense").unwrap();
    let now = at("2026-11-15T00:00:00Z");
    let made = Certificates::in_directory(dir.path(), &[], now).unwrap();
    assert!(made.are_good(&[], now));
}

#[test]
fn only_our_client_certificates_are_trusted() {
    let now = at("2026-11-15T00:00:00Z");
    let ours = Certificates::ephemeral(&[], now).unwrap();
    let foreign = Certificates::ephemeral(&[], now).unwrap();
    let verifier = ours.verifier().unwrap();
    let seconds = now.as_second() as u64;
    assert!(verifier.trusts(&chain(&ours.admin), seconds));
    assert!(!verifier.trusts(&chain(&foreign.admin), seconds));
    assert!(!verifier.trusts(&chain(&ours.serving), seconds), "a serving certificate is not for clients");
    assert!(!verifier.trusts(&chain(&ours.admin), seconds + 400 * 24 * 60 * 60), "expired");
    assert!(!verifier.trusts(&[], seconds));
    ours.server_config().unwrap();
}

#[test]
fn keys_are_not_printed() {
    let made = Certificates::ephemeral(&[], at("2026-11-15T00:00:00Z")).unwrap();
    assert!(!format!("{made:?}").contains("PRIVATE KEY"));
}
