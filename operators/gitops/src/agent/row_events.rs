//! Changes of rows that trigger Operations.
//!
//! Operations of the service are taken from their rows as soon as they are committed. Rows of other clients wait for an
//! Operation resource in the namespace of the instance, as the tests of managed-gitops expect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_object::causes::error_chain;
use switchboard_sql::{ChangeEvent, Filter, LedgerView, RowKey};
use tokio::time::Instant;

use super::{APPLICATIONS_NAME, Agent, OPERATIONS_NAME};
use crate::error::ServiceError;
use crate::ids::{EngineInstanceId, OperationId, OperationResource, OperationState};
use crate::moves::finished_moves;
use crate::operation::is_created_by_service;
use crate::related_rows::{self, RETRY_DELAY};
use crate::rows::{Application, ApplicationOwner, Operation};

/// Interval of checks of an open Operation, independent of events.
const RECHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Open Operation: its tenant and its unit.
pub(crate) type OpenOperation = (String, Unit);

/// Units by tenant. The workqueue is fair between tenants, although their units share the namespace of an instance.
type TenantUnits = BTreeMap<String, Vec<Unit>>;

/// Namespaces of instances; `None` for instances of other clusters.
type InstanceNamespaces = BTreeMap<EngineInstanceId, Option<String>>;

impl Agent {
    /// Triggers units until the kernel stops, at first for every open Operation: requests and deletions during a
    /// downtime cause no event. Open Operations are checked repeatedly, because the agent that started one may have
    /// been killed.
    ///
    /// # Errors
    /// When the change stream cannot be opened.
    pub async fn watch_rows(&self, handle: Handle) -> Result<(), ServiceError> {
        // Both end with the kernel.
        tokio::select! {
            over = self.watch_changes(&handle) => over,
            () = self.watch_open_operations(&handle) => Ok(()),
        }
    }

    async fn watch_changes(&self, handle: &Handle) -> Result<(), ServiceError> {
        let mut changes = self.store().ledger().changes().await?;
        let mut events = vec![ChangeEvent::Resync];
        loop {
            match self.handle_events(&events, handle).await {
                Ok(true) => events = changes.next().await,
                Ok(false) => return Ok(()),
                // The next attempt handles a resync, because these events are lost. It does not wait for further
                // events: there may be none.
                Err(error) => {
                    tracing::warn!(error = error_chain(&error), "could not read the changed rows");
                    tokio::time::sleep(RETRY_DELAY).await;
                    events = vec![ChangeEvent::Resync];
                }
            }
        }
    }

    /// Triggers the units of Operations that have been open for long, without queries.
    async fn watch_open_operations(&self, handle: &Handle) {
        loop {
            let next = self.open_operations().next();
            tokio::time::sleep_until(next.unwrap_or_else(|| Instant::now() + RECHECK_INTERVAL)).await;
            if !trigger(handle, self.overdue_units(Instant::now())).await {
                return;
            }
        }
    }

    /// Returns the units of Operations that have been open for long.
    fn overdue_units(&self, now: Instant) -> TenantUnits {
        let mut units = TenantUnits::new();
        for (tenant, unit) in self.open_operations().take_overdue(now, RECHECK_INTERVAL) {
            units.entry(tenant).or_default().push(unit);
        }
        units
    }

    /// Returns whether the kernel is still running.
    async fn handle_events(&self, events: &[ChangeEvent], handle: &Handle) -> Result<bool, ServiceError> {
        let unverified = self.application_cache().invalidate_changed(events);
        if !unverified.is_empty() && handle.enqueue(OperatorName::new(APPLICATIONS_NAME), unverified).await.is_err() {
            return Ok(false);
        }
        if !trigger(handle, self.units_to_trigger(events).await?).await {
            return Ok(false);
        }
        let moves = finished_moves::moves(events);
        if events.contains(&ChangeEvent::Resync) {
            self.enqueue_everything(handle).await?;
        } else if !moves.is_empty() {
            self.enqueue_finished_moves(&moves, handle).await?;
        }
        Ok(true)
    }

