#![allow(clippy::unwrap_used)]

use super::*;

fn mode(text: &str) -> PgSslMode {
    match Address::parse(text).unwrap().kind {
        AddressKind::Postgres(options) => options.get_ssl_mode(),
        _ => panic!("{text} is PostgreSQL"),
    }
}

#[test]
fn a_remote_server_is_verified_unless_the_url_sets_sslmode() {
    assert!(matches!(mode("postgres://u:p@db.example/gitops"), PgSslMode::VerifyFull));
    assert!(matches!(mode("postgres://u:p@db.example/gitops?sslmode=disable"), PgSslMode::Disable));
    assert!(matches!(mode("postgresql://u:p@127.0.0.1:5433/gitops"), PgSslMode::Prefer));
    assert!(matches!(mode("postgres://u@localhost/gitops?host=/run/postgresql"), PgSslMode::Prefer));
    assert!(Address::parse("postgres://u@db.example/g?sslmode=prefer").unwrap().is_unprotected());
    assert!(!Address::parse("postgres://u@127.0.0.1/g").unwrap().is_unprotected());
}

#[test]
fn an_address_is_shown_without_its_password() {
    let address = Address::parse("postgres://user:hunter2@db.example:5433/gitops").unwrap();
    assert_eq!(address.to_string(), "PostgreSQL at db.example:5433");
    assert!(!format!("{address:?}").contains("hunter2"));
}

#[test]
fn files_and_memory_are_sqlite() {
    assert_eq!(Address::parse("sqlite:data/gitops.db").unwrap().to_string(), "SQLite in data/gitops.db");
    assert_eq!(Address::parse("sqlite:///var/lib/gitops.db").unwrap().to_string(), "SQLite in /var/lib/gitops.db");
    assert_eq!(Address::parse("sqlite::memory:").unwrap().to_string(), "SQLite in memory");
    assert!(matches!(Address::parse("sqlite:"), Err(AddressError::NoFile)));
    assert!(matches!(Address::parse("mysql://x"), Err(AddressError::Unknown)));
}
