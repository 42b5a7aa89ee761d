//! One unit for all Operations: what nobody rings for any more is rung for, and what is over for long goes.
//!
//! Whoever asks for an Operation rings for it. But a resource may be gone by the time a process comes back that was killed between
//! the two, and then nobody is left to ring.
//!
//! It looks when the database told of one that stays open, and when the first of those that are over is to go.

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
use crate::rows::{self, is_open};
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
        let mut old = rows::open_operations(view).await?;
        old.retain(|row| now.since_ms(row.created_on) >= ring_after);
        let mut plan = Plan::in_order();
        if !old.is_empty() {
            let instances: Vec<EngineInstance> = view.list(&Filter::all()).await?;
            let rings = tidy(&old, &[], &instances, now).writes;
            plan.mutations.extend(rings.into_iter().filter_map(|w| mutation(w, None, Place::Management)));
        }
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
    use switchboard_ledger::ids::{OperationResource, OperationState};
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
        view.end().await.unwrap();
        let new = Operation { id: "new".into(), state: OperationState::Waiting, ..over };
        ledger.commit(&[Change::insert(&new)]).await.unwrap();
        let mut view = ledger.view().await.unwrap();
        let (_, plan) = upkeep.decide_on(&mut view, now.plus_ms(59_000)).await.unwrap();
        assert!(plan.mutations.is_empty(), "whoever asked for it may be about to be heard");
        let (_, plan) = upkeep.decide_on(&mut view, now.plus_ms(60_000)).await.unwrap();
        assert_eq!(plan.mutations.len(), 1, "it is rung for");
    }
}
