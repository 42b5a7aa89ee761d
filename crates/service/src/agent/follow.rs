//! News of rows: which Operations are to be worked on, whoever asked for them.
//!
//! What a service asks for is taken from its row as soon as that is committed. A row that somebody else wrote waits for an Operation
//! resource to ring for it, in the namespace of its Argo CD: that is what tests of the original expect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use switchboard_gitops::flow::operation::is_of_service;
use switchboard_gitops::kinds;
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_ledger::ids::{EngineInstanceId, OperationId, OperationState};
use switchboard_ledger::rows::Operation;
use switchboard_ledger::{Signal, View};

use super::{Agent, OPERATIONS_NAME};
use crate::error::{ServiceError, told};
use crate::rows;

/// How soon is looked again when the database did not answer.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Units to wake, by the tenant they are about: tenants take turns, though their units share the namespace of an Argo CD.
#[derive(Default)]
struct Woken {
    units: BTreeMap<String, Vec<Unit>>,
    places: BTreeMap<EngineInstanceId, Option<String>>,
}

impl Agent {
    /// Wakes units until the kernel stops. First all there is to do: what was asked for, or went, while nobody looked has no
    /// object to be woken by.
    ///
    /// # Errors
    /// When the database cannot be listened to.
    pub async fn follow(&self, handle: Handle) -> Result<(), ServiceError> {
        let mut signals = self.store().ledger().signals().await?;
        let mut news = vec![Signal::Everything];
        loop {
            match self.heard(&news, &handle).await {
                Ok(true) => news = signals.next().await,
                Ok(false) => return Ok(()),
                // The next look is at everything: what these were about is not known. It waits for no further news: none may come.
                Err(error) => {
                    tracing::warn!(error = told(&error), "could not find out what is asked for");
                    tokio::time::sleep(LOOK_AGAIN).await;
                    news = vec![Signal::Everything];
                }
            }
        }
    }

    /// Says whether the kernel is still there.
    async fn heard(&self, news: &[Signal], handle: &Handle) -> Result<bool, ServiceError> {
        self.memory().heard(news);
        let is_all = news.contains(&Signal::Everything);
        let keys: BTreeSet<&str> = news.iter().filter_map(operation_of).collect();
        if keys.is_empty() && !is_all {
            return Ok(true);
        }
        let mut woken = Woken::default();
        let mut view = self.store().ledger().view().await?;
        if is_all {
            for row in rows::open_operations(&mut view).await? {
                woken.add(&mut view, &row).await?;
            }
        } else {
            for key in keys {
                let row = rows::operation(&mut view, &OperationId::from(key)).await?;
                // One that is begun is in somebody's hands.
                if let Some(row) = row.filter(|row| row.state == OperationState::Waiting) {
                    woken.add(&mut view, &row).await?;
                }
            }
        }
        view.end().await?;
        for (tenant, units) in woken.units {
            if handle.tell_of(OperatorName::new(OPERATIONS_NAME), &tenant, units).await.is_err() {
                return Ok(false);
            }
        }
        if is_all {
            self.look_at_all(handle).await?;
        }
        Ok(true)
    }
}

impl Woken {
    async fn add(&mut self, view: &mut View, row: &Operation) -> Result<(), ServiceError> {
        if !is_of_service(&row.id) {
            return Ok(());
        }
        if !self.places.contains_key(&row.instance) {
            let instance = rows::instance(view, &row.instance).await?;
            self.places.insert(row.instance.clone(), instance.map(|instance| instance.namespace));
        }
        if let Some(Some(namespace)) = self.places.get(&row.instance) {
            let tenant = row.owner.as_ref().map(|owner| owner.as_str().to_string()).unwrap_or_default();
            let unit = Unit::object(namespace, &kinds::operation::name(&row.id));
            self.units.entry(tenant).or_default().push(unit);
        }
        Ok(())
    }
}

fn operation_of(signal: &Signal) -> Option<&str> {
    match signal {
        Signal::Changed { table, key } if table == "operation" => Some(key),
        _ => None,
    }
}
