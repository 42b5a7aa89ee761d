#![allow(clippy::unwrap_used)]

use super::*;
use crate::failure::{CommandError, message};
use crate::gitops::database;

#[test]
fn every_reason_not_to_migrate_has_a_hint() {
    let reasons = [
        MigrationError::UnsupportedVersion { program: "managed-gitops", found: 19, supported: 20 },
        MigrationError::Dirty { program: "managed-gitops", version: 20 },
        MigrationError::Newer(3),
        MigrationError::Altered(1),
        MigrationError::Foreign { table: "application", owners: "another program".into() },
        MigrationError::MissingColumn { table: "operation", column: "state".into() },
        MigrationError::OutOfDate,
    ];
    for reason in reasons {
        let printed = message(&reason);
        assert!(printed.starts_with("error: could not ") && printed.contains("\nhint: "), "{printed}");
    }
}

#[test]
fn variables_of_managed_gitops_set_the_database() {
    let variable = |name: &str| match name {
        "DB_ADDR" => Some("db.example".to_string()),
        "DB_PASS" => Some("a/b@c".to_string()),
        _ => None,
    };
    let url = database::managed_gitops_url(&variable).unwrap();
    assert_eq!(url, "postgres://postgres:a%2Fb%40c@db.example/postgres");
    assert_eq!(database::managed_gitops_url(&|_| None), None);
    let clear = |name: &str| match name {
        "DEV_ONLY_ALLOW_NON_TLS_CONNECTION_TO_POSTGRESQL" => Some("True".to_string()),
        "POSTGRESQL_DATABASE" => Some("gitops".to_string()),
        other => variable(other),
    };
    assert!(database::managed_gitops_url(&clear).unwrap().ends_with("@db.example/gitops?sslmode=disable"));
}

/// Transparent errors are not among the causes of each other.
#[test]
fn missing_key_has_a_hint_in_every_command() {
    let sealed = || {
        let [table, column, row] = ["t", "c", "r"].map(str::to_string);
        LedgerError::Seal(SealError::UnknownKey { table, column, row, id: "key2".into() })
    };
    let errors: [CommandError; 4] = [
        Box::new(sealed()),
        Box::new(MigrationError::from(sealed())),
        Box::new(FleetError::from(sealed())),
        Box::new(BackupError::from(sealed())),
    ];
    for error in errors {
        let printed = message(error.as_ref());
        assert!(printed.contains("`key2`") && printed.contains("\nhint: add the line of that key"), "{printed}");
    }
}
