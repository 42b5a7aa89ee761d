#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

const CANARY: &str = "canary-9f3b17";

#[test]
fn planted_secret_is_redacted_everywhere() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "Y2FuYXJ5LTlmM2IxNw=="}});
    let redactor = PageRedactor::from_secrets([&secret]);
    let texts = [
        format!("postgres://shop:{CANARY}@db/orders"),
        format!("https://{CANARY}@git.example.com/x.git"),
        format!("password={CANARY}"),
        format!("DB_PASSWORD: \"{CANARY}\""),
        format!("Authorization: Bearer {CANARY}00"),
        format!("-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----"),
        format!("it says {CANARY} somewhere"),
    ];
    for text in &texts {
        assert!(!redactor.text(text).contains(CANARY), "{text}");
    }
    for text in &texts[..6] {
        assert!(!PageRedactor::default().text(text).contains(CANARY), "the text does not mark it as a secret: {text}");
    }
    let object = json!({
        "kind": "Deployment",
        "metadata": {"annotations": {LAST_APPLIED: format!("{{\"env\":\"{CANARY}\"}}")}},
        "spec": {"env": [{"name": "API_TOKEN", "value": CANARY}, {"name": "PLAIN", "value": "shown"}],
            "password": CANARY, "adminPassword": CANARY, "client_secret": CANARY, "args": [format!("--token={CANARY}")]},
    });
    let shown = PageRedactor::default().value(&object).to_string();
    assert!(!shown.contains(CANARY), "{shown}");
    assert!(shown.contains("shown"), "{shown}");
}

#[test]
fn values_of_secrets_and_plug_configs_are_redacted_and_keys_are_not() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"user": CANARY}, "stringData": {"b": CANARY}});
    let plug = json!({"kind": "Plug", "spec": {"socket": {"name": "db"}, "config": {"database": CANARY}}, "status": {"coupledResult": {"plug": {"url": CANARY}}}});
    for (object, key) in [(secret, "user"), (plug, "database")] {
        let shown = PageRedactor::default().value(&object).to_string();
        assert!(!shown.contains(CANARY) && shown.contains(key), "{shown}");
    }
}

#[test]
fn other_text_is_not_redacted() {
    let object = json!({"kind": "Deployment", "spec": {"secretName": "web", "secretKeyRef": {"name": "a", "key": "token"},
        "image": "registry.example.com/web:1.4", "url": "https://example.com/a?b=c", "automountServiceAccountToken": true}});
    assert_eq!(PageRedactor::default().value(&object), object);
    assert_eq!(
        PageRedactor::default().text("configmaps/shop/web changed (revision 12)"),
        "configmaps/shop/web changed (revision 12)"
    );
}

#[test]
fn sensitive_name_redacts_numbers_lists_and_maps() {
    let object = json!({"spec": {
        "password": 918_273, "credentials": [CANARY], "tokens": [CANARY, {"value": CANARY}], "secret": {"user": "u", "x": {"y": CANARY}},
        "credential": {"key": CANARY}, "dbPass": CANARY, "DB_PWD": CANARY, "passwords": {"a": CANARY}, "env": [{"name": "MYSQL_PASS", "value": 918_273}],
        "args": ["--verbose", "--password", CANARY, "-token", CANARY, "--shown", "yes"],
    }});
    let shown = PageRedactor::default().value(&object).to_string();
    assert!(!shown.contains(CANARY) && !shown.contains("918273"), "{shown}");
    assert!(shown.contains("--verbose") && shown.contains("yes") && shown.contains("\"user\""), "{shown}");
    let mut hidden = PageRedactor::default().redacted_texts(&object);
    hidden.sort();
    hidden.dedup();
    assert_eq!(hidden, ["918273", CANARY, "u"]);
}

#[test]
fn login_is_redacted_to_its_end() {
    let texts = [
        format!("postgres://u:p@{CANARY}@h/db"),
        format!("postgres://u:p/{CANARY}@h/db"),
        format!("redis://:{CANARY}@h"),
        format!("see https://me:{CANARY}@h/x@v2, then"),
        format!("mysql --password {CANARY} -h db"),
        format!("mysql --db-pass '{CANARY} x'"),
        format!("credentials: {CANARY}"),
        format!("db_pwd={CANARY}"),
    ];
    for text in &texts {
        let shown = PageRedactor::default().text(text);
        assert!(!shown.contains(CANARY), "{shown}");
    }
    for plain in [
        "https://example.com:8080/a@b",
        "https://example.com/a@b?c=d",
        "github.com/a@v1",
        "bypass=1",
        "a token is needed for this",
        "--token-file /var/run/x",
    ] {
        assert_eq!(PageRedactor::default().text(plain), plain);
    }
    assert_eq!(PageRedactor::default().text("https://me@h.example.com/x@v2"), "https://<redacted>@h.example.com/x@v2");
}

#[test]
fn names_of_secrets_are_not_redacted() {
    let object = json!({"spec": {"imagePullSecrets": [{"name": "pull"}], "bypass": "yes",
        "volumes": [{"name": "a", "secret": {"secretName": "web", "defaultMode": 420, "items": [{"key": "a", "path": "b"}]}},
            {"projected": {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}]}}]}});
    assert_eq!(PageRedactor::default().value(&object), object);
}
