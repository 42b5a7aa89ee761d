//! Units of the Secrets and projects that the service created for Argo CD. Edited and deleted objects are requested
//! again; objects without a row are deleted once no Application needs them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::{Question, View};

use super::desired_objects;
use crate::agent::{Agent, PROJECTS_NAME, SECRETS_NAME};
use crate::argocd::{DATABASE_ID, SupportingObject, supporting_object_of};
use crate::repository::normalize;
use crate::request::{secret, stamp, text};
use crate::resources::{APPLICATIONS, PROJECTS, SECRETS};

/// Operator of Secrets or of projects.
pub struct ArgoCdObjects {
    agent: Agent,
    kind: Resource,
}

/// Request of a unit.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ObjectRequest {
    pub(crate) now: String,
    pub(crate) stamp: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) object: Option<Value>,
}

/// Response to a unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObjectResponse {
    pub(crate) plan: Plan,
    /// Whether no row knows the object.
    pub(crate) is_orphan: bool,
}

impl ArgoCdObjects {
    /// Returns the operator of Secrets.
    pub fn secrets(agent: Agent) -> ArgoCdObjects {
        ArgoCdObjects { agent, kind: SECRETS }
    }

    /// Returns the operator of projects.
    pub fn projects(agent: Agent) -> ArgoCdObjects {
        ArgoCdObjects { agent, kind: PROJECTS }
    }

    fn call(&self, request: ObjectRequest) -> Result<ObjectResponse, String> {
        let agent = self.agent.clone();
        self.agent.store().block_on(async move || {
            agent.store().transact(async |view| desired_objects::decide_on(view, &request, &agent).await).await
        })
    }
}

impl Question for ObjectRequest {
    type Answer = ObjectResponse;
    const KIND: &'static str = "gitops-argocd-object";
}

impl Operator for ArgoCdObjects {
    fn name(&self) -> &str {
        if self.kind == SECRETS { SECRETS_NAME } else { PROJECTS_NAME }
    }

    fn declaration(&self) -> Declaration {
        let of = |kind: &Resource| AccessRule::every(kind).on(ClusterType::Management);
        // Projects of the service have no label to select them by.
        let selection = if self.kind == SECRETS { Selection::all().with_labels(DATABASE_ID) } else { Selection::all() };
        Declaration {
            inputs: [&APPLICATIONS, &SECRETS].into_iter().map(of).collect(),
            outputs: BTreeSet::from([of(&self.kind)]),
            service_account: None,
            units: Units::Each { cluster_type: ClusterType::Management, resource: self.kind.clone(), selection },
        }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let Some(thing) = supporting_object_of(unit.name()) else { return Ok(Plan::nothing()) };
        let object = view.on(ClusterType::Management).get(&self.kind, unit.namespace(), unit.name())?;
        let object = object.map(|object| object.value());
        let request = ObjectRequest {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.namespace().to_string(),
            name: unit.name().to_string(),
            object: if self.kind == SECRETS { object.clone().map(secret) } else { object.clone() },
        };
        let response = view.ask(request, |request| self.call(request)).map_err(DecideError::Failed)?;
        match object.filter(|_| response.is_orphan) {
            Some(object) if is_used(view, unit, &thing, &object)? => {
                Ok(Plan::nothing().waiting("the Applications that use it to be deleted"))
            }
            Some(_) => {
                let mut plan = Plan::ordered();
                plan.push(Mutation::delete(&self.kind, unit.namespace(), unit.name()).on(ClusterType::Management));
                Ok(plan)
            }
            None => Ok(response.plan),
        }
    }
}

/// Whether an Application of the instance needs the object. The unit is triggered when one changes.
fn is_used(view: &View, unit: &Unit, thing: &SupportingObject, object: &Value) -> Result<bool, DecideError> {
    let management = view.on(ClusterType::Management);
    let here = Selection::namespace(unit.namespace());
    let applications = management.list(&APPLICATIONS, &here)?;
    let mut specs = applications.iter().map(|object| object.value()["spec"].clone());
    Ok(match thing {
        SupportingObject::Environment(_) => specs.any(|spec| spec["destination"]["name"] == *unit.name()),
        SupportingObject::Project(_) => specs.any(|spec| spec["project"] == *unit.name()),
        SupportingObject::Credential(_) => {
            // A Secret with a project serves the Applications of that project only, and so does a Secret that could
            // replace it.
            let (url, of) = (url_of(object), decoded(object, "/data/project"));
            let reads = |spec: &Value| normalize(&text(spec, "/source/repoURL")) == url;
            let is_read = specs.any(|spec| reads(&spec) && (of.is_empty() || spec["project"] == *of));
            let others = if is_read { management.list(&SECRETS, &here.with_labels(DATABASE_ID))? } else { Vec::new() };
            let mut others = others.iter().map(|other| other.value());
            let serves = |other: &Value| url_of(other) == url && decoded(other, "/data/project") == of;
            is_read && !others.any(|other| text(&other, "/metadata/name") != unit.name() && serves(&other))
        }
    })
}

/// Returns the normalized URL of a repository Secret; empty for a cluster Secret.
fn url_of(secret: &Value) -> String {
    normalize(&decoded(secret, "/data/url"))
}

/// Returns a value of a Secret; empty if it is missing.
fn decoded(secret: &Value, pointer: &str) -> String {
    let bytes = STANDARD.decode(text(secret, pointer)).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
