//! Units: Applications, whose status goes back, and whose edits by others are undone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_gitops::argo::application::{self, corrected};
use switchboard_gitops::argo::{DATABASE_ID, status};
use switchboard_gitops::fleet::moving::awake;
use switchboard_gitops::flow::Write;
use switchboard_gitops::flow::agent::{self, Step};
use switchboard_gitops::flow::operation::{Wish, ask};
use switchboard_kernel::operator::{Declaration, Declared, Outward, Stop, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::ids::{OperationId, OperationResource, Uid};
use switchboard_ledger::rows::{Application, ApplicationState};
use switchboard_ledger::{Change, Filter, Key};

use super::memory::Print;
use super::strays::{self, Grip};
use super::{APPLICATIONS_NAME, Agent};
use crate::asked::{self, stamp, text};
use crate::error::{ServiceError, told};
use crate::resources::{APPLICATIONS, NAMESPACES};
use crate::store::aside;
use crate::writes::mutation;
use crate::{ids, rows};

/// How soon an Application that was not as it should be is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// How soon an Application that a move holds is looked at again: the move may be gone, and tell nobody.
const HELD_LOOK: Duration = Duration::from_secs(60);

/// The operator of Applications.
#[derive(Clone)]
pub struct Applications(pub Agent);

/// What a unit asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    now: String,
    stamp: String,
    namespace: String,
    name: String,
    object: Option<Value>,
    /// The uid of the namespace, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

/// What it is told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    #[serde(flatten)]
    plan: Plan,
    /// No row has it there, and none has for long: with the namespace it is in it is asked about once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_orphan: bool,
}

/// How an Application stands.
enum Stands {
    /// As its row says.
    Right,
    /// No row has it there. With the namespace of its Argo CD, as the database knows it, and whether its row is another Argo CD's: then
    /// two deploy the same, and nothing has to be waited for.
    Orphan(Uid, bool),
    /// Anything else.
    Otherwise,
}

impl Outward for Applications {
    fn name(&self) -> &str {
        APPLICATIONS_NAME
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([Declared::every(&NAMESPACES).at(Place::Management)]),
            outputs: BTreeSet::from([Declared::every(&APPLICATIONS).at(Place::Management)]),
            service_account: None,
            units: Units::Each {
                place: Place::Management,
                resource: APPLICATIONS,
                selection: Selection::all().labelled(DATABASE_ID),
            },
        }
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let seen = Seen::deserialize(request).map_err(|error| error.to_string())?;
        let print = seen.object.as_ref().and_then(Print::of);
        let known = self.0.memory().is_known(print.as_ref());
        let told = match known {
            Ok(()) => Told::default(),
            Err(forgotten) => self.look(seen, print, forgotten)?,
        };
        serde_json::to_value(told).map_err(|error| error.to_string())
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let object = view.at(Place::Management).get(&APPLICATIONS, unit.namespace(), unit.name())?;
        let mut seen = Seen {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.namespace().to_string(),
            name: unit.name().to_string(),
            object: object.map(|object| object.value()),
            place: None,
        };
        let ask = |seen: &Seen| -> Result<Told, Stop> {
            let answer = outside.ask(serde_json::to_value(seen)?).map_err(Stop::Failed)?;
            Ok(serde_json::from_value(answer)?)
        };
        let told = ask(&seen)?;
        if !told.is_orphan {
            return Ok(told.plan);
        }
        let namespace = view.at(Place::Management).get(&NAMESPACES, "", unit.namespace())?;
        seen.place = Some(namespace.map(|namespace| text(&namespace.value(), "/metadata/uid")).unwrap_or_default());
        Ok(ask(&seen)?.plan)
    }
}

impl Applications {
    /// Asks the database. What an Application says that is as its row says is kept in mind.
    fn look(&self, seen: Seen, print: Option<Print>, forgotten: u64) -> Result<Told, String> {
        let (agent, seen) = (self.0.clone(), Arc::new(seen));
        let asked = Arc::clone(&seen);
        let settled = async move || agent.store().settle(async |view| decide_on(&agent, view, &asked).await).await;
        let (plan, stands) = self.0.store().wait(settled)?;
        if let Stands::Orphan(place, is_elsewhere) = stands {
            let grace = if is_elsewhere { Duration::ZERO } else { self.0.orphan_grace() };
            return self.let_go(&seen, &place, grace);
        }
        self.0.memory().is_no_orphan(&seen.namespace, &seen.name);
        if let Some(print) = print.filter(|_| matches!(stands, Stands::Right)) {
            self.0.memory().keep(print, forgotten);
        }
        Ok(Told { plan, is_orphan: false })
    }

    /// Lets an Application go that no row has had there for as long as this. What it deployed stays: nobody asked for that to go.
    ///
    /// A namespace of the same name may be another cluster's, with Applications of another database.
    fn let_go(&self, seen: &Seen, place: &Uid, grace: Duration) -> Result<Told, String> {
        let now = asked::now(&seen.now, &seen.stamp).map_err(|error| told(&error))?.moment;
        let Some(since) = self.0.memory().orphan_since(&seen.namespace, &seen.name, now) else {
            return Ok(Told {
                plan: Plan::nothing().waiting("others to go").again_after(self.0.orphan_grace()),
                is_orphan: false,
            });
        };
        let left = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX) - now.since_ms(since);
        if let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) {
            let plan = Plan::nothing().waiting("a row that knows it").again_after(Duration::from_millis(left));
            return Ok(Told { plan, is_orphan: false });
        }
        let (Some(found), Some(object)) = (&seen.place, &seen.object) else {
            return Ok(Told { plan: Plan::nothing(), is_orphan: true });
        };
        let mut plan = Plan::in_order();
        if found == place.as_str()
            && let Step::Write(writes) = agent::let_go(std::slice::from_ref(object))
        {
            let (namespace, name) = (&seen.namespace, &seen.name);
            tracing::warn!(namespace, "letting Application {name} go, which no row has there; what it deployed stays");
            plan.mutations.extend(writes.into_iter().filter_map(|w| mutation(w, None, Place::Management)));
        }
        Ok(Told { plan, is_orphan: false })
    }
}

