//! Changes of rows that trigger units of the backend.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_object::causes::error_chain;
use switchboard_sql::{ChangeEvent, DbTimestamp, Filter, LedgerView, RowKey};
use tokio::time::Instant;

use super::{
    Backend, CREDENTIALS_NAME, DEPLOYMENTS_NAME, ENVIRONMENTS_NAME, SYNC_RUNS_NAME, TENANTS_NAME, UPKEEP_NAME,
};
use crate::deployment::{removal_of, unplaced};
use crate::error::ServiceError;
use crate::ids::{ApiRelation, ApiResource, OperationResource};
use crate::operation::upkeep;
use crate::related_rows::{RETRY_DELAY, is_open, open_operations};
use crate::rows::tenant_clusters::ServiceAccount;
use crate::rows::{ApiToDatabase, ClusterUser, DeploymentToApplication, Operation};

/// Rows per query of a resync.
const PAGE: u32 = 1000;

/// Units by operator, and whether to trigger all units with objects.
#[derive(Default)]
struct TriggeredUnits {
    units: BTreeMap<&'static str, BTreeSet<Unit>>,
    all: bool,
}

/// Keys of changed rows by table.
type ChangedRows<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

impl TriggeredUnits {
    fn of(&mut self, operator: &'static str) -> &mut BTreeSet<Unit> {
        self.units.entry(operator).or_default()
    }
}

impl Backend {
    /// Triggers units until the kernel stops, at first for every row: deletions during a downtime cause no event.
    ///
    /// # Errors
    /// When the change stream cannot be opened.
    pub async fn watch_rows(&self, handle: Handle) -> Result<(), ServiceError> {
        // All of them end with the kernel, and none is cancelled by another.
        tokio::select! {
            over = self.watch_changes(&handle) => over,
            () = self.watch_open_operations(&handle) => Ok(()),
            () = self.watch_marked_namespaces(&handle) => Ok(()),
        }
    }

