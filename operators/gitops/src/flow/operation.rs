//! Operations: how the backend tells the agent that a row changed.
//!
//! The row counts. It is committed with the change it is about, and the database tells of it; the object only rings, where nobody heard.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_ledger::ids::{EngineInstanceId, OperationId, OperationResource, OperationState, UserId};
use switchboard_ledger::rows::{EngineInstance, Operation};
use switchboard_ledger::{Change, Moment};

use super::{Decision, Target, Write};
use crate::kinds;

/// How long an Operation may take until whoever waits for it is told so.
pub const DEADLINE_MS: i64 = 10 * 60 * 1000;

/// How long an Operation is kept that was done.
pub const KEEP_COMPLETED_MS: i64 = 60 * 60 * 1000;

/// How long an Operation is kept that failed: somebody may look.
pub const KEEP_FAILED_MS: i64 = 24 * 60 * 60 * 1000;

/// What begins the key of an Operation that removes a deployment, whose uid follows.
pub const REMOVAL: &str = "delete-";

/// Before the uid of a sync run, in the key of what ends its sync.
pub const STOP: &str = "stop-";

/// What is behind that uid where a removal is asked for more than once; a number follows.
pub const MORE: char = '.';

/// What an agent should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish<'a> {
    /// Which agent.
    pub instance: &'a EngineInstanceId,
    /// Which table.
    pub resource: OperationResource,
    /// Which row.
    pub resource_id: &'a str,
    /// On whose behalf.
    pub owner: &'a UserId,
}

impl Wish<'_> {
    fn is_of(&self, row: &Operation) -> bool {
        row.instance == *self.instance && row.resource == self.resource && row.resource_id == self.resource_id
    }
}

/// Asks for a look, unless one is asked for that nobody has begun: that one will see things as they are then.
pub fn ask(rows: &[Operation], wish: &Wish<'_>, id: impl FnOnce() -> OperationId, now: Moment) -> Option<Change> {
    let waiting = rows.iter().any(|row| wish.is_of(row) && row.state == OperationState::Waiting);
    (!waiting).then(|| Change::insert(&row(wish, id(), now)))
}

/// Asks for a look at what changes in the same transaction. One that is asked for already is asked for anew: an agent that
/// has read what it is about, but not said so yet, finds its row changed and looks again.
pub fn ask_anew(rows: &[Operation], wish: &Wish<'_>, id: impl FnOnce() -> OperationId, now: Moment) -> Change {
    match rows.iter().find(|row| wish.is_of(row) && row.state == OperationState::Waiting) {
        Some(waiting) => {
            let last_state_update = now.max(waiting.last_state_update.plus_ms(1));
            Change::update(waiting, &Operation { last_state_update, ..waiting.clone() })
        }
        None => Change::insert(&row(wish, id(), now)),
    }
}

/// The row of a wish.
pub fn row(wish: &Wish<'_>, id: OperationId, now: Moment) -> Operation {
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

/// Whether whoever waits has waited long enough.
pub fn is_overdue(row: &Operation, now: Moment) -> bool {
    is_open(row) && now.since_ms(row.created_on) > DEADLINE_MS
}

fn is_open(row: &Operation) -> bool {
    matches!(row.state, OperationState::Waiting | OperationState::InProgress)
}

/// Whether a service asked for it: only then does its key have the form of a UUID, behind [`REMOVAL`] where something goes and [`STOP`]
/// where a sync is to end. An agent takes it from the database. Rows of any other key are somebody's own, and wait for an Operation resource.
pub fn is_of_service(id: &OperationId) -> bool {
    let uuid = removed(id).or_else(|| id.as_str().strip_prefix(STOP)).unwrap_or(id.as_str());
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    uuid.len() == 36
        && uuid.bytes().enumerate().all(|(at, byte)| if is_dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// The uid of the deployment that an Operation removes; none if it removes none.
pub fn removed(id: &OperationId) -> Option<&str> {
    let rest = id.as_str().strip_prefix(REMOVAL)?;
    Some(rest.split_once(MORE).map_or(rest, |(uid, _)| uid))
}

/// The agent begins with a row.
pub fn begin(row: &Operation, now: Moment) -> Option<Change> {
    let begun = Operation { state: OperationState::InProgress, last_state_update: now, ..row.clone() };
    (row.state == OperationState::Waiting).then(|| Change::update(row, &begun))
}

/// The agent is done, or has given up. Every open Operation about the same that was there when it looked is over with it.
///
/// The original lets a second one take the first one's place, and whoever waits for the first waits for ever.
pub fn finish(
    rows: &[Operation],
    of: &Operation,
    looked_at: Moment,
    result: Result<(), &str>,
    now: Moment,
) -> Vec<Change> {
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
        Change::update(row, &after)
    };
    over.map(done).collect()
}

/// Makes rows and objects agree: an object rings for each row that is open, none for a row that is gone, and what is over for long goes.
///
/// An object in a namespace that its row does not name is left alone, as the original leaves it.
pub fn tidy(rows: &[Operation], objects: &[kinds::Operation], instances: &[EngineInstance], now: Moment) -> Decision {
    let places: BTreeMap<&EngineInstanceId, &str> =
        instances.iter().map(|instance| (&instance.id, instance.namespace.as_str())).collect();
    let namespaces: BTreeSet<&str> = places.values().copied().collect();
    let mut decision = Decision::default();
    let rings = |id: &OperationId, namespace: &str| {
        objects.iter().any(|o| o.spec.operation_id == id.as_str() && o.metadata.namespace == namespace)
    };
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    for row in rows {
        if is_open(row) {
            kept.insert(row.id.as_str());
            let namespace = places.get(&row.instance).filter(|namespace| !rings(&row.id, namespace));
            decision.writes.extend(namespace.map(|n| Write::Create(kinds::operation::object(&row.id, n, false))));
        } else if now.since_ms(row.last_state_update) > keep_ms(row) {
            decision.changes.push(Change::delete(row));
        } else {
            kept.insert(row.id.as_str());
            let left = keep_ms(row) - now.since_ms(row.last_state_update);
            decision.again_in(u64::try_from(left).unwrap_or_default() + 1);
        }
    }
    // What is over rings no longer; what was never a row of ours rang by mistake.
    let open: BTreeSet<&str> = rows.iter().filter(|row| is_open(row)).map(|row| row.id.as_str()).collect();
    for object in objects {
        let meta = &object.metadata;
        if namespaces.contains(meta.namespace.as_str()) && !open.contains(object.spec.operation_id.as_str()) {
            decision.writes.push(Write::Delete(target(&meta.namespace, &meta.name)));
        }
    }
    decision
}

fn keep_ms(row: &Operation) -> i64 {
    match (row.gc_expiration_s, row.state) {
        (Some(seconds), _) if seconds > 0 => seconds.saturating_mul(1000),
        (_, OperationState::Failed) => KEEP_FAILED_MS,
        _ => KEEP_COMPLETED_MS,
    }
}

fn target(namespace: &str, name: &str) -> Target {
    Target {
        api_version: kinds::API_VERSION,
        kind: kinds::operation::KIND,
        namespace: namespace.to_string(),
        name: name.to_string(),
    }
}
