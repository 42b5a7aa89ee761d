//! Operations: requests from the backend to agents to process a changed row.
//!
//! The row is authoritative. It is committed with the change it is about, and the database notifies the agent. The
//! object only repeats the notification in case it was lost.

pub mod agent;
pub mod kind;
pub mod notify;
pub mod open_operations;
pub(crate) mod operator;
pub(crate) mod rest;
pub(crate) mod step;
pub(crate) mod upkeep;

use std::collections::{BTreeMap, BTreeSet};

use switchboard_sql::{DbTimestamp, RowChange};

use crate::flow::{KubernetesWrite, ReconcileResult, WriteTarget};
use crate::ids::{EngineInstanceId, OperationId, OperationResource, OperationState, UserId};
use crate::kinds;
use crate::rows::{EngineInstance, Operation};

/// Time after which an unfinished Operation is reported as an error.
pub const DEADLINE_MS: i64 = 10 * 60 * 1000;

/// Retention of completed Operations.
pub const KEEP_COMPLETED_MS: i64 = 60 * 60 * 1000;

/// Retention of failed Operations, for inspection.
pub const KEEP_FAILED_MS: i64 = 24 * 60 * 60 * 1000;

/// Prefix of the id of an Operation that removes a deployment, followed by its UID.
pub const REMOVAL_PREFIX: &str = "delete-";

/// Prefix of the id of an Operation that stops a sync, followed by the UID of the sync run.
pub const STOP_PREFIX: &str = "stop-";

/// Separator behind the UID if a removal is requested from several instances, followed by a number.
pub const COPY_SEPARATOR: char = '.';

/// Request to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRequest<'a> {
    /// Instance of the agent.
    pub instance: &'a EngineInstanceId,
    /// Type of the row.
    pub resource: OperationResource,
    /// Key of the row.
    pub resource_id: &'a str,
    /// Tenant of the row.
    pub owner: &'a UserId,
}

impl OperationRequest<'_> {
    fn is_of(&self, row: &Operation) -> bool {
        row.instance == *self.instance && row.resource == self.resource && row.resource_id == self.resource_id
    }
}

/// Requests an Operation unless one is waiting, which will see the current state.
pub fn request(
    rows: &[Operation],
    wish: &OperationRequest<'_>,
    id: impl FnOnce() -> OperationId,
    now: DbTimestamp,
) -> Option<RowChange> {
    let waiting = rows.iter().any(|row| wish.is_of(row) && row.state == OperationState::Waiting);
    (!waiting).then(|| RowChange::insert(&row(wish, id(), now)))
}

/// Requests an Operation about a change in the same transaction. A waiting Operation is updated: an agent that has read
/// the old state but not begun finds the row changed and reads again.
pub fn request_or_renew(
    rows: &[Operation],
    wish: &OperationRequest<'_>,
    id: impl FnOnce() -> OperationId,
    now: DbTimestamp,
) -> RowChange {
    match rows.iter().find(|row| wish.is_of(row) && row.state == OperationState::Waiting) {
        Some(waiting) => {
            let last_state_update = now.max(waiting.last_state_update.plus_ms(1));
            RowChange::update(waiting, &Operation { last_state_update, ..waiting.clone() })
        }
        None => RowChange::insert(&row(wish, id(), now)),
    }
}

/// Builds the row of a request.
pub fn row(wish: &OperationRequest<'_>, id: OperationId, now: DbTimestamp) -> Operation {
    Operation {
        id,
        instance: wish.instance.clone(),
        resource_id: wish.resource_id.to_string(),
        owner: Some(wish.owner.clone()),
        resource: wish.resource,
        created_on: now,
        last_state_update: now,
        state: OperationState::Waiting,
        human_readable_state: None,
        gc_expiration_s: None,
    }
}

/// Whether an open Operation has exceeded its time limit.
pub fn is_overdue(row: &Operation, now: DbTimestamp) -> bool {
    is_open(row) && now.since_ms(row.created_on) > DEADLINE_MS
}

fn is_open(row: &Operation) -> bool {
    matches!(row.state, OperationState::Waiting | OperationState::InProgress)
}

