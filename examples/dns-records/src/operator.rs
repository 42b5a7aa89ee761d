//! Operator of DNS records.

use std::time::Duration;

use kube::ResourceExt;
use switchboard_sdk::{DecideError, Declaration, Operator, Plan, Selection, Unit, View};

use crate::provider::{Lookup, Publish, Withdraw};
use crate::record::{DnsRecord, DnsRecordStatus, FINALIZER};

/// Time after which a record is compared with the provider again, which announces no changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Publishes every DnsRecord at its provider, and withdraws it before it is deleted.
pub struct DnsRecords;

impl Operator for DnsRecords {
    fn name(&self) -> &str {
        "dns-records"
    }

    fn declaration(&self) -> Declaration {
        Declaration::for_each::<DnsRecord>(Selection::all()).writes::<DnsRecord>()
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let Some(record) = view.typed().get::<DnsRecord>(unit.namespace(), unit.name())? else {
            return Ok(Plan::nothing());
        };
        let mut plan = Plan::nothing();
        if record.metadata.deletion_timestamp.is_some() {
            if record.finalizers().iter().any(|one| one == FINALIZER) {
                view.ask(Withdraw::of(&record.spec), Withdraw::send).map_err(DecideError::failed)?;
                plan.remove_finalizer(&record, FINALIZER);
            }
            return Ok(plan);
        }
        if !record.finalizers().iter().any(|one| one == FINALIZER) {
            // Published in the next run: a record with an entry at the provider always has the finalizer.
            plan.add_finalizer(&record, FINALIZER);
            return Ok(plan);
        }
        let published = view.ask(Lookup::of(&record.spec), Lookup::send).map_err(DecideError::failed)?;
        if published.is_none_or(|entry| entry.address != record.spec.address) {
            view.ask(Publish::of(&record.spec), Publish::send).map_err(DecideError::failed)?;
        }
        let status =
            DnsRecordStatus { published: record.spec.address.clone(), observed_generation: record.metadata.generation };
        plan.apply_status(&DnsRecord { status: Some(status), ..record })?;
        Ok(plan.requeue_after(CHECK_INTERVAL))
    }
}

#[cfg(test)]
mod tests;
