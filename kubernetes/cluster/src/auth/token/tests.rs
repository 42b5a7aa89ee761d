#![allow(clippy::unwrap_used)]
use super::*;

fn claims() -> TokenClaims {
    TokenClaims {
        iss: ISSUER.into(),
        sub: "system:serviceaccount:shop:web".into(),
        exp: Some(1),
        ..TokenClaims::default()
    }
}

#[test]
fn a_signed_token_is_accepted_and_a_changed_one_is_not() {
    let key = TokenKey::ephemeral().unwrap();
    let token = key.sign(&claims()).unwrap();
    assert_eq!(key.verify(&token).unwrap(), claims());

    let (signed, signature) = token.rsplit_once('.').unwrap();
    let (header, _) = signed.split_once('.').unwrap();
    let other = TokenClaims { sub: "system:serviceaccount:shop:root".into(), ..claims() };
    let forged = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&other).unwrap());
    assert!(matches!(key.verify(&format!("{header}.{forged}.{signature}")), Err(TokenError::Refused(_))));
}

#[test]
fn the_algorithm_is_not_the_tokens_choice() {
    let key = TokenKey::ephemeral().unwrap();
    let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims()).unwrap());
    for header in [r#"{"alg":"none"}"#, r#"{"alg":"HS256"}"#] {
        let token = format!("{}.{payload}.", URL_SAFE_NO_PAD.encode(header));
        assert!(matches!(key.verify(&token), Err(TokenError::Refused(_))), "{header}");
    }
}

#[test]
fn a_token_of_another_key_is_refused() {
    let token = TokenKey::ephemeral().unwrap().sign(&claims()).unwrap();
    let other = TokenKey::ephemeral().unwrap();
    assert_eq!(other.verify(&token), Err(TokenError::Refused("invalid signature, no keys found".into())));
    for nonsense in ["", "a", "a.b", "a.b.c", "..", &"x".repeat(MAX_TOKEN_BYTES + 1)] {
        assert_eq!(other.verify(nonsense), Err(TokenError::ForeignIssuer));
    }
}

#[test]
fn the_key_is_kept_and_never_silently_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let token = TokenKey::in_directory(dir.path()).unwrap().sign(&claims()).unwrap();
    assert!(TokenKey::in_directory(dir.path()).unwrap().verify(&token).is_ok());
    std::fs::write(dir.path().join(FILE), "junk").unwrap();
    assert!(matches!(TokenKey::in_directory(dir.path()), Err(TokenKeyError::Damaged { .. })));
}

#[test]
fn the_key_is_not_printed() {
    let key = TokenKey::ephemeral().unwrap();
    assert!(format!("{key:?}").contains("<secret>"));
}
