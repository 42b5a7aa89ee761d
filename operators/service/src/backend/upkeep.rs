//! Units: the Argo CDs at which Operations stay open, by the keys of their rows, and one for Operations that are over.
//!
//! The database tells the agent of what it is asked for. Of what stays open, somebody may not have heard, or it is a row of somebody
//! who rings for it himself and did not: so it is rung for. Each Argo CD apart: one whose namespace is gone, or that takes no further
//! object, must not keep others from being rung at, and neither must rows that cannot be removed.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_gitops::flow::operation::{is_of_service, tidy};
use switchboard_kernel::operator::{Declaration, Declared, Outward, Stop, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::ids::{EngineInstanceId, OperationState};
use switchboard_ledger::rows::{EngineInstance, Operation};
use switchboard_ledger::{Change, Filter, Moment, Row};

use super::{Backend, UPKEEP_NAME};
use crate::asked::{self, stamp};
use crate::doorbell;
use crate::error::ServiceError;
use crate::resources::OPERATIONS;
use crate::rows::{self, is_open};
use crate::writes::mutation;

/// How many rows are read at once, and removed at once.
const PAGE: u32 = 1000;

/// After how long is rung for a row of somebody else, who is to ring for it himself: as the original does.
const OTHERS_AFTER: Duration = Duration::from_secs(60 * 60);

/// The unit of what is over.
pub const UNIT: &str = "operations";

/// The operator of all Operations.
#[derive(Clone)]
pub struct Upkeep(pub Backend);

#[derive(Serialize, Deserialize)]
struct Question {
    now: String,
    stamp: String,
    /// The Argo CD; none for what is over.
    #[serde(default)]
    instance: Option<String>,
}

impl Outward for Upkeep {
    fn name(&self) -> &str {
        UPKEEP_NAME
    }

    fn declaration(&self) -> Declaration {
        let rings = BTreeSet::from([Declared::every(&OPERATIONS).at(Place::Management)]);
        let units = Units::Given(BTreeSet::from([Unit::object("", UNIT)]));
        Declaration { inputs: rings.clone(), outputs: rings, service_account: None, units }
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let (this, question) = (self.clone(), Question::deserialize(request).map_err(|error| error.to_string())?);
        let plan = self.0.store().wait(async move || {
            let Question { now, stamp, instance } = question;
            let now = asked::now(&now, &stamp)?.moment;
            match instance.map(EngineInstanceId::from) {
                Some(instance) => this.ring(&instance, now).await,
                None => this.0.store().settle(async |view| this.tidy(view, now).await).await,
            }
        })?;
        serde_json::to_value(plan).map_err(|error| error.to_string())
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let instance = Some(unit.name().to_string()).filter(|name| name != UNIT);
        let question = Question { now: view.now().to_string(), stamp: stamp(view), instance };
        let answer = outside.ask(serde_json::to_value(question)?).map_err(Stop::Failed)?;
        doorbell::unless_rung(serde_json::from_value(answer)?, view)
    }
}

impl Upkeep {
    /// Rings for what has been open at an Argo CD for long.
    async fn ring(&self, instance: &EngineInstanceId, now: Moment) -> Result<Plan, ServiceError> {
        let mut view = self.0.store().ledger().view().await?;
        let mut old = Vec::new();
        for state in [OperationState::Waiting, OperationState::InProgress] {
            old.extend(view.list::<Operation>(&Filter::all().is("instance_id", instance).is("state", state)).await?);
        }
        let ms = |after: Duration| i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        let (own, others) = (ms(self.0.settings().ring_after), ms(OTHERS_AFTER));
        let ring_after = |row: &Operation| if is_of_service(&row.id) { own } else { others };
        // One that is not to be yet was written by somebody whose clock is ahead: nobody knows how old it is.
        old.retain(|row| !(0..ring_after(row)).contains(&now.since_ms(row.created_on)));
        let mut instances: Vec<EngineInstance> = rows::instance(&mut view, instance).await?.into_iter().collect();
        // On another cluster somebody of that cluster's own is to look at it.
        if let (Some(found), Some(engine)) = (instances.first(), &self.0.settings().engine)
            && !rows::is_at(&mut view, found, engine).await?
        {
            instances.clear();
        }
        view.end();
        let mut plan = Plan::in_order();
        let rings = tidy(&old, &[], &instances, now).writes;
        plan.mutations.extend(rings.into_iter().filter_map(|w| mutation(w, None, Place::Management)));
        Ok(plan)
    }

    /// Has what is over for long go.
    async fn tidy(
        &self,
        view: &mut switchboard_ledger::View,
        now: Moment,
    ) -> Result<(Vec<Change>, Plan), ServiceError> {
        let mut plan = Plan::nothing();
        let due = *self.0.sweep();
        let (changes, next) = match due {
            Some(due) if due > now => (Vec::new(), Some(due)),
            _ => sweep(view, now).await?,
        };
        *self.0.sweep() = next;
        let until = next.map(|next| u64::try_from(next.since_ms(now)).unwrap_or_default().max(1));
        plan.again = until.map(Duration::from_millis);
        Ok((changes, plan))
    }
}

/// Removes what is over for long; says when to look next. None if nothing is over.
async fn sweep(
    view: &mut switchboard_ledger::View,
    now: Moment,
) -> Result<(Vec<Change>, Option<Moment>), ServiceError> {
    let (mut changes, mut left_ms): (Vec<Change>, Option<u64>) = (Vec::new(), None);
    let mut page = Filter::all().limit(PAGE);
    loop {
        let mut rows: Vec<Operation> = view.list(&page).await?;
        let Some(last) = rows.last() else { break };
        page = Filter::all().limit(PAGE).after(last.key());
        rows.retain(|row| !is_open(row));
        let decision = tidy(&rows, &[], &[], now);
        left_ms = left_ms.into_iter().chain(decision.again_ms).min();
        changes.extend(decision.changes);
        if changes.len() >= PAGE as usize {
            return Ok((changes, Some(now)));
        }
    }
    // Rarely: all rows are read for those that are to go.
    let next = left_ms.map(|ms| now.plus_ms(i64::try_from(ms).unwrap_or(i64::MAX).max(SWEEP_EVERY_MS)));
    Ok((changes, next))
}

/// How much time is between two looks at what is over.
const SWEEP_EVERY_MS: i64 = 5 * 60 * 1000;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use switchboard_gitops::flow::tenant::Namespace;
    use switchboard_ledger::ids::{OperationId, OperationResource};
    use switchboard_ledger::{Address, Ledger, Sealing};

    use super::*;
    use crate::backend::Settings;
    use crate::store::Store;
    use crate::{ids, instance};

    #[tokio::test]
    async fn what_is_over_keeps_nobody_from_looking_at_what_is_new() {
        let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let now = Moment::from_unix_us(3_000_000);
        let namespace = Namespace { name: "argocd".to_string(), uid: "n".into() };
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
        let upkeep =
            Upkeep(Backend::new(Store::new(ledger.clone(), tokio::runtime::Handle::current()), Settings::default()));
        ledger.commit(&[Change::insert(&over)]).await.unwrap();
        let mut view = ledger.view().await.unwrap();
        let (_, plan) = upkeep.tidy(&mut view, now).await.unwrap();
        assert!(plan.again.is_some_and(|again| again > Duration::from_secs(600)), "it goes later");
        view.end();
        let id = |last: u8| OperationId::from(format!("c7c02f95-5201-4c35-aeeb-7f84c2631a7{last}"));
        let new = Operation { id: id(1), state: OperationState::Waiting, ..over.clone() };
        ledger.commit(&[Change::insert(&new)]).await.unwrap();
        let rings = async |ms: i64| upkeep.ring(&instance.id, now.plus_ms(ms)).await.unwrap().mutations.len();
        assert_eq!(rings(59_000).await, 0, "whoever asked for it may be about to be heard");
        assert_eq!(rings(60_000).await, 1, "it is rung for");
        let ahead = Operation { id: id(2), created_on: now.plus_ms(600_000), ..new.clone() };
        ledger.commit(&[Change::insert(&ahead)]).await.unwrap();
        assert_eq!(rings(60_000).await, 2, "and so is what a clock that is ahead says to be new");
        let anothers = Operation { id: "test-operation".into(), ..new };
        ledger.commit(&[Change::insert(&anothers)]).await.unwrap();
        assert_eq!(
            rings(3_599_000).await,
            2,
            "who has rows of his own rings for them, and where he does nobody may look"
        );
        assert_eq!(rings(3_600_000).await, 3);
    }
}