/// What is to be done, and how it stands.
async fn decide_on(
    agent: &Agent,
    view: &mut switchboard_ledger::View,
    seen: &Seen,
) -> Result<(Vec<Change>, (Plan, Stands)), ServiceError> {
    let labelled: Option<Application> = match seen.object.as_ref().and_then(application::row_of) {
        Some(id) => view.get(&Key::from(id)).await?,
        None => None,
    };
    let found = match labelled.filter(|row| row.name == seen.name) {
        Some(row) => Some(row),
        // One that went, lost its label or was given another is found by its name.
        None => view.list(&Filter::all().is("name", seen.name.as_str())).await?.pop(),
    };
    let grip = match &seen.object {
        Some(object) => strays::grip(view, object).await?,
        None => Grip::Free,
    };
    let held = || Plan::nothing().waiting("a move to end").again_after(HELD_LOOK);
    // What another Argo CD says of it is not asked for.
    let at = match &found {
        Some(row) => agent.instance(view, &row.instance).await?,
        None => None,
    };
    let Some(row) = found.as_ref().filter(|_| at.is_some_and(|one| one.namespace == seen.namespace)) else {
        // It may be on its way from there to here, or back.
        let is_moving = match &found {
            Some(row) => strays::is_moving(view, row).await?,
            None => false,
        };
        if grip == Grip::Held || is_moving {
            return Ok((vec![], (held(), Stands::Otherwise)));
        }
        return Ok((vec![], stray(agent, view, seen, grip, found.is_some()).await?));
    };
    let mut changes = Vec::new();
    if let Some(said) = seen.object.as_ref().map(|object| &object["status"]).filter(|status| status.is_object()) {
        changes.extend(said_of(view, row, said).await?);
    }
    let plan = match (grip, &seen.object) {
        (Grip::Held, _) => held(),
        (Grip::Left, Some(object)) => woken(object),
        _ => undo(view, row, seen, &mut changes).await?,
    };
    let stands = if plan == Plan::nothing() { Stands::Right } else { Stands::Otherwise };
    Ok((changes, (plan, stands)))
}

/// What becomes of an Application that no row has in this namespace. As long as somebody is about to remove it there, or to let it go, it
/// is theirs, and is awake for that; one that is about to go is left alone.
async fn stray(
    agent: &Agent,
    view: &mut switchboard_ledger::View,
    seen: &Seen,
    grip: Grip,
    is_elsewhere: bool,
) -> Result<(Plan, Stands), ServiceError> {
    let left_alone = (Plan::nothing(), Stands::Otherwise);
    let Some(object) = seen.object.as_ref().filter(|object| object["metadata"]["deletionTimestamp"].is_null()) else {
        return Ok(left_alone);
    };
    Ok(match strays::asked_at(agent, view, &seen.namespace, object).await? {
        Some((place, false)) => (Plan::nothing(), Stands::Orphan(place, is_elsewhere)),
        Some((_, true)) if grip == Grip::Left => (woken(object), Stands::Otherwise),
        _ => left_alone,
    })
}

/// Wakes what a move left asleep.
fn woken(object: &Value) -> Plan {
    let mut plan = Plan::in_order();
    plan.mutations.extend(mutation(Write::Update(awake(object.clone())), None, Place::Management));
    plan
}

/// What Argo CD says, if it is something else than before. That it compared once more is not.
async fn said_of(
    view: &mut switchboard_ledger::View,
    row: &Application,
    said: &Value,
) -> Result<Option<Change>, ServiceError> {
    let before: Option<ApplicationState> = view.get(&Key::from(&row.id)).await?;
    let before = before.and_then(|before| before.status);
    let (size, said) = (before.as_ref().map_or(0, Vec::len), said.clone());
    let packed = aside(size, move || match before.is_some_and(|before| status::is_told(&before, &said)) {
        true => Ok(None),
        false => status::pack(&said).map(Some),
    });
    let now = packed.await?.map(|status| ApplicationState { application: row.id.clone(), status: Some(status) });
    Ok(now.as_ref().map(Change::put))
}

/// Asks for an Application to be as its row says, if it is not: edited, or gone.
async fn undo(
    view: &mut switchboard_ledger::View,
    row: &Application,
    seen: &Seen,
    changes: &mut Vec<Change>,
) -> Result<Plan, ServiceError> {
    let is_right = match &seen.object {
        Some(object) if object["metadata"]["deletionTimestamp"].is_null() => {
            corrected(object, row).map_or(true, |wrong| wrong.is_none())
        }
        // It comes back when it is gone.
        Some(_) => true,
        None => row.environment.is_none(),
    };
    if is_right {
        return Ok(Plan::nothing());
    }
    let Some(owner) = rows::owner_of(view, &row.id).await? else { return Ok(Plan::nothing()) };
    let wish = Wish {
        instance: &row.instance,
        resource: OperationResource::Application,
        resource_id: row.id.as_str(),
        owner: &owner.user,
    };
    let operations = rows::operations(view, row.id.as_str()).await?;
    let now = asked::now(&seen.now, &seen.stamp)?.moment;
    if !operations.iter().any(rows::is_open) {
        changes.extend(ask(&operations, &wish, || OperationId::from(ids::new()), now));
    }
    // Whoever is at it may have looked before the edit: this is looked at again.
    Ok(Plan::nothing().waiting("to be put right").again_after(LOOK_AGAIN))
}
