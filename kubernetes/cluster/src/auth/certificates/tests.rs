#![allow(clippy::unwrap_used)]
use std::os::unix::fs::PermissionsExt;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn chain(pair: &CertificatePair) -> Vec<CertificateDer<'static>> {
    vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()]
}

#[test]
fn stored_certificates_are_reused_and_private() {
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
fn a_damaged_file_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (path, now) = (dir.path().join(FILE), at("2026-11-15T00:00:00Z"));
    Certificates::in_directory(dir.path(), &[], now).unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    let other = file::encode(&Certificates::ephemeral(&[], now).unwrap());
    let key = whole.find("-----BEGIN PRIVATE").unwrap();
    let others_key = other.find("-----BEGIN PRIVATE").unwrap();
    let damaged = [
        String::new(),
        "-----BEGIN nonsense".into(),
        whole[..whole.len() / 2].to_string(),
        whole.replacen("MII", "!!!", 1),
        format!("{}{}", &whole[..key], &other[others_key..]),
        format!("{whole}{whole}"),
    ];
    for text in damaged {
        std::fs::write(&path, &text).unwrap();
        let error = Certificates::in_directory(dir.path(), &[], now).unwrap_err();
        assert!(matches!(error, CertificateError::Damaged { .. }), "{error} for {text}");
        assert!(error.to_string().contains("\nhint: "), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "what may be repaired is not replaced");
    }
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(matches!(Certificates::in_directory(dir.path(), &[], now), Err(CertificateError::Damaged { .. })));
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
