//! The operator: one for each cluster that is deployed to, all over the same Applications.

mod hosted;
mod repository;
mod syncing;
mod work;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use switchboard_kernel::operator::{Declaration, Declared, Outward, Stop, Unit, Units};
use switchboard_kernel::place::{ClusterName, Place, Topology};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::{Outside, View};

use crate::field::annotation;
use crate::kinds::APPLICATIONS;
use crate::source::Sources;

pub use hosted::Hosted;
use work::Work;

/// The operator's name, and the beginning of those for other clusters.
pub const NAME: &str = "engine";
/// The annotation of an Application that is left alone.
const SKIP: &str = "argocd.argoproj.io/skip-reconcile";

/// Deploys Applications to one cluster.
pub struct Engine {
    name: String,
    /// The cluster Applications live on.
    here: ClusterName,
    /// The cluster that is deployed to and the Secret that names it; absent for the cluster Applications live on.
    there: Option<(ClusterName, (String, String))>,
    sources: Arc<Sources>,
    hosted: Arc<Hosted>,
}

impl Engine {
    /// For Applications of a cluster that go to the same cluster. It also tells of those that go nowhere.
    pub fn here(cluster: ClusterName, sources: Arc<Sources>, hosted: Arc<Hosted>) -> Self {
        Self { name: NAME.to_string(), here: cluster, there: None, sources, hosted }
    }

    /// For Applications of a cluster that go to one that a Secret names.
    pub fn there(
        here: ClusterName,
        secret: (String, String),
        there: ClusterName,
        sources: Arc<Sources>,
        hosted: Arc<Hosted>,
    ) -> Self {
        Self { name: Self::name_of(&secret), here, there: Some((there, secret)), sources, hosted }
    }

    /// The name of the operator for a cluster that a Secret names.
    pub fn name_of((namespace, name): &(String, String)) -> String {
        format!("{NAME}@{namespace}.{name}")
    }

    /// Where Applications are deployed to, in the kernel's words.
    pub(crate) const TO: Place = Place::UserWorkload;
}

impl Outward for Engine {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        let every = BTreeSet::from([Declared::every_kind(), Declared::every_kind().at(Self::TO)]);
        Declaration {
            inputs: every.clone(),
            outputs: every,
            service_account: None,
            units: Units::Each { place: Place::Configuration, resource: APPLICATIONS, selection: Selection::all() },
        }
    }

    fn topology(&self) -> Option<Topology> {
        let there = self.there.as_ref().map_or(&self.here, |(cluster, _)| cluster);
        Some(Topology::of([self.here.clone(), self.here.clone(), there.clone()]))
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        match request.get("cluster") {
            Some(secret) => self.hosted.ask(secret),
            None => self.sources.ask(request),
        }
    }

    /// Repositories are fetched and read, and nothing else is done with them.
    fn acts(&self, _request: &Value) -> bool {
        false
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let Some(object) = view.get(&APPLICATIONS, unit.namespace(), unit.name())? else { return Ok(Plan::nothing()) };
        let application = object.value();
        if annotation(&application, SKIP) == "true" {
            return Ok(Plan::nothing());
        }
        Work::new(self, view, outside, application).decide()
    }
}
