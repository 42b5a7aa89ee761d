//! News of rows: which units look again because the agent, or somebody else, changed something.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use switchboard_gitops::flow::deployment::removal_of;
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_ledger::ids::{ApiResource, OperationResource};
use switchboard_ledger::rows::left::ServiceAccount;
use switchboard_ledger::rows::{ApiToDatabase, ClusterUser, DeploymentToApplication, Operation};
use switchboard_ledger::{Filter, Key, Moment, Signal, View};
use tokio::time::Instant;

use super::{
    Backend, CREDENTIALS_NAME, DEPLOYMENTS_NAME, ENVIRONMENTS_NAME, SYNC_RUNS_NAME, TENANTS_NAME, UPKEEP_NAME,
    roomless, upkeep,
};
use crate::error::{ServiceError, told};
use crate::rows::{is_open, open_operations};

/// How soon is looked again when the database did not answer.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How many mappings are read at once when everything is looked at.
const PAGE: u32 = 1000;

/// Units to wake, by operator; and whether all that have objects are, too.
#[derive(Default)]
struct Woken {
    units: BTreeMap<&'static str, BTreeSet<Unit>>,
    all: bool,
}

/// Rows that changed, by table.
type Changed<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

impl Woken {
    fn of(&mut self, operator: &'static str) -> &mut BTreeSet<Unit> {
        self.units.entry(operator).or_default()
    }
}

impl Backend {
    /// Wakes units until the kernel stops. First all that have rows: what went while nobody looked has no object to be woken by.
    ///
    /// # Errors
    /// When the database cannot be listened to.
    pub async fn follow(&self, handle: Handle) -> Result<(), ServiceError> {
        // Each of them ends with the kernel, and none is interrupted by another.
        tokio::select! {
            over = self.hear(&handle) => over,
            () = self.watch_open(&handle) => Ok(()),
            () = self.watch_marked(&handle) => Ok(()),
        }
    }

    async fn hear(&self, handle: &Handle) -> Result<(), ServiceError> {
        let mut signals = self.store().ledger().signals().await?;
        let mut news = vec![Signal::Everything];
        loop {
            match self.woken(&news).await {
                Ok(woken) => {
                    if !wake(handle, woken).await {
                        return Ok(());
                    }
                    news = signals.next().await;
                }
                // The next look is at everything: what these were about is not known. It waits for no further news: none may come.
                Err(error) => {
                    tracing::warn!(error = told(&error), "could not find out what changed");
                    tokio::time::sleep(LOOK_AGAIN).await;
                    news = vec![Signal::Everything];
                }
            }
        }
    }

    /// Wakes the upkeep of each Argo CD that an Operation has been open at for long. Nothing is asked of the database as long as none is.
    async fn watch_open(&self, handle: &Handle) {
        loop {
            let next = self.open().next();
            match next {
                Some(due) => tokio::time::sleep_until(due).await,
                None => tokio::time::sleep(self.settings().ring_after).await,
            }
            let late: BTreeSet<_> = self.open().late(Instant::now(), self.settings().ring_after).into_iter().collect();
            let units: Vec<Unit> = late.iter().map(|instance| Unit::object("", instance.as_str())).collect();
            if !units.is_empty() && handle.tell(OperatorName::new(UPKEEP_NAME), units).await.is_err() {
                return;
            }
        }
    }

    /// Wakes namespaces whose repositories may be named no longer.
    async fn watch_marked(&self, handle: &Handle) {
        loop {
            let marked = self.settled().marked().await;
            let units = marked.iter().map(|name| Unit::object("", name)).collect();
            if handle.tell(OperatorName::new(TENANTS_NAME), units).await.is_err() {
                return;
            }
        }
    }

    async fn woken(&self, news: &[Signal]) -> Result<Woken, ServiceError> {
        let mut woken = Woken::default();
        let waiting = &self.0.roomless;
        if !news.iter().any(|signal| matters(signal) || waiting.matters(signal)) {
            return Ok(woken);
        }
        let mut view = self.store().ledger().view().await?;
        if news.contains(&Signal::Everything) {
            self.settled().unsettle_all();
            self.0.environments.unsettle_all();
            self.0.credentials.unsettle_all();
            let open = open_operations(&mut view).await?;
            self.open().keep(&open.iter().map(|row| row.id.clone()).collect());
            open.iter().for_each(|row| self.note(row));
            everything(&mut view, &mut woken).await?;
        }
        let mut changed = Changed::new();
        for signal in news {
            if let Signal::Changed { table, key } = signal
                && changed.entry(table).or_default().insert(key)
                && waiting.matters(signal)
                && roomless::leaves_room(&mut view, table, key).await?
            {
                woken.of(DEPLOYMENTS_NAME).extend(waiting.all());
            }
        }
        self.changed(&mut view, &changed, &mut woken).await?;
        view.end();
        Ok(woken)
    }

    /// Keeps in mind whether an Operation is open. One that has been for long when it is first heard of is due at once.
    fn note(&self, row: &Operation) {
        if !is_open(row) {
            return self.open().remove(&row.id);
        }
        let since_ms = Moment::from_unix_us(Timestamp::now().as_microsecond()).since_ms(row.created_on);
        let left = self.settings().ring_after.saturating_sub(Duration::from_millis(since_ms.try_into().unwrap_or(0)));
        self.open().add(row.id.clone(), Instant::now() + left, row.instance.clone());
    }

