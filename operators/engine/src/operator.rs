//! The engine's operators: one for each destination cluster, all with the same Applications.

mod destination_operators;
mod reconciliation;
mod repository;
mod sync;

use std::collections::BTreeSet;
use std::sync::Arc;

use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Selection;
use switchboard_kernel::topology::{ClusterName, ClusterType, Topology};
use switchboard_kernel::view::View;

use crate::kinds::APPLICATIONS;
use crate::object_fields::annotation;
use crate::source::RepositorySources;

pub use destination_operators::DestinationOperators;
use reconciliation::Reconciliation;

/// Name of the operator, and prefix of the names for other clusters.
pub const NAME: &str = "engine";
/// Annotation of an Application that is skipped.
const SKIP: &str = "argocd.argoproj.io/skip-reconcile";

/// Operator that deploys Applications to one cluster.
pub struct EngineOperator {
    name: String,
    /// Cluster the Applications live on.
    home: ClusterName,
    /// Destination cluster and the Secret that declares it; `None` for the cluster the Applications live on.
    destination: Option<(ClusterName, (String, String))>,
    sources: Arc<RepositorySources>,
    destinations: Arc<DestinationOperators>,
}

impl EngineOperator {
    /// Creates the operator for Applications whose destination is their own cluster. It also reports errors of
    /// Applications without a usable destination.
    pub fn in_cluster(
        cluster: ClusterName,
        sources: Arc<RepositorySources>,
        hosted: Arc<DestinationOperators>,
    ) -> Self {
        Self { name: NAME.to_string(), home: cluster, destination: None, sources, destinations: hosted }
    }

    /// Creates the operator for Applications whose destination is declared by a Secret.
    pub fn remote(
        here: ClusterName,
        secret: (String, String),
        there: ClusterName,
        sources: Arc<RepositorySources>,
        hosted: Arc<DestinationOperators>,
    ) -> Self {
        Self {
            name: Self::name_of(&secret),
            home: here,
            destination: Some((there, secret)),
            sources,
            destinations: hosted,
        }
    }

    /// Returns the name of the operator for a cluster that a Secret declares.
    pub fn name_of((namespace, name): &(String, String)) -> String {
        format!("{NAME}@{namespace}.{name}")
    }

    /// Cluster type of the destination.
    pub(crate) const DESTINATION: ClusterType = ClusterType::UserWorkload;
}

impl Operator for EngineOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        let every = BTreeSet::from([AccessRule::every_kind(), AccessRule::every_kind().on(Self::DESTINATION)]);
        Declaration {
            inputs: every.clone(),
            outputs: every,
            service_account: None,
            units: Units::Each {
                cluster_type: ClusterType::Configuration,
                resource: APPLICATIONS,
                selection: Selection::all(),
            },
        }
    }

    fn topology(&self) -> Option<Topology> {
        let there = self.destination.as_ref().map_or(&self.home, |(cluster, _)| cluster);
        Some(Topology::of([self.home.clone(), self.home.clone(), there.clone()]))
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let Some(object) = view.get(&APPLICATIONS, unit.namespace(), unit.name())? else { return Ok(Plan::nothing()) };
        let application = object.value();
        if annotation(&application, SKIP) == "true" {
            return Ok(Plan::nothing());
        }
        Reconciliation::new(self, view, application).decide()
    }
}
