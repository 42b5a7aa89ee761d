//! Units: Secrets and projects of Argo CD that are ours. What was edited or is gone is asked for again; what no row knows goes,
//! once nothing is deployed with it.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_gitops::argo::{DATABASE_ID, Thing, thing_of};
use switchboard_gitops::repository::normalise;
use switchboard_kernel::operator::{Declaration, Declared, Outward, Stop, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::{Outside, View};

use super::{Agent, PROJECTS_NAME, SECRETS_NAME, wanted};
use crate::asked::{secret, stamp, text};
use crate::resources::{APPLICATIONS, PROJECTS, SECRETS};

/// The operator of Secrets, or of projects.
pub struct Belongings {
    agent: Agent,
    kind: Resource,
}

/// What a unit asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) now: String,
    pub(super) stamp: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) object: Option<Value>,
}

/// What it is told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    pub(super) plan: Plan,
    /// No row knows it.
    pub(super) is_orphan: bool,
}

impl Belongings {
    /// Of Secrets.
    pub fn secrets(agent: Agent) -> Belongings {
        Belongings { agent, kind: SECRETS }
    }

    /// Of projects.
    pub fn projects(agent: Agent) -> Belongings {
        Belongings { agent, kind: PROJECTS }
    }
}

impl Outward for Belongings {
    fn name(&self) -> &str {
        if self.kind == SECRETS { SECRETS_NAME } else { PROJECTS_NAME }
    }

    fn declaration(&self) -> Declaration {
        let of = |kind: &Resource| Declared::every(kind).at(Place::Management);
        // Argo CD's projects have no label of ours.
        let selection = if self.kind == SECRETS { Selection::all().labelled(DATABASE_ID) } else { Selection::all() };
        Declaration {
            inputs: [&APPLICATIONS, &SECRETS].into_iter().map(of).collect(),
            outputs: BTreeSet::from([of(&self.kind)]),
            service_account: None,
            units: Units::Each { place: Place::Management, resource: self.kind.clone(), selection },
        }
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let (agent, seen) = (self.agent.clone(), Seen::deserialize(request).map_err(|error| error.to_string())?);
        let told = self.agent.store().wait(async move || {
            agent.store().settle(async |view| wanted::decide_on(view, &seen, &agent).await).await
        })?;
        serde_json::to_value(told).map_err(|error| error.to_string())
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let Some(thing) = thing_of(unit.name()) else { return Ok(Plan::nothing()) };
        let object = view.at(Place::Management).get(&self.kind, unit.namespace(), unit.name())?;
        let object = object.map(|object| object.value());
        let seen = Seen {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.namespace().to_string(),
            name: unit.name().to_string(),
            object: if self.kind == SECRETS { object.clone().map(secret) } else { object.clone() },
        };
        let answer = outside.ask(serde_json::to_value(&seen)?).map_err(Stop::Failed)?;
        let told: Told = serde_json::from_value(answer)?;
        match object.filter(|_| told.is_orphan) {
            Some(object) if is_used(view, unit, &thing, &object)? => {
                Ok(Plan::nothing().waiting("what is deployed with it to let it go"))
            }
            Some(_) => {
                let mut plan = Plan::in_order();
                plan.push(Mutation::delete(&self.kind, unit.namespace(), unit.name()).at(Place::Management));
                Ok(plan)
            }
            None => Ok(told.plan),
        }
    }
}

/// Whether an Application of its Argo CD needs what no row knows. The unit looks again when one changes.
fn is_used(view: &View, unit: &Unit, thing: &Thing, object: &Value) -> Result<bool, Stop> {
    let at = view.at(Place::Management);
    let here = Selection::namespace(unit.namespace());
    let applications = at.list(&APPLICATIONS, &here)?;
    let mut specs = applications.iter().map(|object| object.value()["spec"].clone());
    Ok(match thing {
        Thing::Environment(_) => specs.any(|spec| spec["destination"]["name"] == *unit.name()),
        Thing::Project(_) => specs.any(|spec| spec["project"] == *unit.name()),
        Thing::Credential(_) => {
            // One of a project serves its Applications alone, and so does whoever else could take its place.
            let (url, of) = (url_of(object), decoded(object, "/data/project"));
            let reads = |spec: &Value| normalise(&text(spec, "/source/repoURL")) == url;
            let is_read = specs.any(|spec| reads(&spec) && (of.is_empty() || spec["project"] == *of));
            let others = if is_read { at.list(&SECRETS, &here.labelled(DATABASE_ID))? } else { Vec::new() };
            let mut others = others.iter().map(|other| other.value());
            let serves = |other: &Value| url_of(other) == url && decoded(other, "/data/project") == of;
            is_read && !others.any(|other| text(&other, "/metadata/name") != unit.name() && serves(&other))
        }
    })
}

/// The repository of a Secret, normalised; empty for one of a cluster.
fn url_of(secret: &Value) -> String {
    normalise(&decoded(secret, "/data/url"))
}

/// A value of a Secret; empty if there is none.
fn decoded(secret: &Value, pointer: &str) -> String {
    let bytes = STANDARD.decode(text(secret, pointer)).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
