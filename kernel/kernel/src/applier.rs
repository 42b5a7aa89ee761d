//! Sends writes to clusters, in the order set by the arbiter.
//!
//! # Guarantees
//! - A write whose response was lost takes effect once. // test: guarantees_a_lost_response_has_one_effect
//! - After a failed or stale write, the rest of the run is not written. // test: guarantees_nothing_is_written_after_a_failure
//! - A dry run writes nothing. // test: guarantees_a_dry_run_writes_nothing
//! - A rejected Event does not stop other writes. // test: guarantees_a_rejected_event_stops_nothing

mod dry_run;
mod kube_writer;
mod lost_response;
mod request;

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::decision::{Write, WriteResult};
use crate::operator::ServiceAccount;
use crate::plan::{Preconditions, WriteOp};
use crate::resource::ObjectKey;
use crate::validation::validate;
use crate::view::Reader;

pub use kube_writer::KubeWriter;
pub use request::{PreparedRequest, prepare};

use lost_response::resolve;

/// Maximum number of retries after a lost response or a 429.
pub const MAX_RESENDS: u32 = 4;
/// Delay before the first retry; doubled with each further one.
pub const RESEND_WAIT: Duration = Duration::from_millis(200);
/// Upper bound for a server's `Retry-After`; beyond it the unit's own backoff applies.
pub const MAX_RESEND_WAIT: Duration = Duration::from_secs(10);

/// Write request for one cluster.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    /// Write to send.
    pub write: Write,
    /// Service account to impersonate; the kernel's own identity when absent.
    pub user: Option<ServiceAccount>,
    /// Field manager.
    pub manager: String,
    /// Whether the server only simulates the write.
    pub dry_run: bool,
}

/// Response of a server to a write.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteResponse {
    /// The write was made.
    Done {
        /// Object after the write; absent when it is deleted.
        after: Option<Value>,
        /// Revision after the write; 0 when the object is deleted.
        revision: u64,
    },
    /// The object already has the wanted state. Returned by writers that check for it, such as one that resumes
    /// another's run.
    AlreadyPresent {
        /// Object as it is on the cluster.
        object: Value,
    },
    /// The server rejected the write.
    Refused {
        /// HTTP status code.
        code: u16,
        /// Reason of the `Status`, such as `AlreadyExists`.
        reason: String,
        /// Message for users.
        message: String,
        /// Value of the `Retry-After` header, if any.
        retry_after: Option<Duration>,
    },
    /// The response was lost: the write may or may not have been made.
    Unknown {
        /// Message for users.
        message: String,
    },
}

/// Client that sends writes to clusters.
pub trait Writer: Send + Sync {
    /// Sends one write, once.
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, WriteResponse>;

    /// Reads the object as it is now. The error is a message for users.
    fn get<'a>(&'a self, key: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>>;

    /// Waits for the given time.
    fn wait(&self, time: Duration) -> BoxFuture<'_, ()>;
}

/// Write after its execution, whether or not it succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutedWrite {
    /// Write with its result.
    pub write: Write,
    /// Object before the write.
    pub before: Option<Value>,
    /// Object after the write; absent when it is deleted or nothing was written.
    pub after: Option<Value>,
    /// Reason why the server did not simulate a dry-run write, so that `after` is only estimated.
    pub unchecked: Option<String>,
}

/// Executes writes one after the other, and stops at the first failure.
pub async fn execute(
    writer: &dyn Writer,
    writes: Vec<Write>,
    user: Option<&ServiceAccount>,
    manager: &str,
    dry_run: bool,
) -> Vec<ExecutedWrite> {
    execute_with_reader(None, writer, writes, user, manager, dry_run).await
}

/// Executes writes that were decided on the reader's objects, as [`execute`] does. An object whose write is bound to
/// the revision in `reader` is not fetched again, nor is an object to apply that does not exist there.
pub async fn execute_with_reader(
    reader: Option<&dyn Reader>,
    writer: &dyn Writer,
    writes: Vec<Write>,
    user: Option<&ServiceAccount>,
    manager: &str,
    dry_run: bool,
) -> Vec<ExecutedWrite> {
    let mut executed: Vec<ExecutedWrite> = Vec::new();
    let mut stopped = false;
    for mut write in writes {
        if stopped || write.result != WriteResult::Skipped {
            executed.push(ExecutedWrite { write, before: None, after: None, unchecked: None });
            continue;
        }
        // The arbiter checks this too, but some writes come from elsewhere.
        if let Err(invalid) = validate(&write) {
            stopped = true;
            write.result = WriteResult::Failed { message: invalid.to_string() };
            executed.push(ExecutedWrite { write, before: None, after: None, unchecked: None });
            continue;
        }
        follow_up(&mut write, &executed);
        if dry_run && let Some(simulated) = dry_run::simulate(&write, &executed) {
            executed.push(simulated);
            continue;
        }
        let known = known_object(&write, &executed)
            .or_else(|| absent_object(&write, &executed, reader?))
            .or_else(|| cached_object(&write, &executed, reader?).map(Some));
        let before = match known.filter(|_| !dry_run) {
            Some(known) => Ok(known),
            None => writer.get(&write.object).await,
        };
        let manager = write.mutation.field_manager.clone().unwrap_or_else(|| manager.to_string());
        let user = write.mutation.user.as_ref().or(user).cloned();
        let request = WriteRequest { write, user, manager, dry_run };
        let SendResult { result, after, unchecked } = match &before {
            Ok(before) => send_with_retries(writer, &request, before.as_ref()).await,
            Err(message) => (WriteResult::Failed { message: message.clone() }, None).into(),
        };
        stopped = matches!(result, WriteResult::Failed { .. } | WriteResult::Stale { .. });
        let write = Write { result, ..request.write };
        executed.push(ExecutedWrite { write, before: before.ok().flatten(), after, unchecked });
    }
    executed
}

