//! Units: Operations. A row is told of by the database, or an Operation resource rings for it.
//!
//! A unit asks twice: which objects its row is about, and, with those, what is to be done. Which they are is kept in mind for its next
//! run, and no more than a guess: rows that are about others by then have it look again.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_gitops::argo::DATABASE_ID;
use switchboard_gitops::fleet;
use switchboard_gitops::flow::Write;
use switchboard_gitops::flow::agent::Step;
use switchboard_gitops::flow::operation::{begin, finish};
use switchboard_gitops::kinds;
use switchboard_kernel::operator::{Declaration, Declared, Outward, Stop, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Act, Mutation, Plan};
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::Change;
use switchboard_ledger::ids::{OperationId, OperationState};
use switchboard_ledger::rows::Operation;

use super::memory::Print;
use super::strays::{self, Grip};
use super::{Agent, OPERATIONS_NAME};
use crate::asked::{self, secret, stamp, text};
use crate::error::ServiceError;
use crate::resources::{APPLICATIONS, OPERATIONS, PROJECTS, SECRETS};
use crate::writes::mutation;
use crate::{doorbell, rows};

/// How often a unit looks because its rows are about other objects than those it looked at.
const MAX_LOOKS: usize = 8;

/// How soon is looked again at what is begun though nothing changed: what was written may change nothing, and then nobody is told of it.
const OPEN_LOOK: Duration = Duration::from_secs(60);

/// How soon is looked again at what a move holds.
const MOVE_LOOK: Duration = Duration::from_millis(500);

/// The operator of Operations.
#[derive(Clone)]
pub struct Operations(pub Agent);

/// What a unit asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ring {
    now: String,
    stamp: String,
    /// The namespace it rings in.
    pub(super) namespace: String,
    /// The name of what rings, or would.
    name: String,
    /// Whether something rings.
    is_rung: bool,
    /// The row.
    pub(super) operation: String,
    /// The objects of that row, and which were looked at; none while they are not known.
    pub(super) live: Option<(Live, Names)>,
}

/// Objects as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Live {
    /// Applications.
    pub applications: Vec<Value>,
    /// The tenant's project.
    pub project: Option<Value>,
    /// How many Applications are in it, those that are about to go included; only told where the project may go.
    #[serde(default)]
    pub in_project: usize,
    /// Secrets.
    pub secrets: Vec<Value>,
}

impl Live {
    /// The Secret of a name.
    pub fn secret(&self, name: &str) -> Option<Value> {
        self.secrets.iter().find(|secret| secret["metadata"]["name"] == name).cloned()
    }
}

/// What a unit is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Told {
    /// To look at these.
    Look(Names),
    /// What is to be written.
    Plan(Plan),
}

/// Which objects a row is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// Applications by name.
    pub applications: Vec<String>,
    /// Applications by the row they are labelled with, where no row says their names.
    pub labelled: Option<String>,
    /// A project.
    pub project: Option<String>,
    /// Whether that project may go, so that it matters who is in it.
    #[serde(default)]
    pub may_go: bool,
    /// Secrets.
    pub secrets: Vec<String>,
}

impl Outward for Operations {
    fn name(&self) -> &str {
        OPERATIONS_NAME
    }

