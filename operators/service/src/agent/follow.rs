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
use switchboard_ledger::ids::{EngineInstanceId, OperationId, OperationResource, OperationState};
use switchboard_ledger::rows::{Application, ApplicationOwner, Operation};
use switchboard_ledger::{Filter, Key, Signal, View};
use tokio::time::Instant;

use super::{APPLICATIONS_NAME, Agent, OPERATIONS_NAME, moved};
use crate::error::{ServiceError, told};
use crate::rows;

/// How soon is looked again when the database did not answer.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// After how long is looked again at what is not done, whatever was heard of it.
const LOOK_AFTER: Duration = Duration::from_secs(60);

/// Something that is asked for: on whose behalf, and by which unit it is done.
pub(super) type Asked = (String, Unit);

/// Units to wake, by the tenant they are about: tenants take turns, though their units share the namespace of an Argo CD.
type Woken = BTreeMap<String, Vec<Unit>>;

/// The namespaces of Argo CDs; none for those of other clusters.
type Places = BTreeMap<EngineInstanceId, Option<String>>;

impl Agent {
    /// Wakes units until the kernel stops. First all there is to do: what was asked for, or went, while nobody looked has no
    /// object to be woken by. What stays open is looked at again and again: whoever else was at it may be gone.
    ///
    /// # Errors
    /// When the database cannot be listened to.
    pub async fn follow(&self, handle: Handle) -> Result<(), ServiceError> {
        // Each of them ends with the kernel.
        tokio::select! {
            over = self.hear(&handle) => over,
            () = self.watch_open(&handle) => Ok(()),
        }
    }

    async fn hear(&self, handle: &Handle) -> Result<(), ServiceError> {
        let mut signals = self.store().ledger().signals().await?;
        let mut news = vec![Signal::Everything];
        loop {
            match self.heard(&news, handle).await {
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

    /// Wakes units of what has not been done for long. Nothing is asked of the database for it.
    async fn watch_open(&self, handle: &Handle) {
        loop {
            let next = self.open().next();
            tokio::time::sleep_until(next.unwrap_or_else(|| Instant::now() + LOOK_AFTER)).await;
            if !wake(handle, self.late(Instant::now())).await {
                return;
            }
        }
    }

    /// What has not been done for long.
    fn late(&self, now: Instant) -> Woken {
        let mut woken = Woken::new();
        for (tenant, unit) in self.open().late(now, LOOK_AFTER) {
            woken.entry(tenant).or_default().push(unit);
        }
        woken
    }

    /// Says whether the kernel is still there.
    async fn heard(&self, news: &[Signal], handle: &Handle) -> Result<bool, ServiceError> {
        let unseen = self.memory().heard(news);
        if !unseen.is_empty() && handle.tell(OperatorName::new(APPLICATIONS_NAME), unseen).await.is_err() {
            return Ok(false);
        }
        if !wake(handle, self.woken(news).await?).await {
            return Ok(false);
        }
        let moves = moved::moves(news);
        if news.contains(&Signal::Everything) {
            self.look_at_all(handle).await?;
        } else if !moves.is_empty() {
            self.look_after(&moves, handle).await?;
        }
        Ok(true)
    }

    async fn woken(&self, news: &[Signal]) -> Result<Woken, ServiceError> {
        let is_all = news.contains(&Signal::Everything);
        let keys: BTreeSet<&str> = news.iter().filter_map(operation_of).collect();
        let (mut woken, mut places, mut wanted) = (Woken::new(), Places::new(), Vec::new());
        if keys.is_empty() && !is_all {
            return Ok(woken);
        }
        let mut view = self.store().ledger().view().await?;
        let rows = match is_all {
            true => {
                let rows = rows::open_operations(&mut view).await?;
                self.open().keep(&rows.iter().map(|row| row.id.clone()).collect());
                rows
            }
            false => self.of_keys(&mut view, &keys).await?,
        };
        for row in &rows {
            let Some((tenant, unit)) = self.asked(&mut view, row, &mut places).await? else {
                self.open().remove(&row.id);
                continue;
            };
            self.open().add(row.id.clone(), Instant::now() + LOOK_AFTER, (tenant.clone(), unit.clone()));
            // One that is begun is in somebody's hands, as long as that one lives.
            if is_all || row.state == OperationState::Waiting {
                woken.entry(tenant).or_default().push(unit);
                wanted.push(row);
            }
        }
        self.guess_all(&mut view, &wanted).await?;
        view.end();
        Ok(woken)
    }

    /// Keeps in mind which objects rows are about, so that their units need not ask. What that takes of all of them is read at once,
    /// and found again when each is looked at.
    async fn guess_all(&self, view: &mut View, rows: &[&Operation]) -> Result<(), ServiceError> {
        let of_applications = rows.iter().filter(|row| row.resource == OperationResource::Application);
        let keys: Vec<Key> = of_applications.map(|row| Key::from(row.resource_id.as_str())).collect();
        let owners: Vec<Filter> = keys.iter().map(|key| owned(&key.to_string())).collect();
        view.get_each::<Application>(&keys).await?;
        view.list_each::<ApplicationOwner>(&owners).await?;
        for row in rows {
            if self.guessed(row.id.as_str()).is_none() {
                let names = super::step::names(view, row).await?;
                self.guess(row.id.as_str(), Some(names));
            }
        }
        Ok(())
    }

    /// Those of these rows that are open; the others are forgotten.
    async fn of_keys(&self, view: &mut View, keys: &BTreeSet<&str>) -> Result<Vec<Operation>, ServiceError> {
        let wanted: Vec<Key> = keys.iter().map(|key| Key::from(*key)).collect();
        let mut open: Vec<Operation> = view.get_each(&wanted).await?;
        open.retain(rows::is_open);
        let is_open: BTreeSet<&str> = open.iter().map(|row| row.id.as_str()).collect();
        for key in keys.difference(&is_open) {
            self.open().remove(&OperationId::from(*key));
        }
        Ok(open)
    }

    /// Who does what a row asks for, if it is taken from the database, and by this agent.
    async fn asked(
        &self,
        view: &mut View,
        row: &Operation,
        places: &mut Places,
    ) -> Result<Option<Asked>, ServiceError> {
        if !is_of_service(&row.id) {
            return Ok(None);
        }
        if !places.contains_key(&row.instance) {
            let instance = self.instance(view, &row.instance).await?;
            places.insert(row.instance.clone(), instance.map(|instance| instance.namespace));
        }
        let Some(Some(namespace)) = places.get(&row.instance) else { return Ok(None) };
        let tenant = row.owner.as_ref().map(|owner| owner.as_str().to_string()).unwrap_or_default();
        Ok(Some((tenant, Unit::object(namespace, &kinds::operation::name(&row.id)))))
    }
}

/// Whose an Application is, as it is asked when that is needed.
fn owned(application: &str) -> Filter {
    Filter::all().is("application_owner_application_id", application)
}

/// Says whether the kernel is still there.
async fn wake(handle: &Handle, woken: Woken) -> bool {
    for (tenant, units) in woken {
        if handle.tell_of(OperatorName::new(OPERATIONS_NAME), &tenant, units).await.is_err() {
            return false;
        }
    }
    true
}

fn operation_of(signal: &Signal) -> Option<&str> {
    match signal {
        Signal::Changed { table, key } if table == "operation" => Some(key),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests;
