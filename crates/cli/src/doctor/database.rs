//! The GitOps Service's database, when one is named.

use switchboard_ledger::migration::Found;
use switchboard_ledger::{Address, Ledger, Sealing};

use super::report::{Check, Report};
use crate::failure::tell;

/// The word for it.
const DATABASE: &str = "database";
/// What makes its tables.
const MIGRATE: &str = "`switchboard gitops migrate` makes what is missing";

/// Connects and looks at the tables; changes nothing.
pub async fn check(url: Option<&str>, report: &mut Report) {
    let Some(url) = url else {
        report.add(Check::ok(DATABASE, "none is named; the GitOps Service alone needs one"));
        return;
    };
    let address = match Address::parse(url) {
        Ok(address) => address,
        Err(error) => return report.add(Check::failed(DATABASE, &tell(&error))),
    };
    if address.is_unprotected() {
        let hint = "leave `sslmode` out of the address to check its certificate";
        report.add(Check::warning(DATABASE, "the connection is not protected", hint));
    }
    // Looking must not make a file.
    if address.is_absent() {
        return report.add(Check::warning(DATABASE, format!("{address} is not there yet"), MIGRATE));
    }
    let ledger = match Ledger::open(&address, Sealing::plain()).await {
        Ok(ledger) => ledger,
        Err(error) => return report.add(Check::failed(DATABASE, &tell(&error))),
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
            report.add(Check::wrong(DATABASE, found, MIGRATE));
        }
    }
    ledger.close().await;
}
