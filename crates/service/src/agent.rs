//! The agent: from rows to Argo CD's objects, and from what Argo CD says back to rows.

mod applications;
mod belongings;
mod follow;
mod memory;
mod operations;
mod step;
mod wanted;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_kernel::operator::{Operator, Reaching};

use crate::store::Store;
use memory::Memory;
use operations::Names;

/// The operator of Operations.
pub const OPERATIONS_NAME: &str = "gitops-operations";
/// The operator of Applications.
pub const APPLICATIONS_NAME: &str = "gitops-applications";
/// The operator of Argo CD's Secrets.
pub const SECRETS_NAME: &str = "gitops-secrets";
/// The operator of Argo CD's projects.
pub const PROJECTS_NAME: &str = "gitops-projects";

/// Of how many Operations it is kept in mind which objects they are about.
const MAX_GUESSES: usize = 10_000;

/// How long an Application stays that no row knows. After a restore, rows are made anew from tenants' resources, and its own may be
/// among them.
pub const ORPHAN_GRACE: Duration = Duration::from_secs(10 * 60);

/// The agent role. It works for every Argo CD of the management cluster that the database knows.
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

struct Inner {
    store: Store,
    isolated: bool,
    orphan_grace: Duration,
    /// Which objects open Operations were about when they were last looked at.
    names: Mutex<BTreeMap<String, Names>>,
    memory: Mutex<Memory>,
}

impl Agent {
    /// Over a database. With `isolated`, tenants have projects of their own; as the backend's.
    pub fn new(store: Store, isolated: bool) -> Agent {
        Agent::patient(store, isolated, ORPHAN_GRACE)
    }

    /// The same, with another patience for Applications that no row knows.
    pub fn patient(store: Store, isolated: bool, orphan_grace: Duration) -> Agent {
        let (names, memory) = (Mutex::default(), Mutex::default());
        Agent(Arc::new(Inner { store, isolated, orphan_grace, names, memory }))
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

    fn orphan_grace(&self) -> Duration {
        self.0.orphan_grace
    }

    /// What is kept in mind of Applications.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn guessed(&self, operation: &str) -> Option<Names> {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner).get(operation).cloned()
    }

    fn guess(&self, operation: &str, names: Option<Names>) {
        let mut all = self.0.names.lock().unwrap_or_else(PoisonError::into_inner);
        match names {
            Some(names) if all.len() < MAX_GUESSES => drop(all.insert(operation.to_string(), names)),
            _ => drop(all.remove(operation)),
        }
    }
}
