//! Registration of the service's operators.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use switchboard_kernel::config::{ParentSection, SectionReader};
use switchboard_kernel::family::{OperatorFamily, PartOperator};
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::Operator;
use switchboard_sql::{Address, Ledger, LedgerError, Sealer};

use crate::config::{self, GitopsConfig};
use crate::{Agent, Backend, Store, agent, backend, limits, setup};

/// Name of the section.
pub const SECTION: &str = "gitops";

const fn part(name: &'static str) -> PartOperator {
    PartOperator { name, parent: ParentSection::Section(SECTION) }
}

const PARTS: [PartOperator; 10] = [
    part(agent::APPLICATIONS_NAME),
    part(agent::OPERATIONS_NAME),
    part(agent::PROJECTS_NAME),
    part(agent::SECRETS_NAME),
    part(backend::CREDENTIALS_NAME),
    part(backend::DEPLOYMENTS_NAME),
    part(backend::ENVIRONMENTS_NAME),
    part(backend::SYNC_RUNS_NAME),
    part(backend::TENANTS_NAME),
    part(backend::UPKEEP_NAME),
];

/// Operators of both roles. Their host connects the database and adds them.
pub struct GitopsFamily;

impl OperatorFamily for GitopsFamily {
    fn parts(&self) -> &[PartOperator] {
        &PARTS
    }

    fn section(&self) -> Option<SectionReader> {
        Some(SectionReader { name: SECTION, read: config::read })
    }

    fn limits(&self) -> Limits {
        limits::limits()
    }

    fn operator(&self, _name: &str) -> Option<Arc<dyn Operator>> {
        None
    }

    fn replay<'a>(&'a self, name: &'a str, _settings: &'a Value) -> BoxFuture<'a, Option<Arc<dyn Operator>>> {
        async move {
            let all = declared_operators(&GitopsConfig::default()).await.ok()?;
            all.into_iter().find(|one| one.name() == name)
        }
        .boxed()
    }
}

/// Returns the operators over an empty database in memory that is never queried: for their declarations and replays.
///
/// # Errors
/// Fails if the database cannot be opened.
pub async fn declared_operators(section: &GitopsConfig) -> Result<Vec<Arc<dyn Operator>>, LedgerError> {
    let address = Address::parse("sqlite::memory:").expect("the address is valid");
    let ledger = Ledger::open(&crate::SCHEMA, &address, Sealer::plain()).await?;
    let store = Store::new(ledger, tokio::runtime::Handle::current());
    let settings = backend::BackendSettings { isolated: section.isolation, ..backend::BackendSettings::default() };
    let backend = section.backend.then(|| Backend::new(store.clone(), settings).operators());
    let agent = section.agent.then(|| Agent::new(store, section.isolation, setup::SYSTEM_NAMESPACE.into()).operators());
    Ok(backend.into_iter().chain(agent).flatten().collect())
}
