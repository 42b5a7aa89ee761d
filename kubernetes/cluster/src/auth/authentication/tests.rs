#![allow(clippy::unwrap_used)]
use std::collections::HashMap;

use http::HeaderValue;
use serde_json::json;

use super::*;
use crate::auth::certificates::Certificates;
use crate::auth::token::{BoundObject, ISSUER, LEGACY_ISSUER, TokenBinding, TokenClaims};
use rustls::pki_types::pem::PemObject;

#[derive(Default)]
struct TokenFixture(HashMap<(String, String, String), Value>);

impl TokenObjects for TokenFixture {
    fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.0.get(&(resource.into(), namespace.into(), name.into())).cloned()
    }
}

impl TokenFixture {
    fn with(mut self, resource: &str, namespace: &str, name: &str, object: Value) -> Self {
        self.0.insert((resource.into(), namespace.into(), name.into()), object);
        self
    }

    fn account() -> Self {
        Self::default().with("serviceaccounts", "shop", "web", json!({"metadata": {"uid": "u1"}}))
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn claims() -> TokenClaims {
    TokenClaims {
        aud: vec![ISSUER.into()],
        exp: Some(now().as_second() + 600),
        iat: Some(now().as_second()),
        nbf: Some(now().as_second()),
        iss: ISSUER.into(),
        jti: Some("j".into()),
        sub: "system:serviceaccount:shop:web".into(),
        kubernetes: Some(TokenBinding {
            namespace: "shop".into(),
            serviceaccount: BoundObject { name: "web".into(), uid: "u1".into() },
            ..TokenBinding::default()
        }),
        ..TokenClaims::default()
    }
}

fn authenticator() -> Authenticator {
    Authenticator::new(TokenKey::ephemeral().unwrap(), Some("admin-secret".into()))
}

fn bearer(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
    headers
}

fn review(claims: &TokenClaims, fixture: &TokenFixture, at: Timestamp) -> Result<User, String> {
    let authenticator = authenticator();
    let token = authenticator.key().sign(claims).unwrap();
    authenticator.authenticate_token(&token, &[], fixture, at).map(|bearer| bearer.user)
}

#[test]
fn without_credentials_only_health_and_version_are_allowed() {
    let (a, fixture) = (authenticator(), TokenFixture::default());
    for path in ["/healthz", "/readyz/ping", "/livez", "/version", "/version/"] {
        let user = a.authenticate(&Peer::Unknown, &HeaderMap::new(), path, &fixture, now()).unwrap();
        assert_eq!(user, User::anonymous(), "{path}");
    }
    for path in ["/", "/api", "/apis", "/healthzz", "/versions", "/openapi/v3", "/api/v1/pods", "/clusters/x/version"] {
        let refused = a.authenticate(&Peer::Unknown, &HeaderMap::new(), path, &fixture, now()).unwrap_err();
        assert_eq!(refused, Status::unauthorized(), "{path}");
    }
}

#[test]
fn wrong_credentials_are_refused_even_where_none_are_needed() {
    let (a, fixture) = (authenticator(), TokenFixture::default());
    assert!(a.authenticate(&Peer::Unknown, &bearer("wrong"), "/healthz", &fixture, now()).is_err());
    assert!(a.authenticate(&Peer::Untrusted, &HeaderMap::new(), "/healthz", &fixture, now()).is_err());
}

#[test]
fn the_static_token_is_the_administrator() {
    let user = authenticator()
        .authenticate(&Peer::Untrusted, &bearer("admin-secret"), "/api", &TokenFixture::default(), now())
        .unwrap();
    assert_eq!((user.name.as_str(), user.groups.join(",")), ("admin", "system:masters,system:authenticated".into()));
    let none = Authenticator::new(TokenKey::ephemeral().unwrap(), None);
    assert!(none.authenticate(&Peer::Unknown, &bearer(""), "/api", &TokenFixture::default(), now()).is_err());
}

#[test]
fn a_client_certificate_names_user_and_groups() {
    let made = Certificates::ephemeral(&[], now()).unwrap();
    let chain = |pair: &crate::auth::certificates::CertificatePair| {
        vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()]
    };
    let verifier = made.verifier().unwrap();
    let seconds = now().as_second() as u64;
    let alice = made.client("alice", Some("devs"), now()).unwrap();
    let Peer::User(user) = Peer::from_chain(&chain(&alice), &verifier, seconds) else { panic!("refused") };
    assert_eq!((user.name.as_str(), &user.groups[..]), ("alice", &["devs".to_string()][..]));
    assert!(user.extra[CREDENTIAL_ID][0].starts_with("X509SHA256="));
    let foreign = Certificates::ephemeral(&[], now()).unwrap();
    assert_eq!(Peer::from_chain(&chain(&foreign.admin), &verifier, seconds), Peer::Untrusted);
    assert_eq!(Peer::from_chain(&[], &verifier, seconds), Peer::Unknown);
}

#[test]
fn a_service_account_token_is_valid_until_it_expires() {
    let user = review(&claims(), &TokenFixture::account(), now()).unwrap();
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"]);
    assert_eq!(user.extra[CREDENTIAL_ID], ["JTI=j"]);
    let late = Timestamp::from_second(now().as_second() + 661).unwrap();
    assert_eq!(
        review(&claims(), &TokenFixture::account(), late).unwrap_err(),
        "[invalid bearer token, service account token has expired]"
    );
    let endless = TokenClaims { exp: None, ..claims() };
    assert!(review(&endless, &TokenFixture::account(), now()).is_err());
    let future = TokenClaims { nbf: Some(now().as_second() + 61), ..claims() };
    assert!(review(&future, &TokenFixture::account(), now()).unwrap_err().contains("not valid yet"));
}

#[test]
fn a_token_ends_with_its_service_account() {
    assert!(
        review(&claims(), &TokenFixture::default(), now()).unwrap_err().contains("serviceaccounts \"web\" not found")
    );
    let recreated = TokenFixture::default().with("serviceaccounts", "shop", "web", json!({"metadata": {"uid": "u2"}}));
    assert_eq!(
        review(&claims(), &recreated, now()).unwrap_err(),
        "[invalid bearer token, service account UID (u2) does not match claim (u1)]"
    );
    let going = json!({"metadata": {"uid": "u1", "deletionTimestamp": "2020-01-01T00:00:00Z"}});
    let going = TokenFixture::default().with("serviceaccounts", "shop", "web", going);
    assert!(review(&claims(), &going, now()).unwrap_err().contains("service account shop/web has been deleted"));
}

#[test]
fn a_token_ends_with_what_it_is_bound_to() {
    for (kind, resource, namespace) in [("secret", "secrets", "shop"), ("pod", "pods", "shop"), ("node", "nodes", "")] {
        let mut bound = claims();
        let reference = Some(BoundObject { name: "b".into(), uid: "b1".into() });
        let binding = bound.kubernetes.as_mut().unwrap();
        match kind {
            "secret" => binding.secret = reference,
            "pod" => binding.pod = reference,
            _ => binding.node = reference,
        }
        let fixture =
            |uid: &str| TokenFixture::account().with(resource, namespace, "b", json!({"metadata": {"uid": uid}}));
        assert!(review(&bound, &fixture("b1"), now()).is_ok(), "{kind}");
        assert!(
            review(&bound, &TokenFixture::account(), now()).unwrap_err().contains("has been invalidated"),
            "{kind}"
        );
        let text = format!("{kind} UID (b2) does not match service account {kind} ref claim (b1)");
        assert!(review(&bound, &fixture("b2"), now()).unwrap_err().contains(&text), "{kind}");
    }
}

#[test]
fn a_token_for_another_audience_is_refused() {
    let vault = TokenClaims { aud: vec!["vault".into()], ..claims() };
    assert_eq!(
        review(&vault, &TokenFixture::account(), now()).unwrap_err(),
        "[invalid bearer token, token audiences [\"vault\"] is invalid for the target audiences \
         [\"https://kubernetes.default.svc\"]]"
    );
    let a = authenticator();
    let token = a.key().sign(&vault).unwrap();
    let bearer = a.authenticate_token(&token, &["vault".into(), "x".into()], &TokenFixture::account(), now()).unwrap();
    assert_eq!(bearer.audiences, ["vault"]);
}

#[test]
fn a_token_kept_in_a_secret_lives_as_long_as_the_secret_holds_it() {
    let a = authenticator();
    let legacy = TokenClaims {
        iss: LEGACY_ISSUER.into(),
        sub: "system:serviceaccount:shop:web".into(),
        legacy_namespace: Some("shop".into()),
        legacy_secret: Some("s".into()),
        legacy_name: Some("web".into()),
        legacy_uid: Some("u1".into()),
        ..TokenClaims::default()
    };
    let token = a.key().sign(&legacy).unwrap();
    use base64::Engine;
    let data = base64::engine::general_purpose::STANDARD.encode(&token);
    let fixture = TokenFixture::account().with("secrets", "shop", "s", json!({"data": {"token": data}}));
    assert_eq!(a.authenticate_token(&token, &[], &fixture, now()).unwrap().user.name, "system:serviceaccount:shop:web");
    let error = a.authenticate_token(&token, &[], &TokenFixture::account(), now()).unwrap_err();
    assert_eq!(error, "[invalid bearer token, Token has been invalidated]");
    let other = TokenFixture::account().with("secrets", "shop", "s", json!({"data": {"token": "eA=="}}));
    assert!(a.authenticate_token(&token, &[], &other, now()).unwrap_err().contains("does not match server's copy"));
}

#[test]
fn tokens_are_not_printed() {
    assert!(!format!("{:?}", authenticator()).contains("admin-secret"));
}
