//! Units: Applications, whose status goes back, and whose edits by others are undone.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_gitops::argo::application::{self, corrected};
use switchboard_gitops::argo::{DATABASE_ID, status};
use switchboard_gitops::fleet::moving::is_held;
use switchboard_gitops::flow::operation::{Wish, ask};
use switchboard_kernel::operator::{Declaration, Outward, Stop, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::ids::{OperationId, OperationResource};
use switchboard_ledger::rows::{Application, ApplicationState};
use switchboard_ledger::{Change, Filter, Key};

use super::memory::Print;
use super::{APPLICATIONS_NAME, Agent};
use crate::asked::{self, stamp};
use crate::error::ServiceError;
use crate::resources::APPLICATIONS;
use crate::{ids, rows};

/// How soon an Application that was not as it should be is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The operator of Applications.
pub struct Applications(pub Agent);

/// What a unit asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    now: String,
    stamp: String,
    namespace: String,
    name: String,
    object: Option<Value>,
}

impl Outward for Applications {
    fn name(&self) -> &str {
        APPLICATIONS_NAME
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::new(),
            outputs: BTreeSet::new(),
            service_account: None,
            units: Units::Each {
                place: Place::Management,
                resource: APPLICATIONS,
                selection: Selection::all().labelled(DATABASE_ID),
            },
        }
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let seen: Seen = serde_json::from_value(request.clone()).map_err(|error| error.to_string())?;
        let print = seen.object.as_ref().and_then(Print::of);
        let known = self.0.memory().is_known(print.as_ref());
        let plan = match known {
            Ok(()) => Plan::nothing(),
            Err(forgotten) => self.look(&seen, print, forgotten)?,
        };
        serde_json::to_value(plan).map_err(|error| error.to_string())
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let object = view.at(Place::Management).get(&APPLICATIONS, unit.namespace(), unit.name())?;
        let seen = Seen {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.namespace().to_string(),
            name: unit.name().to_string(),
            object: object.map(|object| object.value()),
        };
        let answer = outside.ask(serde_json::to_value(&seen)?).map_err(Stop::Failed)?;
        Ok(serde_json::from_value(answer)?)
    }
}

impl Applications {
    /// Asks the database. What an Application says that is as its row says is kept in mind.
    fn look(&self, seen: &Seen, print: Option<Print>, forgotten: u64) -> Result<Plan, String> {
        let store = self.0.store();
        let (plan, is_right) = store.wait(store.settle(async |view| decide_on(view, seen).await))?;
        if let Some(print) = print.filter(|_| is_right) {
            self.0.memory().keep(print, forgotten);
        }
        Ok(plan)
    }
}

/// What is to be done, and whether all is as the row says.
async fn decide_on(
    view: &mut switchboard_ledger::View,
    seen: &Seen,
) -> Result<(Vec<Change>, (Plan, bool)), ServiceError> {
    let labelled: Option<Application> = match seen.object.as_ref().and_then(application::row_of) {
        Some(id) => view.get(&Key::from(id)).await?,
        None => None,
    };
    let found = match labelled.filter(|row| row.name == seen.name) {
        Some(row) => Some(row),
        // One that went, lost its label or was given another is found by its name.
        None => view.list(&Filter::all().is("name", seen.name.as_str())).await?.pop(),
    };
    let Some(row) = found else { return Ok((vec![], (Plan::nothing(), false))) };
    // What another Argo CD says of it is not asked for: it may be on its way from there to here, or back.
    let here = rows::instance(view, &row.instance).await?.is_some_and(|one| one.namespace == seen.namespace);
    if !here {
        return Ok((vec![], (Plan::nothing(), false)));
    }
    let mut changes = Vec::new();
    if let Some(said) = seen.object.as_ref().map(|object| &object["status"]).filter(|status| status.is_object()) {
        changes.extend(said_of(view, &row, said).await?);
    }
    let plan = undo(view, &row, seen, &mut changes).await?;
    let is_right = plan == Plan::nothing();
    Ok((changes, (plan, is_right)))
}

/// What Argo CD says, if it is something else than before. That it compared once more is not.
async fn said_of(
    view: &mut switchboard_ledger::View,
    row: &Application,
    said: &Value,
) -> Result<Option<Change>, ServiceError> {
    let before: Option<ApplicationState> = view.get(&Key::from(&row.id)).await?;
    if before.and_then(|before| before.status).is_some_and(|before| status::is_told(&before, said)) {
        return Ok(None);
    }
    let now = ApplicationState { application: row.id.clone(), status: Some(status::pack(said)?) };
    Ok(Some(Change::put(&now)))
}

/// Asks for an Application to be as its row says, if it is not: edited, or gone.
async fn undo(
    view: &mut switchboard_ledger::View,
    row: &Application,
    seen: &Seen,
    changes: &mut Vec<Change>,
) -> Result<Plan, ServiceError> {
    let is_right = match &seen.object {
        // What a move holds is the move's.
        Some(object) if is_held(object) => true,
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
