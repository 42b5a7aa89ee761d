//! Units of the instances with open Operations, by the keys of their rows, and one unit for finished Operations.
//!
//! Re-notifies the agent about Operations that are still open, in case the first notification was lost or its creator
//! never sent one. Instances have separate units: an instance whose namespace is deleted or full must not affect the
//! notifications of others, and neither must rows that cannot be removed.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::{Question, View};
use switchboard_sql::{DbTimestamp, Filter, Row, RowChange};

use crate::backend::{Backend, UPKEEP_NAME};
use crate::error::ServiceError;
use crate::ids::{EngineInstanceId, OperationState};
use crate::operation::{garbage_collect, is_created_by_service, notify};
use crate::related_rows::{self, is_open};
use crate::request::{self, stamp};
use crate::resources::OPERATIONS;
use crate::rows::{EngineInstance, Operation};
use crate::writes::mutation;

/// Rows per query and per cleanup.
const PAGE: u32 = 1000;

/// Age at which an Operation of another client is notified. As in managed-gitops, the client normally does so itself.
const OTHERS_NOTIFY_AFTER: Duration = Duration::from_secs(60 * 60);

/// Unit of finished Operations.
pub const SINGLETON_UNIT: &str = "operations";

/// Operator of all Operations.
#[derive(Clone)]
pub struct Upkeep(pub Backend);

#[derive(Serialize)]
struct UpkeepRequest {
    now: String,
    stamp: String,
    /// Argo CD instance; `None` for finished Operations.
    instance: Option<String>,
}

impl Question for UpkeepRequest {
    type Answer = Plan;
    const KIND: &'static str = "gitops-upkeep";
}

impl Operator for Upkeep {
    fn name(&self) -> &str {
        UPKEEP_NAME
    }

    fn declaration(&self) -> Declaration {
        let operation_objects = BTreeSet::from([AccessRule::every(&OPERATIONS).on(ClusterType::Management)]);
        let units = Units::External(BTreeSet::from([Unit::object("", SINGLETON_UNIT)]));
        Declaration { inputs: operation_objects.clone(), outputs: operation_objects, service_account: None, units }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let instance = Some(unit.name().to_string()).filter(|name| name != SINGLETON_UNIT);
        let request = UpkeepRequest { now: view.now().to_string(), stamp: stamp(view), instance };
        let plan = view.ask(request, |request| self.call(request)).map_err(DecideError::Failed)?;
        notify::unless_exists(plan, view)
    }
}

impl Upkeep {
    fn call(&self, request: UpkeepRequest) -> Result<Plan, String> {
        let this = self.clone();
        self.0.store().block_on(async move || {
            let UpkeepRequest { now, stamp, instance } = request;
            let now = request::now(&now, &stamp)?.timestamp;
            match instance.map(EngineInstanceId::from) {
                Some(instance) => this.notify_overdue(&instance, now).await,
                None => this.0.store().transact(async |view| this.sweep_finished(view, now).await).await,
            }
        })
    }

    /// Notifies the agent of Operations that have been open at an instance for long.
    async fn notify_overdue(&self, instance: &EngineInstanceId, now: DbTimestamp) -> Result<Plan, ServiceError> {
        let mut view = self.0.store().ledger().view().await?;
        let mut old = Vec::new();
        for state in [OperationState::Waiting, OperationState::InProgress] {
            old.extend(view.list::<Operation>(&Filter::all().is("instance_id", instance).is("state", state)).await?);
        }
        let ms = |after: Duration| i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        let (own, others) = (ms(self.0.settings().notify_after), ms(OTHERS_NOTIFY_AFTER));
        let ring_after = |row: &Operation| if is_created_by_service(&row.id) { own } else { others };
        // A creation time in the future comes from another clock, so the age is unknown.
        old.retain(|row| !(0..ring_after(row)).contains(&now.since_ms(row.created_on)));
        let mut instances: Vec<EngineInstance> =
            related_rows::instance(&mut view, instance).await?.into_iter().collect();
        // Instances on other clusters are left to the backends of those clusters.
        if let (Some(found), Some(engine)) = (instances.first(), &self.0.settings().engine)
            && !related_rows::is_on_cluster(&mut view, found, engine).await?
        {
            instances.clear();
        }
        view.end();
        let mut plan = Plan::ordered();
        let operation_objects = garbage_collect(&old, &[], &instances, now).writes;
        plan.mutations.extend(operation_objects.into_iter().filter_map(|w| mutation(w, None, ClusterType::Management)));
        Ok(plan)
    }