/// Whether the service created the Operation: then its id is a UUID, with [`REMOVAL_PREFIX`] for a removal or
/// [`STOP_PREFIX`] for stopping a sync. An agent takes these rows from the database. Rows with other ids were created
/// by other clients and wait for an Operation object.
pub fn is_created_by_service(id: &OperationId) -> bool {
    let uuid = removed_deployment(id).or_else(|| id.as_str().strip_prefix(STOP_PREFIX)).unwrap_or(id.as_str());
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    uuid.len() == 36
        && uuid.bytes().enumerate().all(|(at, byte)| if is_dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// Returns the UID of the deployment that an Operation removes, or `None` if it is not a removal.
pub fn removed_deployment(id: &OperationId) -> Option<&str> {
    let rest = id.as_str().strip_prefix(REMOVAL_PREFIX)?;
    Some(rest.split_once(COPY_SEPARATOR).map_or(rest, |(uid, _)| uid))
}

/// Marks a waiting Operation as begun.
pub fn begin(row: &Operation, now: DbTimestamp) -> Option<RowChange> {
    let begun = Operation { state: OperationState::InProgress, last_state_update: now, ..row.clone() };
    (row.state == OperationState::Waiting).then(|| RowChange::update(row, &begun))
}

/// Finishes an Operation, and every open Operation about the same row that existed when the agent read the state.
///
/// In managed-gitops, a second Operation replaces the first, and the client of the first waits forever.
pub fn finish(
    rows: &[Operation],
    of: &Operation,
    looked_at: DbTimestamp,
    result: Result<(), &str>,
    now: DbTimestamp,
) -> Vec<RowChange> {
    let same = |row: &&Operation| {
        row.instance == of.instance && row.resource == of.resource && row.resource_id == of.resource_id
    };
    let over = rows.iter().filter(same).filter(|row| is_open(row) && (row.id == of.id || row.created_on <= looked_at));
    let (state, reason) = match result {
        Ok(()) => (OperationState::Completed, None),
        Err(why) => (OperationState::Failed, Some(why.to_string())),
    };
    let done = |row: &Operation| {
        let after = Operation { state, last_state_update: now, human_readable_state: reason.clone(), ..row.clone() };
        RowChange::update(row, &after)
    };
    over.map(done).collect()
}

/// Aligns rows and objects: creates an object for each open row, deletes objects without an open row, and deletes rows
/// after their retention.
///
/// Objects in namespaces of no instance are kept, as in managed-gitops.
pub fn garbage_collect(
    rows: &[Operation],
    objects: &[kinds::OperationObject],
    instances: &[EngineInstance],
    now: DbTimestamp,
) -> ReconcileResult {
    let places: BTreeMap<&EngineInstanceId, &str> =
        instances.iter().map(|instance| (&instance.id, instance.namespace.as_str())).collect();
    let namespaces: BTreeSet<&str> = places.values().copied().collect();
    let mut decision = ReconcileResult::default();
    let is_notified = |id: &OperationId, namespace: &str| {
        objects.iter().any(|o| o.spec.operation_id == id.as_str() && o.metadata.namespace == namespace)
    };
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    for row in rows {
        if is_open(row) {
            kept.insert(row.id.as_str());
            let namespace = places.get(&row.instance).filter(|namespace| !is_notified(&row.id, namespace));
            decision
                .writes
                .extend(namespace.map(|n| KubernetesWrite::Create(crate::operation::kind::object(&row.id, n, false))));
        } else if now.since_ms(row.last_state_update) > retention_ms(row) {
            decision.changes.push(RowChange::delete(row));
        } else {
            kept.insert(row.id.as_str());
            let left = retention_ms(row) - now.since_ms(row.last_state_update);
            decision.requeue_in(u64::try_from(left).unwrap_or_default() + 1);
        }
    }
    // Objects of finished or unknown rows are deleted.
    let open: BTreeSet<&str> = rows.iter().filter(|row| is_open(row)).map(|row| row.id.as_str()).collect();
    for object in objects {
        let meta = &object.metadata;
        if namespaces.contains(meta.namespace.as_str()) && !open.contains(object.spec.operation_id.as_str()) {
            decision.writes.push(KubernetesWrite::Delete(target(&meta.namespace, &meta.name)));
        }
    }
    decision
}

fn retention_ms(row: &Operation) -> i64 {
    match (row.gc_expiration_s, row.state) {
        (Some(seconds), _) if seconds > 0 => seconds.saturating_mul(1000),
        (_, OperationState::Failed) => KEEP_FAILED_MS,
        _ => KEEP_COMPLETED_MS,
    }
}

fn target(namespace: &str, name: &str) -> WriteTarget {
    WriteTarget {
        api_version: kinds::API_VERSION,
        kind: crate::operation::kind::KIND,
        namespace: namespace.to_string(),
        name: name.to_string(),
    }
}

#[cfg(test)]
mod tests;