    async fn units_to_trigger(&self, events: &[ChangeEvent]) -> Result<TenantUnits, ServiceError> {
        let is_all = events.contains(&ChangeEvent::Resync);
        let keys: BTreeSet<&str> = events.iter().filter_map(operation_key).collect();
        let (mut units, mut namespaces, mut wanted) = (TenantUnits::new(), InstanceNamespaces::new(), Vec::new());
        if keys.is_empty() && !is_all {
            return Ok(units);
        }
        let mut view = self.store().ledger().view().await?;
        let rows = match is_all {
            true => {
                let rows = related_rows::open_operations(&mut view).await?;
                self.open_operations().keep(&rows.iter().map(|row| row.id.clone()).collect());
                rows
            }
            false => self.open_operations_of(&mut view, &keys).await?,
        };
        for row in &rows {
            let Some((tenant, unit)) = self.open_operation_of(&mut view, row, &mut namespaces).await? else {
                self.open_operations().remove(&row.id);
                continue;
            };
            self.open_operations().add(
                row.id.clone(),
                Instant::now() + RECHECK_INTERVAL,
                (tenant.clone(), unit.clone()),
            );
            // A started Operation has an agent, as long as that agent lives.
            if is_all || row.state == OperationState::Waiting {
                units.entry(tenant).or_default().push(unit);
                wanted.push(row);
            }
        }
        self.cache_all_names(&mut view, &wanted).await?;
        view.end();
        Ok(units)
    }

    /// Caches the objects of rows, so that their units need no query. The rows they depend on are read in bulk.
    async fn cache_all_names(&self, view: &mut LedgerView, rows: &[&Operation]) -> Result<(), ServiceError> {
        let of_applications = rows.iter().filter(|row| row.resource == OperationResource::Application);
        let keys: Vec<RowKey> = of_applications.map(|row| RowKey::from(row.resource_id.as_str())).collect();
        let owners: Vec<Filter> = keys.iter().map(|key| owner_filter(&key.to_string())).collect();
        view.get_many::<Application>(&keys).await?;
        view.list_many::<ApplicationOwner>(&owners).await?;
        for row in rows {
            if self.cached_names(row.id.as_str()).is_none() {
                let names = crate::operation::step::object_names(view, row).await?;
                self.cache_names(row.id.as_str(), Some(names));
            }
        }
        Ok(())
    }

    /// Returns the open Operations among these rows, and forgets the others.
    async fn open_operations_of(
        &self,
        view: &mut LedgerView,
        keys: &BTreeSet<&str>,
    ) -> Result<Vec<Operation>, ServiceError> {
        let wanted: Vec<RowKey> = keys.iter().map(|key| RowKey::from(*key)).collect();
        let mut open: Vec<Operation> = view.get_many(&wanted).await?;
        open.retain(related_rows::is_open);
        let is_open: BTreeSet<&str> = open.iter().map(|row| row.id.as_str()).collect();
        for key in keys.difference(&is_open) {
            self.open_operations().remove(&OperationId::from(*key));
        }
        Ok(open)
    }

    /// Returns the tenant and the unit of an Operation, if this agent takes it from the database.
    async fn open_operation_of(
        &self,
        view: &mut LedgerView,
        row: &Operation,
        namespaces: &mut InstanceNamespaces,
    ) -> Result<Option<OpenOperation>, ServiceError> {
        if !is_created_by_service(&row.id) {
            return Ok(None);
        }
        if !namespaces.contains_key(&row.instance) {
            let instance = self.instance(view, &row.instance).await?;
            namespaces.insert(row.instance.clone(), instance.map(|instance| instance.namespace));
        }
        let Some(Some(namespace)) = namespaces.get(&row.instance) else { return Ok(None) };
        let tenant = row.owner.as_ref().map(|owner| owner.as_str().to_string()).unwrap_or_default();
        Ok(Some((tenant, Unit::object(namespace, &crate::operation::kind::name(&row.id)))))
    }
}

/// Returns the filter for the owner of an Application, as the units use it.
fn owner_filter(application: &str) -> Filter {
    Filter::all().is("application_owner_application_id", application)
}

/// Returns whether the kernel is still running.
async fn trigger(handle: &Handle, units: TenantUnits) -> bool {
    for (tenant, units) in units {
        if handle.enqueue_for_flow(OperatorName::new(OPERATIONS_NAME), &tenant, units).await.is_err() {
            return false;
        }
    }
    true
}

fn operation_key(event: &ChangeEvent) -> Option<&str> {
    match event {
        ChangeEvent::Row { table, key } if table == "operation" => Some(key),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