/// Returns the object before a write, if it is known without a request.
fn known_object(write: &Write, executed: &[ExecutedWrite]) -> Option<Option<Value>> {
    // An object to create does not exist yet, and the previous state of an Event does not matter.
    if matches!(write.mutation.operation, WriteOp::Create(_)) || write.mutation.resource.kind == "Event" {
        return Some(None);
    }
    // The server checks the revision, so the object is as this run left it.
    let guarded = matches!(write.mutation.operation, WriteOp::Update(_))
        || matches!(write.mutation.preconditions, Preconditions::Exact { .. });
    let last = executed.iter().rev().find(|one| one.write.object == write.object).filter(|_| guarded)?;
    let written = matches!(last.write.result, WriteResult::Written { .. });
    last.after.clone().filter(|_| written).map(Some)
}

/// Returns `Some(None)` if an object to apply does not exist in the cache: most applies of a first deployment. If another
/// writer has created it since, the apply has the same result, and only the record lacks the object before.
fn absent_object(write: &Write, executed: &[ExecutedWrite], reader: &dyn Reader) -> Option<Option<Value>> {
    let apply = matches!(write.mutation.operation, WriteOp::Apply { .. });
    let untouched = executed.iter().all(|one| one.write.object != write.object);
    (apply && untouched && reader.get(&write.object)?.is_none()).then_some(None)
}

/// Returns the cached object if the server makes the write to that revision or not at all. It has no `managedFields`
/// unless an operator reads them.
fn cached_object(write: &Write, executed: &[ExecutedWrite], reader: &dyn Reader) -> Option<Value> {
    let revision = match (&write.mutation.preconditions, &write.mutation.operation) {
        (_, WriteOp::Create(_) | WriteOp::Apply { .. }) => return None,
        (Preconditions::Exact { revision, .. }, _) => *revision,
        (_, WriteOp::Update(body)) => revision_of(Some(body))?,
        _ => return None,
    };
    let untouched = executed.iter().all(|one| one.write.object != write.object);
    let object = reader.get(&write.object).flatten().filter(|object| untouched && object.revision == revision)?;
    Some(object.full_value())
}

/// Updates a write's preconditions to what an earlier write of the same run left behind.
fn follow_up(write: &mut Write, executed: &[ExecutedWrite]) {
    let of_it = |one: &&ExecutedWrite| one.write.object == write.object;
    let written = |one: &ExecutedWrite| match one.write.result {
        WriteResult::Written { revision } => Some((revision, one.after.clone())),
        _ => None,
    };
    let Some((now, after)) = executed.iter().rev().filter(of_it).find_map(written) else { return };
    if let Preconditions::Exact { uid, revision } = &mut write.mutation.preconditions {
        *revision = now;
        // The earlier write may have deleted and recreated the object.
        if let Some(made) = after.as_ref().and_then(|after| after.pointer("/metadata/uid")?.as_str()) {
            *uid = made.to_string();
        }
    }
    if let WriteOp::Update(body) = &mut write.mutation.operation {
        request::set_metadata(body, "resourceVersion", now.to_string());
    }
}

/// Outcome of sending one write.
struct SendResult {
    result: WriteResult,
    after: Option<Value>,
    unchecked: Option<String>,
}

impl From<(WriteResult, Option<Value>)> for SendResult {
    fn from((result, after): (WriteResult, Option<Value>)) -> Self {
        Self { result, after, unchecked: None }
    }
}