    fn declaration(&self) -> Declaration {
        let all = [&OPERATIONS, &APPLICATIONS, &PROJECTS, &SECRETS];
        let declared: BTreeSet<Declared> =
            all.into_iter().map(|kind| Declared::every(kind).at(Place::Management)).collect();
        Declaration {
            inputs: declared.clone(),
            outputs: declared,
            service_account: None,
            units: Units::Each { place: Place::Management, resource: OPERATIONS, selection: Selection::all() },
        }
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let (this, ring) = (self.clone(), Ring::deserialize(request).map_err(|error| error.to_string())?);
        // What is kept in mind needs no thread to ask for it.
        let guessed = ring.live.is_none().then(|| self.0.guessed(&ring.operation)).flatten();
        if let Some(names) = guessed {
            return serde_json::to_value(Told::Look(names)).map_err(|error| error.to_string());
        }
        self.0.store().wait(async move || {
            let told = match &ring.live {
                None => Told::Look(this.names(&ring).await?),
                Some((live, names)) => this.work(&ring, live, names).await?,
            };
            Ok(serde_json::to_value(told)?)
        })
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let at = view.at(Place::Management);
        let object = at.get(&OPERATIONS, unit.namespace(), unit.name())?;
        let said = object.as_ref().map(|object| text(&object.value(), "/spec/operationID"));
        let Some(operation) = said.or_else(|| kinds::operation::row_of(unit.name())) else {
            return Ok(Plan::nothing());
        };
        let mut ring = Ring {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.namespace().to_string(),
            name: unit.name().to_string(),
            is_rung: object.is_some(),
            operation,
            live: None,
        };
        for _ in 0..MAX_LOOKS {
            let answer = outside.ask(serde_json::to_value(&ring)?).map_err(Stop::Failed)?;
            match serde_json::from_value(answer)? {
                Told::Look(names) => ring.live = Some((look(view, unit.namespace(), &names)?, names)),
                Told::Plan(plan) => return doorbell::unless_rung(plan, view),
            }
        }
        Err(Stop::failed("its rows are about other objects each time they are read"))
    }
}

/// Reads the objects of a row.
fn look(view: &View, namespace: &str, names: &Names) -> Result<Live, Stop> {
    let at = view.at(Place::Management);
    let mut live = Live::default();
    for name in &names.applications {
        live.applications.extend(at.get(&APPLICATIONS, namespace, name)?.map(|object| object.value()));
    }
    if let Some(id) = &names.labelled {
        let selection = Selection::namespace(namespace).labelled(&format!("{DATABASE_ID}={id}"));
        live.applications.extend(at.list(&APPLICATIONS, &selection)?.iter().map(|object| object.value()));
    }
    if let Some(name) = &names.project {
        live.project = at.get(&PROJECTS, namespace, name)?.map(|object| object.value());
        // As long as what is removed is there itself, nobody asks.
        if names.may_go && live.project.is_some() && live.applications.is_empty() {
            let all = at.list(&APPLICATIONS, &Selection::namespace(namespace))?;
            live.in_project = all.iter().filter(|object| object.value()["spec"]["project"] == **name).count();
        }
    }
    for name in &names.secrets {
        live.secrets.extend(at.get(&SECRETS, namespace, name)?.map(|object| secret(object.value())));
    }
    Ok(live)
}

/// Which objects a row is about; none if it is over.
async fn names_of(view: &mut switchboard_ledger::View, ring: &Ring) -> Result<Names, ServiceError> {
    match rows::operation(view, &OperationId::from(ring.operation.as_str())).await? {
        Some(row) if rows::is_open(&row) => super::step::names(view, &row).await,
        _ => Ok(Names::default()),
    }
}

impl Operations {
    async fn names(&self, ring: &Ring) -> Result<Names, ServiceError> {
        let mut view = self.0.store().ledger().view().await?;
        let names = names_of(&mut view, ring).await?;
        view.end();
        Ok(names)
    }

    async fn work(&self, ring: &Ring, live: &Live, looked_at: &Names) -> Result<Told, ServiceError> {
        let forgotten = self.0.memory().forgotten();
        let decided = self.0.store().settle(async |view| {
            let names = names_of(view, ring).await?;
            if names != *looked_at {
                return Ok((vec![], Told::Look(names)));
            }
            let (changes, plan) = self.decide_on(view, ring, live).await?;
            Ok((changes, Told::Plan(plan)))
        });
        let told = decided.await?;
        let goes_on = matches!(&told, Told::Plan(plan) if plan.again.is_some() || !plan.mutations.is_empty());
        self.0.guess(&ring.operation, goes_on.then(|| looked_at.clone()));
        if let Told::Plan(plan) = &told {
            self.made(plan, forgotten);
        }
        Ok(told)
    }

