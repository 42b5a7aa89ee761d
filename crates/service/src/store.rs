//! The database as units use it: one view, one decision, one commit; and again if it was too late.

use std::sync::Arc;

use switchboard_ledger::{Change, Ledger, View};

use crate::error::{ServiceError, told};

/// How often is decided anew on rows that others changed meanwhile. The unit is tried again later after that.
const MAX_ATTEMPTS: u32 = 8;

/// Asked before and after every commit whether the process goes on: tests let it die there.
pub type Gate = Arc<dyn Fn(When) -> bool + Send + Sync>;

/// When a gate is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Changes are about to be committed.
    Before,
    /// They were.
    After,
}

/// The database, for threads that may wait for it.
#[derive(Clone)]
pub struct Store {
    ledger: Ledger,
    runtime: tokio::runtime::Handle,
    gate: Option<Gate>,
}

impl Store {
    /// A database whose connections are served by this runtime.
    pub fn new(ledger: Ledger, runtime: tokio::runtime::Handle) -> Store {
        Store { ledger, runtime, gate: None }
    }

    /// With somebody who says when it is over.
    #[must_use]
    pub fn gated(self, gate: Gate) -> Store {
        Store { gate: Some(gate), ..self }
    }

    /// The database itself.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Waits for an answer on a thread that is nobody else's.
    ///
    /// # Errors
    /// What went wrong, for people.
    pub fn wait<T>(&self, work: impl Future<Output = Result<T, ServiceError>>) -> Result<T, String> {
        self.runtime.block_on(work).map_err(|error| told(&error))
    }

    /// Reads, decides, commits. Whatever `decide` read has not changed when its changes are made.
    ///
    /// # Errors
    /// When the database fails, or others are faster again and again.
    pub async fn settle<T>(
        &self,
        decide: impl AsyncFn(&mut View) -> Result<(Vec<Change>, T), ServiceError>,
    ) -> Result<T, ServiceError> {
        for _ in 0..MAX_ATTEMPTS {
            let mut view = self.ledger.view().await?;
            let (changes, outcome) = decide(&mut view).await?;
            view.end();
            if changes.is_empty() {
                return Ok(outcome);
            }
            if self.commit(&changes).await? {
                return Ok(outcome);
            }
        }
        Err(ServiceError::Contended { attempts: MAX_ATTEMPTS })
    }

    /// Makes changes that were decided on what was read before. False if any of it has changed since: look again.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn commit(&self, changes: &[Change]) -> Result<bool, ServiceError> {
        self.ask(When::Before)?;
        match self.ledger.commit(changes).await {
            Ok(()) => self.ask(When::After).map(|()| true),
            Err(error) if error.is_conflict() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn ask(&self, when: When) -> Result<(), ServiceError> {
        match &self.gate {
            Some(gate) if !gate(when) => Err(ServiceError::Stopped),
            _ => Ok(()),
        }
    }
}