async fn send_with_retries(writer: &dyn Writer, request: &WriteRequest, before: Option<&Value>) -> SendResult {
    let mut lost: Option<String> = None;
    for round in 0..=MAX_RESENDS {
        let wait = match writer.send(request).await {
            WriteResponse::Done { after, revision } => {
                let after = object_after(writer, request, before, after).await;
                let revision = if after.is_some() { revision } else { 0 };
                return (done_result(request, before, after.as_ref(), revision), after).into();
            }
            WriteResponse::AlreadyPresent { object } => return (WriteResult::Unchanged, Some(object)).into(),
            WriteResponse::Refused { code: 429, retry_after, .. } => retry_after,
            // With read-only access, the result is estimated.
            WriteResponse::Refused { code: 403, message, .. } if request.dry_run => {
                return dry_run::estimate(request, before, message);
            }
            WriteResponse::Refused { code, reason, message, .. } => {
                if lost.is_some()
                    && let Some(found) = resolve(writer, request, before).await
                {
                    return found.into();
                }
                return (refused_result(request, code, &reason, message), None).into();
            }
            WriteResponse::Unknown { message } => {
                if !is_idempotent(request) {
                    return resolve(writer, request, before)
                        .await
                        .unwrap_or((WriteResult::Stale { message: format!("the response was lost: {message}") }, None))
                        .into();
                }
                lost = Some(message);
                None
            }
        };
        if round < MAX_RESENDS {
            let doubled = RESEND_WAIT * 2u32.pow(round);
            writer.wait(wait.unwrap_or(doubled).min(MAX_RESEND_WAIT)).await;
        }
    }
    if lost.is_some()
        && let Some(found) = resolve(writer, request, before).await
    {
        return found.into();
    }
    let message = lost.unwrap_or_else(|| "the server keeps returning 429".to_string());
    (WriteResult::Failed { message }, None).into()
}

/// Returns the object after a write, which is not always the response body: a subresource request returns only the
/// subresource, and a deletion of some kinds returns the deleted object.
async fn object_after(
    writer: &dyn Writer,
    request: &WriteRequest,
    before: Option<&Value>,
    decided: Option<Value>,
) -> Option<Value> {
    match (&request.write.mutation.operation, decided) {
        (WriteOp::Delete { .. }, decided) => decided.filter(is_terminating),
        (operation, None) if request.dry_run => before.map(|before| dry_run::scaled(before, operation)),
        (_, None) => writer.get(&request.write.object).await.ok().flatten(),
        (_, decided) => decided,
    }
}

/// Whether a deleted object still exists because of finalizers or a grace period.
fn is_terminating(object: &Value) -> bool {
    let some = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).is_some_and(|items| !items.is_empty());
    let grace = object.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_u64).unwrap_or_default();
    object.pointer("/metadata/deletionTimestamp").is_some()
        && (some("/metadata/finalizers") || some("/spec/finalizers") || grace > 0)
}

/// Whether sending the write twice has the same effect as sending it once.
fn is_idempotent(request: &WriteRequest) -> bool {
    match (&request.write.mutation.operation, &request.write.mutation.preconditions) {
        // An update carries the revision it was read at, an apply states the wanted fields, and a create has its name.
        (WriteOp::Create(_) | WriteOp::Update(_) | WriteOp::Apply { .. }, _) => true,
        (WriteOp::Patch { .. } | WriteOp::Delete { .. }, Preconditions::Exact { .. }) => true,
        // A second delete could hit a recreated object; a second patch could append twice.
        (WriteOp::Patch { .. } | WriteOp::Delete { .. }, Preconditions::AsRead | Preconditions::Unconditional) => false,
    }
}

fn revision_of(object: Option<&Value>) -> Option<u64> {
    object?.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

fn done_result(request: &WriteRequest, before: Option<&Value>, after: Option<&Value>, revision: u64) -> WriteResult {
    let delete = matches!(request.write.mutation.operation, WriteOp::Delete { .. });
    if request.dry_run {
        let same = !delete && before.is_some() && after.is_some_and(|after| is_same(before, after));
        return if same { WriteResult::Unchanged } else { WriteResult::DryRun };
    }
    if !delete && before.is_some() && revision_of(before) == Some(revision) {
        return WriteResult::Unchanged;
    }
    WriteResult::Written { revision }
}

/// Compares two objects without their bookkeeping metadata: a dry run does not change the revision.
fn is_same(before: Option<&Value>, after: &Value) -> bool {
    let bare = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            ["managedFields", "resourceVersion", "generation"].iter().for_each(|name| drop(metadata.remove(*name)));
        }
        object
    };
    before.is_some_and(|before| bare(before) == bare(after))
}

fn refused_result(request: &WriteRequest, code: u16, reason: &str, message: String) -> WriteResult {
    match (code, reason, &request.write.mutation.operation) {
        // In a namespace that is deleted or terminating no Event can be written; the other writes do not depend on it.
        (400 | 403 | 404 | 422, ..) if request.write.mutation.resource.kind == "Event" => {
            WriteResult::EventRejected { message }
        }
        // An Event's name is derived from its content and time, so this Event was already written.
        (409, "AlreadyExists", WriteOp::Create(_)) if request.write.mutation.resource.kind == "Event" => {
            WriteResult::Unchanged
        }
        (404, _, WriteOp::Delete { .. }) => WriteResult::Unchanged,
        // Deciding again does not resolve a field manager conflict; that takes a user or `forced`.
        (409, "Conflict", WriteOp::Apply { .. }) => WriteResult::Failed { message },
        // The namespace or the kind is missing, and the unit may not even have read it.
        (404, _, WriteOp::Create(_) | WriteOp::Apply { .. }) => WriteResult::Failed { message },
        (409 | 404 | 410, ..) => WriteResult::Stale { message },
        _ => WriteResult::Failed { message },
    }
}

#[cfg(test)]
mod tests;
