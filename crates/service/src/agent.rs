//! The agent: from rows to Argo CD's objects, and from what Argo CD says back to rows.

mod applications;
mod belongings;
mod operations;
mod step;
mod wanted;

use std::sync::Arc;

use switchboard_kernel::operator::{Operator, Reaching};

use crate::store::Store;

/// The operator of Operations.
pub const OPERATIONS_NAME: &str = "gitops-operations";
/// The operator of Applications.
pub const APPLICATIONS_NAME: &str = "gitops-applications";
/// The operator of Argo CD's Secrets.
pub const SECRETS_NAME: &str = "gitops-secrets";
/// The operator of Argo CD's projects.
pub const PROJECTS_NAME: &str = "gitops-projects";

/// The agent role. It works for every Argo CD of the management cluster that the database knows.
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

struct Inner {
    store: Store,
    isolated: bool,
}

impl Agent {
    /// Over a database. With `isolated`, tenants have projects of their own; as the backend's.
    pub fn new(store: Store, isolated: bool) -> Agent {
        Agent(Arc::new(Inner { store, isolated }))
    }

    /// Its operators.
    pub fn operators(&self) -> Vec<Arc<dyn Operator>> {
        vec![
            Arc::new(Reaching(operations::Operations(self.clone()))),
            Arc::new(Reaching(applications::Applications(self.clone()))),
            Arc::new(Reaching(belongings::Belongings::secrets(self.clone()))),
            Arc::new(Reaching(belongings::Belongings::projects(self.clone()))),
        ]
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    fn is_isolated(&self) -> bool {
        self.0.isolated
    }
}
