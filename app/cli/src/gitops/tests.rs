#![allow(clippy::unwrap_used)]

use super::*;
use crate::failure::message;

#[test]
fn every_reason_not_to_migrate_has_a_hint() {
    let reasons = [
        MigrationError::OldManagedGitops(19),
        MigrationError::Dirty(20),
        MigrationError::Newer(3),
        MigrationError::Altered(1),
        MigrationError::Foreign("application".into()),
        MigrationError::MissingColumn { table: "operation", column: "state".into() },
        MigrationError::OutOfDate,
    ];
    for reason in reasons {
        let told = message(&reason);
        assert!(told.starts_with("error: could not ") && told.contains("\nhint: "), "{told}");
    }
}

#[test]
fn the_original_is_told_of_its_database_by_variables() {
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
fn a_key_that_is_missing_is_asked_for_wherever_it_was_missed() {
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
        let told = message(error.as_ref());
        assert!(told.contains("`key2`") && told.contains("\nhint: put the line of that key back"), "{told}");
    }
}