    /// An Application that is about to be made as its row says need not be looked up when it is there and says the same.
    fn made(&self, plan: &Plan, forgotten: u64) {
        for mutation in &plan.mutations {
            if let Act::Create(body) = &mutation.act
                && mutation.resource == APPLICATIONS
                && let Some(print) = Print::of(body)
            {
                let unit = Unit::object(&mutation.namespace, &mutation.name);
                self.0.memory().makes(print, unit, forgotten);
            }
        }
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_ledger::View,
        ring: &Ring,
        live: &Live,
    ) -> Result<(Vec<Change>, Plan), ServiceError> {
        let now = asked::now(&ring.now, &ring.stamp)?.moment;
        let row = rows::operation(view, &OperationId::from(ring.operation.as_str())).await?;
        let silent = || {
            let mut plan = Plan::in_order();
            if !ring.is_rung {
                return plan;
            }
            plan.push(Mutation::delete(&OPERATIONS, &ring.namespace, &ring.name).at(Place::Management));
            plan
        };
        let Some(row) = row else {
            // Whose namespace it is not may be another database's, whose row it rings for.
            let is_ours = rows::instance_in(view, &ring.namespace, &self.0.0.cluster).await?.is_some();
            return Ok((vec![], if is_ours { silent() } else { Plan::nothing() }));
        };
        let instance = rows::instance(view, &row.instance).await?;
        if let Some(instance) = &instance
            && !self.0.has(view, instance).await?
        {
            // It is for another cluster's agent, whoever rings for it here.
            return Ok((vec![], Plan::nothing()));
        }
        if instance.is_none_or(|one| one.namespace != ring.namespace) {
            if ring.name != kinds::operation::name(&row.id) {
                // Whoever rings at the wrong door is not answered, and not sent away either.
                return Ok((vec![], Plan::nothing()));
            }
            // It went to another Argo CD with its unit, and rings there.
            let open: Vec<Operation> = Some(row).filter(rows::is_open).into_iter().collect();
            let mut plan = silent();
            let last = std::mem::replace(&mut plan.mutations, doorbell::rings(view, &open, false).await?);
            plan.mutations.extend(last);
            return Ok((vec![], plan));
        }
        if !rows::is_open(&row) {
            return Ok((vec![], silent()));
        }
        // What has to wait rings meanwhile: a unit without an object is forgotten as soon as it has nothing to write.
        let mut waits = Plan::in_order();
        if !ring.is_rung {
            waits.mutations = doorbell::rings(view, std::slice::from_ref(&row), false).await?;
        }
        // While a unit is on its way to another Argo CD, nothing about it begins, and nobody but the move touches it.
        let moves = |waits: Plan| waits.waiting("a move to end").again_after(MOVE_LOOK);
        for object in &live.applications {
            match strays::grip(view, object).await? {
                Grip::Free => {}
                Grip::Held => return Ok((vec![], moves(waits))),
                // Its own unit wakes it.
                Grip::Left => return Ok((vec![], waits.waiting("what a move left asleep").again_after(MOVE_LOOK))),
            }
        }
        let mut begun = Vec::new();
        if row.state == OperationState::Waiting {
            match fleet::may_begin(super::step::placement(view, &row).await?.as_ref()) {
                Some(sure) => begun.extend(sure),
                None => return Ok((vec![], moves(waits))),
            }
        }
        let step = super::step::step(view, &row, &ring.namespace, live, self.0.is_isolated(), now).await?;
        let begins = step.begun.clone().or_else(|| begin(&row, now));
        Ok(match step.next {
            Step::Write(writes) => {
                // What is to go may have gone already, and then nothing is written.
                let is_sure = writes.iter().all(|write| matches!(write, Write::Create(_) | Write::Update(_)));
                let mut plan = if is_sure { Plan::in_order() } else { waits };
                plan.mutations.extend(writes.into_iter().filter_map(|w| mutation(w, None, Place::Management)));
                begun.extend(begins);
                (begun, plan.again_after(OPEN_LOOK))
            }
            Step::Wait(ms) => {
                let plan = waits.waiting("Argo CD").again_after(Duration::from_millis(ms));
                begun.extend(begins);
                (begun, plan)
            }
            Step::Done(result) => {
                let about = rows::operations(view, &row.resource_id).await?;
                let result = match &result {
                    Ok(()) => Ok(()),
                    Err(why) => Err(why.as_str()),
                };
                begun.extend(finish(&about, &row, now, result, now));
                (begun, silent())
            }
        })
    }
}

#[cfg(test)]
mod tests;
