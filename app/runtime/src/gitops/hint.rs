//! Hints for errors of the service and its database.

use std::error::Error;

use switchboard_gitops::ServiceError;
use switchboard_gitops::backup::{BackupError, LineError};
use switchboard_gitops::instance::fleet::FleetError;
use switchboard_gitops::moves::MoveError;
use switchboard_sql::LedgerError;
use switchboard_sql::address::AddressError;
use switchboard_sql::ledger::ConnectionProblem;
use switchboard_sql::migration::MigrationError;
use switchboard_sql::seal::SealError;

/// Returns the hint for an error of the service's database.
pub fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<MigrationError>() {
        return migration_hint(error);
    }
    if let Some(error) = error.downcast_ref::<LedgerError>() {
        return ledger_hint(error);
    }
    if let Some(error) = error.downcast_ref::<AddressError>() {
        return Some(address_hint(error));
    }
    if let Some(error) = error.downcast_ref::<FleetError>() {
        return fleet_hint(error);
    }
    if let Some(LineError::NotABackup | LineError::Truncated) = error.downcast_ref::<LineError>() {
        return Some(
            "pass a complete file that `switchboard gitops backup` of this version wrote; nothing was changed",
        );
    }
    match error.downcast_ref::<BackupError>() {
        Some(BackupError::Ledger(error)) => ledger_hint(error),
        _ => error.downcast_ref::<SealError>().and_then(seal_hint),
    }
}

fn seal_hint(error: &SealError) -> Option<&'static str> {
    match error {
        SealError::UnknownKey { .. } => {
            Some("add the line of that key to the key file: as the first line if it encrypts new values, else below")
        }
        SealError::Refused { .. } => {
            Some("check the key file: it must have the line of the key that encrypted the value; nothing was changed")
        }
        SealError::BadKey(_) | SealError::NoKey => {
            Some("write a key as a line `ID:BASE64`; `echo key1:$(head -c 32 /dev/urandom | base64)` creates one")
        }
        _ => None,
    }
}

fn address_hint(error: &AddressError) -> &'static str {
    match error {
        AddressError::Unknown => "pass --database postgres://USER:PASSWORD@HOST/NAME, or --database sqlite:FILE",
        AddressError::Postgres(_) => {
            "write the URL as postgres://USER:PASSWORD@HOST/NAME, with special characters as %XX"
        }
        AddressError::NoFile => "pass --database sqlite:FILE",
    }
}

fn fleet_hint(error: &FleetError) -> Option<&'static str> {
    Some(match error {
        FleetError::Cannot(MoveError::AlreadyThere) => {
            "nothing to do; `switchboard gitops fleet list` shows the placements of each instance"
        }
        FleetError::Cannot(MoveError::InProgress(_)) => {
            "wait until the running move ends; `switchboard gitops fleet list` shows the number of moves"
        }
        FleetError::NoMove => "recreate its deployments to create a new placement",
        // These variants are transparent, so their source is not among the causes.
        FleetError::Ledger(error) | FleetError::Service(ServiceError::Ledger(error)) => return ledger_hint(error),
        _ => return None,
    })
}

fn migration_hint(error: &MigrationError) -> Option<&'static str> {
    Some(match error {
        MigrationError::UnsupportedVersion { .. } => {
            "start the newest version of managed-gitops once, which migrates the database; then try again"
        }
        MigrationError::Dirty { .. } => {
            "repair it with the migration tool of managed-gitops, or restore a backup; then try again"
        }
        MigrationError::Newer(_) => "use the version that wrote it, or a newer version",
        MigrationError::Altered(_) => "use the version that created the database, or restore a backup",
        MigrationError::Foreign { .. } => "use a separate database or schema for the GitOps Service",
        MigrationError::MissingColumn { .. } => "the tables were changed by hand; restore a backup",
        MigrationError::OutOfDate => "run `switchboard gitops migrate`",
        MigrationError::Ledger(error) => return ledger_hint(error),
    })
}

fn ledger_hint(error: &LedgerError) -> Option<&'static str> {
    if let LedgerError::Seal(error) = error {
        return seal_hint(error);
    }
    Some(match error.connection_problem()? {
        ConnectionProblem::Unreachable => "check that the server is running, and host and port of --database",
        ConnectionProblem::Tls => {
            "set the CA of the server's certificate with `?sslrootcert=FILE`, or disable TLS with `?sslmode=disable`"
        }
        ConnectionProblem::Denied => "check user and password of --database, and that this user may create tables",
        ConnectionProblem::NoDatabase => "create it first: `createdb NAME`",
        ConnectionProblem::File => "check the path, and that this user may read and write the file",
    })
}

#[cfg(test)]
mod tests;