    /// Whom changed rows are about. Rows of one table are read together: many change at the same time.
    async fn changed(&self, view: &mut View, all: &Changed<'_>, woken: &mut Woken) -> Result<(), ServiceError> {
        let of = |table: &str| all.get(table).into_iter().flatten().copied();
        let keys = |table: &str| of(table).map(Key::from).collect::<Vec<_>>();
        // A tenant that is new has no settled project yet.
        for user in view.get_each::<ClusterUser>(&keys("clusteruser")).await? {
            let Some(name) = user.display_name else { continue };
            self.settled().unsettle(&name);
            woken.of(TENANTS_NAME).insert(Unit::object("", &name));
        }
        let mut applications: BTreeSet<String> = of("applicationstate").map(str::to_string).collect();
        let mut syncs: BTreeSet<String> = BTreeSet::new();
        let rows: Vec<Operation> = view.get_each(&keys("operation")).await?;
        let there: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        for key in of("operation").filter(|key| !there.contains(key)) {
            self.open().remove(&key.into());
        }
        for row in &rows {
            self.note(row);
            // Who opened it knows.
            if is_open(row) {
                continue;
            }
            if self.sweep().is_none() {
                woken.of(UPKEEP_NAME).insert(Unit::object("", upkeep::UNIT));
            }
            let waits = removal_of(&row.id).and_then(|removal| self.removals().remove(&removal));
            woken.of(DEPLOYMENTS_NAME).extend(waits);
            match row.resource {
                OperationResource::Application => applications.insert(row.resource_id.clone()),
                OperationResource::SyncOperation => syncs.insert(row.resource_id.clone()),
                _ => continue,
            };
        }
        deployments(view, &applications, woken).await?;
        runs(view, &syncs, woken).await?;
        // Whatever waits for a first one has no rows.
        woken.all |= all.contains_key("gitopsengineinstance") || all.contains_key("switchboard_instance");
        Ok(())
    }
}

/// Tables whose changes are looked at.
const TABLES: [&str; 5] =
    ["applicationstate", "clusteruser", "operation", "gitopsengineinstance", "switchboard_instance"];

fn matters(signal: &Signal) -> bool {
    match signal {
        Signal::Everything => true,
        Signal::Changed { table, .. } => TABLES.contains(&table.as_str()),
    }
}

/// Says whether the kernel is still there.
async fn wake(handle: &Handle, woken: Woken) -> bool {
    for operator in Backend::names().into_iter().filter(|_| woken.all) {
        if handle.wake(operator, None).await.is_err() {
            return false;
        }
    }
    for (operator, units) in woken.units {
        let told = handle.tell(OperatorName::new(operator), units.into_iter().collect()).await;
        if told.is_err() {
            return false;
        }
    }
    true
}

async fn deployments(view: &mut View, of: &BTreeSet<String>, woken: &mut Woken) -> Result<(), ServiceError> {
    let filter = |application: &String| Filter::all().is("application_id", application.as_str());
    let filters: Vec<Filter> = of.iter().map(filter).collect();
    let mappings: Vec<DeploymentToApplication> = view.list_each(&filters).await?;
    woken.of(DEPLOYMENTS_NAME).extend(mappings.iter().filter_map(unit_of));
    Ok(())
}

async fn runs(view: &mut View, of: &BTreeSet<String>, woken: &mut Woken) -> Result<(), ServiceError> {
    let filter =
        |key: &String| Filter::all().is("api_resource_type", ApiResource::SyncRun).is("db_relation_key", key.as_str());
    let filters: Vec<Filter> = of.iter().map(filter).collect();
    for mapping in view.list_each::<ApiToDatabase>(&filters).await? {
        woken.of(operator_of(mapping.resource)).insert(Unit::object(&mapping.namespace, &mapping.name));
    }
    Ok(())
}

async fn everything(view: &mut View, woken: &mut Woken) -> Result<(), ServiceError> {
    woken.all = true;
    let mut page = Filter::all().limit(PAGE);
    loop {
        let mappings: Vec<DeploymentToApplication> = view.list(&page).await?;
        woken.of(DEPLOYMENTS_NAME).extend(mappings.iter().filter_map(unit_of));
        let Some(last) = mappings.last() else { break };
        page = Filter::all().limit(PAGE).after(switchboard_ledger::Row::key(last));
    }
    let mut page = Filter::all().limit(PAGE);
    loop {
        let users: Vec<ClusterUser> = view.list(&page).await?;
        let names = users.iter().filter_map(|user| user.display_name.as_deref());
        woken.of(TENANTS_NAME).extend(names.map(|name| Unit::object("", name)));
        let Some(last) = users.last() else { break };
        page = Filter::all().limit(PAGE).after(switchboard_ledger::Row::key(last));
    }
    let mut page = Filter::all().limit(PAGE);
    loop {
        let accounts: Vec<ServiceAccount> = view.list(&page).await?;
        let units = accounts.iter().map(|account| Unit::object(&account.namespace, &account.name));
        woken.of(ENVIRONMENTS_NAME).extend(units);
        let Some(last) = accounts.last() else { break };
        page = Filter::all().limit(PAGE).after(switchboard_ledger::Row::key(last));
    }
    let mut page = Filter::all().limit(PAGE);
    loop {
        let mappings: Vec<ApiToDatabase> = view.list(&page).await?;
        for mapping in &mappings {
            let unit = Unit::object(&mapping.namespace, &mapping.name);
            woken.of(operator_of(mapping.resource)).insert(unit);
        }
        let Some(last) = mappings.last() else { break };
        page = Filter::all().limit(PAGE).after(switchboard_ledger::Row::key(last));
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
