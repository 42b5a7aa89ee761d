//! One unit for all Operations: what nobody rings for any more is rung for, and what is over for long goes.
//!
//! Whoever asks for an Operation rings for it. But a resource may be gone by the time a process comes back that was killed between
//! the two, and then nobody is left to ring.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_gitops::flow::operation::tidy;
use switchboard_kernel::operator::{Declaration, Declared, Outward, Stop, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::rows::{EngineInstance, Operation};
use switchboard_ledger::{Change, Filter, Moment, Row};

use super::{Backend, UPKEEP_NAME};
use crate::asked::{self, stamp};
use crate::doorbell;
use crate::error::ServiceError;
use crate::resources::OPERATIONS;
use crate::rows::is_open;
use crate::writes::mutation;

/// How many rows are read at once, and removed at once.
const PAGE: u32 = 1000;

/// The one unit.
pub const UNIT: &str = "operations";

/// The operator of all Operations.
pub struct Upkeep(pub Backend);

#[derive(Serialize, Deserialize)]
struct Question {
    now: String,
    stamp: String,
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
        let plan = self.0.store().wait(async {
            let question: Question = serde_json::from_value(request.clone())?;
            let now = asked::now(&question.now, &question.stamp)?.moment;
            self.0.begin_upkeep();
            self.0.store().settle(async |view| self.decide_on(view, now).await).await
        })?;
        serde_json::to_value(plan).map_err(|error| error.to_string())
    }

    fn decide(&self, _: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let question = Question { now: view.now().to_string(), stamp: stamp(view) };
        let answer = outside.ask(serde_json::to_value(question)?).map_err(Stop::Failed)?;
        doorbell::unless_rung(serde_json::from_value(answer)?, view)
    }
}

impl Upkeep {
    async fn decide_on(
        &self,
        view: &mut switchboard_ledger::View,
        now: Moment,
    ) -> Result<(Vec<Change>, Plan), ServiceError> {
        let ring_after = i64::try_from(self.0.settings().ring_after.as_millis()).unwrap_or(i64::MAX);
        let instances: Vec<EngineInstance> = view.list(&Filter::all()).await?;
        let mut plan = Plan::in_order();
        let mut changes = Vec::new();
        let (mut again_ms, mut is_open_any): (Option<u64>, bool) = (None, false);
        let mut page = Filter::all().limit(PAGE);
        loop {
            let rows: Vec<Operation> = view.list(&page).await?;
            let Some(last) = rows.last() else { break };
            page = Filter::all().limit(PAGE).after(last.key());
            let too_new = |row: &Operation| is_open(row) && now.since_ms(row.created_on) < ring_after;
            for row in rows.iter().filter(|row| is_open(row)) {
                // One that is rung for is looked at again as well: it may fall silent.
                let left = (ring_after - now.since_ms(row.created_on)).max(ring_after.min(LOOK_AGAIN_MS));
                again_ms = least(again_ms, u64::try_from(left).ok());
                is_open_any = true;
            }
            let old: Vec<Operation> = rows.into_iter().filter(|row| !too_new(row)).collect();
            let decision = tidy(&old, &[], &instances, now);
            again_ms = least(again_ms, decision.again_ms);
            changes.extend(decision.changes);
            plan.mutations.extend(decision.writes.into_iter().filter_map(|w| mutation(w, None, Place::Management)));
            if changes.len() >= PAGE as usize {
                again_ms = Some(1);
                break;
            }
        }
        // That closed ones are to go in an hour is no look at those that are opened meanwhile.
        if self.0.end_upkeep(is_open_any) {
            again_ms = least(again_ms, u64::try_from(ring_after).ok());
        }
        plan.again = again_ms.map(Duration::from_millis);
        Ok((changes, plan))
    }
}

/// How soon open Operations are looked at again.
const LOOK_AGAIN_MS: i64 = 60 * 1000;

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use switchboard_gitops::flow::tenant::Namespace;
    use switchboard_ledger::ids::{OperationResource, OperationState};
    use switchboard_ledger::{Address, Ledger, Sealing};

    use super::*;
    use crate::backend::Settings;
    use crate::store::Store;
    use crate::{ids, instance};

    #[tokio::test]
    async fn what_changes_while_it_looks_is_looked_at() {
        let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
        let store = Store::new(ledger, tokio::runtime::Handle::current());
        let backend = Backend::new(store, Settings::default());
        assert!(backend.wakes_upkeep(), "nobody looks");
        backend.begin_upkeep();
        assert!(!backend.end_upkeep(true));
        assert!(!backend.wakes_upkeep(), "it looks again by itself");
        backend.begin_upkeep();
        assert!(!backend.wakes_upkeep());
        assert!(backend.end_upkeep(false), "what came while it looked is not lost");
        backend.begin_upkeep();
        assert!(!backend.end_upkeep(false), "and then there is rest");
        assert!(backend.wakes_upkeep());
    }

    #[tokio::test]
    async fn what_is_over_keeps_nobody_from_looking_at_what_is_new() {
        let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let now = Moment::from_unix_us(3_000_000);
        let namespace = Namespace { name: "argocd".to_string(), uid: "n".into() };
        let mut view = ledger.view().await.unwrap();
        let changes = instance::register(&mut view, &"s".into(), &namespace, ids::new, now).await.unwrap();
        view.end().await.unwrap();
        ledger.commit(&changes).await.unwrap();
        let instance: EngineInstance = ledger.list(&Filter::all()).await.unwrap().remove(0);
        let over = Operation {
            id: "over".into(),
            instance: instance.id,
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
        let (_, plan) = upkeep.decide_on(&mut view, now).await.unwrap();
        assert!(plan.again.is_some_and(|again| again > Duration::from_secs(600)), "it goes later");
        assert!(upkeep.0.wakes_upkeep());
    }
}