    async fn watch_changes(&self, handle: &Handle) -> Result<(), ServiceError> {
        let mut changes = self.store().ledger().changes().await?;
        let mut events = vec![ChangeEvent::Resync];
        loop {
            match self.units_to_trigger(&events).await {
                Ok(triggered) => {
                    if !trigger(handle, triggered).await {
                        return Ok(());
                    }
                    events = changes.next().await;
                }
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

    /// Triggers the upkeep of each instance with an overdue Operation. Without open Operations there are no queries.
    async fn watch_open_operations(&self, handle: &Handle) {
        loop {
            let next = self.open_operations().next();
            match next {
                Some(due) => tokio::time::sleep_until(due).await,
                None => tokio::time::sleep(self.settings().notify_after).await,
            }
            let overdue: BTreeSet<_> =
                self.open_operations().take_overdue(Instant::now(), self.settings().notify_after).into_iter().collect();
            let units: Vec<Unit> = overdue.iter().map(|instance| Unit::object("", instance.as_str())).collect();
            if !units.is_empty() && handle.enqueue(OperatorName::new(UPKEEP_NAME), units).await.is_err() {
                return;
            }
        }
    }

    /// Triggers namespaces whose repositories may no longer be referenced.
    async fn watch_marked_namespaces(&self, handle: &Handle) {
        loop {
            let marked = self.settled().marked().await;
            let units = marked.iter().map(|name| Unit::object("", name)).collect();
            if handle.enqueue(OperatorName::new(TENANTS_NAME), units).await.is_err() {
                return;
            }
        }
    }

    async fn units_to_trigger(&self, events: &[ChangeEvent]) -> Result<TriggeredUnits, ServiceError> {
        let mut triggered = TriggeredUnits::default();
        let waiting = &self.0.unplaced;
        if !events.iter().any(|event| matters(event) || waiting.matters(event)) {
            return Ok(triggered);
        }
        let mut view = self.store().ledger().view().await?;
        if events.contains(&ChangeEvent::Resync) {
            self.settled().invalidate_all();
            self.0.environments.invalidate_all();
            self.0.credentials.invalidate_all();
            let open = open_operations(&mut view).await?;
            self.open_operations().keep(&open.iter().map(|row| row.id.clone()).collect());
            open.iter().for_each(|row| self.track_operation(row));
            all_units(&mut view, &mut triggered).await?;
        }
        let mut changed = ChangedRows::new();
        for event in events {
            if let ChangeEvent::Row { table, key } = event
                && changed.entry(table).or_default().insert(key)
                && waiting.matters(event)
                && unplaced::frees_capacity(&mut view, table, key).await?
            {
                triggered.of(DEPLOYMENTS_NAME).extend(waiting.all());
            }
        }
        self.changed(&mut view, &changed, &mut triggered).await?;
        view.end();
        Ok(triggered)
    }

    /// Tracks an open Operation. An Operation that is already overdue when first observed is due at once.
    fn track_operation(&self, row: &Operation) {
        if !is_open(row) {
            return self.open_operations().remove(&row.id);
        }
        let since_ms = DbTimestamp::from_unix_us(Timestamp::now().as_microsecond()).since_ms(row.created_on);
        let left = self.settings().notify_after.saturating_sub(Duration::from_millis(since_ms.try_into().unwrap_or(0)));
        self.open_operations().add(row.id.clone(), Instant::now() + left, row.instance.clone());
    }

    /// Adds the units that changed rows are about. Rows of a table are read in bulk.
    async fn changed(
        &self,
        view: &mut LedgerView,
        all: &ChangedRows<'_>,
        triggered: &mut TriggeredUnits,
    ) -> Result<(), ServiceError> {
        let of = |table: &str| all.get(table).into_iter().flatten().copied();
        let keys = |table: &str| of(table).map(RowKey::from).collect::<Vec<_>>();
        // A new tenant has no settled project yet.
        for user in view.get_many::<ClusterUser>(&keys("clusteruser")).await? {
            let Some(name) = user.display_name else { continue };
            self.settled().invalidate(&name);
            triggered.of(TENANTS_NAME).insert(Unit::object("", &name));
        }
        let mut applications: BTreeSet<String> = of("applicationstate").map(str::to_string).collect();
        let mut syncs: BTreeSet<String> = BTreeSet::new();
        let rows: Vec<Operation> = view.get_many(&keys("operation")).await?;
        let there: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        for key in of("operation").filter(|key| !there.contains(key)) {
            self.open_operations().remove(&key.into());
        }
        for row in &rows {
            self.track_operation(row);
            // The unit that opened the Operation knows its state.
            if is_open(row) {
                continue;
            }
            if self.sweep().is_none() {
                triggered.of(UPKEEP_NAME).insert(Unit::object("", upkeep::SINGLETON_UNIT));
            }
            let waits = removal_of(&row.id).and_then(|removal| self.removals().remove(&removal));
            triggered.of(DEPLOYMENTS_NAME).extend(waits);
            match row.resource {
                OperationResource::Application => applications.insert(row.resource_id.clone()),
                OperationResource::SyncOperation => syncs.insert(row.resource_id.clone()),
                _ => continue,
            };
        }
        deployments(view, &applications, triggered).await?;
        runs(view, &syncs, triggered).await?;
        // A deployment that waits for the first instance has no rows.
        triggered.all |= all.contains_key("gitopsengineinstance") || all.contains_key("switchboard_instance");
        Ok(())
    }
}

/// Tables whose changes matter.
const TABLES: [&str; 5] =
    ["applicationstate", "clusteruser", "operation", "gitopsengineinstance", "switchboard_instance"];

fn matters(event: &ChangeEvent) -> bool {
    match event {
        ChangeEvent::Resync => true,
        ChangeEvent::Row { table, .. } => TABLES.contains(&table.as_str()),
    }
}

/// Returns whether the kernel is still running.
async fn trigger(handle: &Handle, triggered: TriggeredUnits) -> bool {
    for operator in Backend::names().into_iter().filter(|_| triggered.all) {
        if handle.reconcile(operator, None).await.is_err() {
            return false;
        }
    }
    for (operator, units) in triggered.units {
        let result = handle.enqueue(OperatorName::new(operator), units.into_iter().collect()).await;
        if result.is_err() {
            return false;
        }
    }
    true
}

async fn deployments(
    view: &mut LedgerView,
    of: &BTreeSet<String>,
    triggered: &mut TriggeredUnits,
) -> Result<(), ServiceError> {
    let filter = |application: &String| Filter::all().is("application_id", application.as_str());
    let filters: Vec<Filter> = of.iter().map(filter).collect();
    let mappings: Vec<DeploymentToApplication> = view.list_many(&filters).await?;
    triggered.of(DEPLOYMENTS_NAME).extend(mappings.iter().filter_map(unit_of));
    Ok(())
}

async fn runs(
    view: &mut LedgerView,
    of: &BTreeSet<String>,
    triggered: &mut TriggeredUnits,
) -> Result<(), ServiceError> {
    let of_runs = || {
        Filter::all().is("api_resource_type", ApiResource::SyncRun).is("db_relation_type", ApiRelation::SyncOperation)
    };
    let filter = |key: &String| of_runs().is("db_relation_key", key.as_str());
    let filters: Vec<Filter> = of.iter().map(filter).collect();
    for mapping in view.list_many::<ApiToDatabase>(&filters).await? {
        triggered.of(operator_of(mapping.resource)).insert(Unit::object(&mapping.namespace, &mapping.name));
    }
    Ok(())
}

async fn all_units(view: &mut LedgerView, triggered: &mut TriggeredUnits) -> Result<(), ServiceError> {
    triggered.all = true;
    let mut page = Filter::all().limit(PAGE);
    loop {
        let mappings: Vec<DeploymentToApplication> = view.list(&page).await?;
        triggered.of(DEPLOYMENTS_NAME).extend(mappings.iter().filter_map(unit_of));
        let Some(last) = mappings.last() else { break };
        page = Filter::all().limit(PAGE).after(switchboard_sql::Row::key(last));
    }
    let mut page = Filter::all().limit(PAGE);
    loop {
        let users: Vec<ClusterUser> = view.list(&page).await?;
        let names = users.iter().filter_map(|user| user.display_name.as_deref());
        triggered.of(TENANTS_NAME).extend(names.map(|name| Unit::object("", name)));
        let Some(last) = users.last() else { break };
        page = Filter::all().limit(PAGE).after(switchboard_sql::Row::key(last));
    }
    let mut page = Filter::all().limit(PAGE);
    loop {
        let accounts: Vec<ServiceAccount> = view.list(&page).await?;
        let units = accounts.iter().map(|account| Unit::object(&account.namespace, &account.name));
        triggered.of(ENVIRONMENTS_NAME).extend(units);
        let Some(last) = accounts.last() else { break };
        page = Filter::all().limit(PAGE).after(switchboard_sql::Row::key(last));
    }
    let mut page = Filter::all().limit(PAGE);
    loop {
        let mappings: Vec<ApiToDatabase> = view.list(&page).await?;
        for mapping in &mappings {
            let unit = Unit::object(&mapping.namespace, &mapping.name);
            triggered.of(operator_of(mapping.resource)).insert(unit);
        }
        let Some(last) = mappings.last() else { break };
        page = Filter::all().limit(PAGE).after(switchboard_sql::Row::key(last));
    }
    Ok(())
}

fn unit_of(mapping: &DeploymentToApplication) -> Option<Unit> {
    Some(Unit::object(mapping.namespace.as_deref()?, mapping.name.as_deref()?))
}

fn operator_of(resource: ApiResource) -> &'static str {
    match resource {
        ApiResource::ManagedEnvironment => ENVIRONMENTS_NAME,
        ApiResource::SyncRun => SYNC_RUNS_NAME,
        ApiResource::RepositoryCredential => CREDENTIALS_NAME,
    }
}