    /// Deletes Operations that finished long ago.
    async fn sweep_finished(
        &self,
        view: &mut switchboard_sql::LedgerView,
        now: DbTimestamp,
    ) -> Result<(Vec<RowChange>, Plan), ServiceError> {
        let mut plan = Plan::nothing();
        let due = *self.0.sweep();
        let (changes, next) = match due {
            Some(due) if due > now => (Vec::new(), Some(due)),
            _ => sweep(view, now).await?,
        };
        *self.0.sweep() = next;
        let until = next.map(|next| u64::try_from(next.since_ms(now)).unwrap_or_default().max(1));
        plan.requeue_after = until.map(Duration::from_millis);
        Ok((changes, plan))
    }
}

/// Deletes Operations that finished long ago, and returns the time of the next cleanup; `None` if no Operation is
/// finished.
async fn sweep(
    view: &mut switchboard_sql::LedgerView,
    now: DbTimestamp,
) -> Result<(Vec<RowChange>, Option<DbTimestamp>), ServiceError> {
    let (mut changes, mut left_ms): (Vec<RowChange>, Option<u64>) = (Vec::new(), None);
    let mut page = Filter::all().limit(PAGE);
    loop {
        let mut rows: Vec<Operation> = view.list(&page).await?;
        let Some(last) = rows.last() else { break };
        page = Filter::all().limit(PAGE).after(last.key());
        rows.retain(|row| !is_open(row));
        let decision = garbage_collect(&rows, &[], &[], now);
        left_ms = left_ms.into_iter().chain(decision.requeue_after_ms).min();
        changes.extend(decision.changes);
        if changes.len() >= PAGE as usize {
            return Ok((changes, Some(now)));
        }
    }
    // The interval is long because every row is read.
    let next = left_ms.map(|ms| now.plus_ms(i64::try_from(ms).unwrap_or(i64::MAX).max(SWEEP_EVERY_MS)));
    Ok((changes, next))
}

/// Minimum interval between cleanups.
const SWEEP_EVERY_MS: i64 = 5 * 60 * 1000;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::ids::{OperationId, OperationResource};
    use crate::tenant::TenantNamespace;
    use switchboard_sql::{Address, Ledger, Sealer};

    use super::*;
    use crate::backend::BackendSettings;
    use crate::placement::selection as instance;
    use crate::random_id as ids;
    use crate::store::Store;

    #[tokio::test]
    async fn finished_operations_delay_no_notification() {
        let ledger =
            Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let now = DbTimestamp::from_unix_us(3_000_000);
        let namespace = TenantNamespace { name: "argocd".to_string(), uid: "n".into() };
        let mut view = ledger.view().await.unwrap();
        let changes = instance::register(&mut view, &"s".into(), &namespace, ids::new, now).await.unwrap();
        view.end();
        ledger.commit(&changes).await.unwrap();
        let instance: EngineInstance = ledger.list(&Filter::all()).await.unwrap().remove(0);
        let over = Operation {
            id: "over".into(),
            instance: instance.id.clone(),
            resource_id: "app".to_string(),
            owner: None,
            resource: OperationResource::Application,
            created_on: now,
            last_state_update: now,
            state: OperationState::Completed,
            human_readable_state: None,
            gc_expiration_s: None,
        };
        let upkeep = Upkeep(Backend::new(
            Store::new(ledger.clone(), tokio::runtime::Handle::current()),
            BackendSettings::default(),
        ));
        ledger.commit(&[RowChange::insert(&over)]).await.unwrap();
        let mut view = ledger.view().await.unwrap();
        let (_, plan) = upkeep.sweep_finished(&mut view, now).await.unwrap();
        assert!(plan.requeue_after.is_some_and(|again| again > Duration::from_secs(600)), "it is deleted later");
        view.end();
        let id = |last: u8| OperationId::from(format!("c7c02f95-5201-4c35-aeeb-7f84c2631a7{last}"));
        let new = Operation { id: id(1), state: OperationState::Waiting, ..over.clone() };
        ledger.commit(&[RowChange::insert(&new)]).await.unwrap();
        let operation_objects =
            async |ms: i64| upkeep.notify_overdue(&instance.id, now.plus_ms(ms)).await.unwrap().mutations.len();
        assert_eq!(operation_objects(59_000).await, 0, "the Operation resource may follow");
        assert_eq!(operation_objects(60_000).await, 1, "it is notified");
        let ahead = Operation { id: id(2), created_on: now.plus_ms(600_000), ..new.clone() };
        ledger.commit(&[RowChange::insert(&ahead)]).await.unwrap();
        assert_eq!(operation_objects(60_000).await, 2, "a row with a time in the future is notified as well");
        let anothers = Operation { id: "test-operation".into(), ..new };
        ledger.commit(&[RowChange::insert(&anothers)]).await.unwrap();
        assert_eq!(
            operation_objects(3_599_000).await,
            2,
            "operations of other clients and of other clusters are not notified"
        );
        assert_eq!(operation_objects(3_600_000).await, 3);
    }
}
