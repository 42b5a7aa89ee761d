//! The GitOps Service's database, when one is named.

use std::time::Duration;

use switchboard_ledger::migration::Found;
use switchboard_ledger::{Address, Ledger, Sealing};

use super::report::{Check, Report};
use crate::failure::tell;

/// The word for it.
const DATABASE: &str = "database";
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// What makes its tables.
const MIGRATE: &str = "`switchboard gitops migrate` makes what is missing";

/// What is done where a backend starts with it.
const BY_ITSELF: &str = "the backend makes what is missing when it starts";

/// A database that is meant.
pub struct Which {
    /// Its address.
    pub url: String,
    /// Whether who uses it makes its tables.
    pub is_migrated: bool,
}

/// Says that none is needed.
pub fn none(report: &mut Report) {
    report.add(Check::ok(DATABASE, "none is named; the GitOps Service alone needs one"));
}

/// Connects and looks at the tables; changes nothing.
pub async fn check(which: &Which, report: &mut Report) {
    let address = match Address::parse(&which.url) {
        Ok(address) => address,
        Err(error) => return report.add(Check::failed(DATABASE, &tell(&error))),
    };
    if address.is_unprotected() {
        let hint = "leave `sslmode` out of the address to check its certificate";
        report.add(Check::warning(DATABASE, "the connection is not protected", hint));
    }
    // Looking must not make a file.
    if address.is_absent() {
        let found = format!("{address} is not there yet");
        return report.add(match which.is_migrated {
            true => Check::ok(DATABASE, format!("{found}; {BY_ITSELF}")),
            false => Check::warning(DATABASE, found, MIGRATE),
        });
    }
    let opened = tokio::time::timeout(PATIENCE, Ledger::open(&address, Sealing::plain())).await;
    let ledger = match opened {
        Ok(Ok(ledger)) => ledger,
        Ok(Err(error)) => return report.add(Check::failed(DATABASE, &tell(&error))),
        Err(_) => {
            let found = format!("{address}: no answer within {} s", PATIENCE.as_secs());
            return report.add(Check::wrong(DATABASE, found, "does this machine reach it? check address and firewall"));
        }
    };
    match ledger.plan_migration().await {
        Err(error) => report.add(Check::failed(DATABASE, &tell(&error))),
        Ok(plan) if plan.steps.is_empty() => report.add(Check::ok(DATABASE, format!("{address} is as it should be"))),
        Ok(plan) => {
            let found = match plan.found {
                Found::Nothing => "holds nothing".to_string(),
                Found::Original => "holds the original's tables".to_string(),
                Found::Ours { version } => format!("is at version {version}"),
            };
            let found = format!("{address} {found}: {} steps behind", plan.steps.len());
            report.add(match which.is_migrated {
                true => Check::warning(DATABASE, found, BY_ITSELF),
                false => Check::wrong(DATABASE, found, MIGRATE),
            });
        }
    }
    ledger.close().await;
}
