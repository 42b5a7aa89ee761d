//! Check of the GitOps Service's database, if one is configured.

use std::error::Error;
use std::time::Duration;

use switchboard_object::causes::causes;
use switchboard_sql::migration::SchemaState;
use switchboard_sql::seal::SealError;
use switchboard_sql::{Address, Ledger, Sealer};

use super::report::{DoctorCheck, DoctorReport};
use crate::failure::message;
use crate::gitops::database::DatabaseSettings;

/// Name of the check.
const DATABASE: &str = "database";
/// Timeout for the answer of the database.
const PATIENCE: Duration = Duration::from_secs(10);
/// Hint for a database that the user has to migrate.
const MIGRATE: &str = "migrate it with `switchboard gitops migrate`";

/// Text for a database that a backend migrates when it starts.
const BY_ITSELF: &str = "the backend migrates it at startup";

/// Database to check.
pub struct DatabaseTarget {
    /// URL of the database.
    pub url: String,
    /// Whether the process that uses the database creates its tables.
    pub is_migrated: bool,
    /// Keys for the credentials in the database; `None` if they are unknown, or reported as unusable.
    pub sealer: Option<Sealer>,
}

impl DatabaseTarget {
    /// Creates the target for a URL of the command line.
    pub fn of_url(url: &str) -> Self {
        let sealer = DatabaseSettings::new(None, None, false).sealing().ok();
        Self { url: url.to_string(), is_migrated: false, sealer }
    }
}

/// Reports that no database is configured and none is needed.
pub fn not_configured(report: &mut DoctorReport) {
    report.add(DoctorCheck::ok(DATABASE, "not configured; only the GitOps Service needs a database"));
}

/// Connects and inspects the tables; changes nothing.
pub async fn check(which: DatabaseTarget, report: &mut DoctorReport) {
    let address = match Address::parse(&which.url) {
        Ok(address) => address,
        Err(error) => return report.add(DoctorCheck::failed(DATABASE, &message(&error))),
    };
    if address.is_unprotected() {
        let hint = "remove `sslmode` from the URL to verify the server's certificate";
        report.add(DoctorCheck::warning(
            DATABASE,
            "the connection is not encrypted or its certificate is not verified",
            hint,
        ));
    }
    // A check must not create the database file.
    if address.is_absent() {
        let found = format!("{address} does not exist yet");
        return report.add(match which.is_migrated {
            true => DoctorCheck::ok(DATABASE, format!("{found}; {BY_ITSELF}")),
            false => DoctorCheck::warning(DATABASE, found, MIGRATE),
        });
    }
    let has_keys = which.sealer.is_some();
    let sealer = which.sealer.unwrap_or_else(Sealer::plain);
    let opened = tokio::time::timeout(PATIENCE, Ledger::open(&switchboard_gitops::SCHEMA, &address, sealer)).await;
    let ledger = match opened {
        Ok(Ok(ledger)) => ledger,
        Ok(Err(error)) => return report.add(DoctorCheck::failed(DATABASE, &message(&error))),
        Err(_) => {
            let found = format!("{address}: no answer within {} s", PATIENCE.as_secs());
            return report.add(DoctorCheck::error(DATABASE, found, "check address and firewall"));
        }
    };
    match ledger.plan_migration().await {
        Err(error) if !has_keys && needs_key(&error) => {
            let found = format!("{address} is up to date; its credentials were not checked, since no keys are given");
            report.add(DoctorCheck::ok(DATABASE, found));
        }
        Err(error) => report.add(DoctorCheck::failed(DATABASE, &message(&error))),
        Ok(plan) if plan.steps.is_empty() => report.add(DoctorCheck::ok(DATABASE, format!("{address} is up to date"))),
        Ok(plan) => {
            let found = match plan.schema {
                SchemaState::Empty => "is empty".to_string(),
                SchemaState::Adoptable { .. } => "has the tables of managed-gitops".to_string(),
                SchemaState::Switchboard { version } => format!("is at version {version}"),
            };
            let found = format!("{address} {found}: {} migrations pending", plan.steps.len());
            report.add(match which.is_migrated {
                true => DoctorCheck::warning(DATABASE, found, BY_ITSELF),
                false => DoctorCheck::error(DATABASE, found, MIGRATE),
            });
        }
    }
    ledger.close().await;
}

/// Whether an error only states that an encrypted credential needs a key.
fn needs_key(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| matches!(cause.downcast_ref::<SealError>(), Some(SealError::UnknownKey { .. })))
}
