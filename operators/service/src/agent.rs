//! The agent: from rows to Argo CD's objects, and from what Argo CD says back to rows.

mod applications;
mod belongings;
mod follow;
mod memory;
mod moved;
mod operations;
mod step;
mod strays;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_kernel::operator::{Operator, Reaching};
use switchboard_ledger::ids::{EngineClusterId, EngineInstanceId, Uid};
use switchboard_ledger::rows::EngineInstance;
use switchboard_ledger::{LedgerError, View};

use crate::open::Open;
use crate::rows;
use crate::store::Store;
use follow::Asked;
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

/// How long an Application stays that no row has there. After a restore, rows are made anew from tenants' resources, and its own may be
/// among them.
pub const ORPHAN_GRACE: Duration = Duration::from_secs(10 * 60);

/// The agent role. It works for every Argo CD of its own cluster that the database knows, and for none of another: that has an agent
/// of its own.
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

struct Inner {
    store: Store,
    isolated: bool,
    orphan_grace: Duration,
    /// What its cluster is known by.
    cluster: Uid,
    /// Clusters by their rows that are its own: what is so stays so.
    own: Mutex<BTreeSet<EngineClusterId>>,
    /// Which objects open Operations were about when they were last looked at.
    names: Mutex<BTreeMap<String, Names>>,
    memory: Mutex<Memory>,
    /// What is asked for and not done, as far as the database told.
    open: Mutex<Open<Asked>>,
}

impl Agent {
    /// Over a database, for the cluster that is known by this uid ([`crate::setup::known_as`]). With `isolated`, tenants have projects
    /// of their own; as the backend's.
    pub fn new(store: Store, isolated: bool, cluster: Uid) -> Agent {
        Agent::patient(store, isolated, cluster, ORPHAN_GRACE)
    }

    /// The same, with another patience for Applications that no row knows.
    pub fn patient(store: Store, isolated: bool, cluster: Uid, orphan_grace: Duration) -> Agent {
        let (own, names, memory, open) = (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        Agent(Arc::new(Inner { store, isolated, orphan_grace, cluster, own, names, memory, open }))
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

    /// Whether an Argo CD is on its cluster.
    async fn has(&self, view: &mut View, instance: &EngineInstance) -> Result<bool, LedgerError> {
        let own = || self.0.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own().contains(&instance.cluster) {
            return Ok(true);
        }
        let has = rows::is_at(view, instance, &self.0.cluster).await?;
        if has {
            own().insert(instance.cluster.clone());
        }
        Ok(has)
    }

    /// The Argo CD of a row, if it is on its cluster.
    async fn instance(&self, view: &mut View, id: &EngineInstanceId) -> Result<Option<EngineInstance>, LedgerError> {
        let Some(instance) = rows::instance(view, id).await? else { return Ok(None) };
        Ok(self.has(view, &instance).await?.then_some(instance))
    }

    fn is_isolated(&self) -> bool {
        self.0.isolated
    }

    fn open(&self) -> MutexGuard<'_, Open<Asked>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
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
