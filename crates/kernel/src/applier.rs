//! Carries writes out, in the order the arbiter gave them.
//!
//! # Guarantees
//! - A write whose answer was lost has its effect once. // test: guarantees_a_lost_answer_is_no_second_effect
//! - After a write that failed or came too late, nothing more of the run is written. // test: guarantees_nothing_is_written_after_a_failure
//! - A dry run writes nothing. // test: guarantees_a_dry_run_writes_nothing

mod kube_writer;
mod request;

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use switchboard_object::equality;

use crate::decision::{Write, WriteResult};
use crate::operator::ServiceAccount;
use crate::plan::{Act, Expect};
use crate::resource::ObjectKey;

pub use kube_writer::KubeWriter;
pub use request::{Prepared, prepare};

/// How often a write is sent again after an answer that was lost or put off.
pub const MAX_RESENDS: u32 = 4;
/// The wait before it is sent again the first time; doubled each time.
pub const RESEND_WAIT: Duration = Duration::from_millis(200);
/// The longest wait that a server may ask for; beyond it the unit tries again by itself.
pub const MAX_RESEND_WAIT: Duration = Duration::from_secs(10);

/// A write as it is sent.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    /// What.
    pub write: Write,
    /// As whom; as the kernel itself when absent.
    pub user: Option<ServiceAccount>,
    /// The field manager.
    pub manager: String,
    /// Only pretend.
    pub dry_run: bool,
}

/// What a server said to a write.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It was done.
    Done {
        /// The object as it is now; absent when it is gone.
        after: Option<Value>,
        /// The revision it has now; 0 when it is gone.
        revision: u64,
    },
    /// It was not done.
    Refused {
        /// The HTTP status.
        code: u16,
        /// Kubernetes' reason, such as `AlreadyExists`.
        reason: String,
        /// For people.
        message: String,
        /// When to come again, if the server says so.
        retry_after: Option<Duration>,
    },
    /// The answer was lost: it may have been done or not.
    Unknown {
        /// For people.
        message: String,
    },
}

/// Sends writes to clusters.
pub trait Writer: Send + Sync {
    /// Sends one write, once.
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, Answer>;

    /// The object as it is now. The error is for people.
    fn get<'a>(&'a self, key: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>>;

    /// Lets time pass.
    fn wait(&self, time: Duration) -> BoxFuture<'_, ()>;
}

/// A write that was carried out, or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// With its result.
    pub write: Write,
    /// The object before it.
    pub before: Option<Value>,
    /// The object after it; absent when it is gone or nothing was written.
    pub after: Option<Value>,
}

/// Carries writes out one after the other, and stops at the first that cannot be.
pub async fn carry_out(
    writer: &dyn Writer,
    writes: Vec<Write>,
    user: Option<&ServiceAccount>,
    manager: &str,
    dry_run: bool,
) -> Vec<Carried> {
    let mut carried: Vec<Carried> = Vec::new();
    let mut stopped = false;
    for mut write in writes {
        if stopped || write.result != WriteResult::Skipped {
            carried.push(Carried { write, before: None, after: None });
            continue;
        }
        follow_up(&mut write, &carried);
        let before = writer.get(&write.object).await;
        let manager = write.mutation.field_manager.clone().unwrap_or_else(|| manager.to_string());
        let request = WriteRequest { write, user: user.cloned(), manager, dry_run };
        let (result, after) = match &before {
            Ok(before) => one(writer, &request, before.as_ref()).await,
            Err(message) => (WriteResult::Failed { message: message.clone() }, None),
        };
        stopped = matches!(result, WriteResult::Failed { .. } | WriteResult::Stale { .. });
        carried.push(Carried { write: Write { result, ..request.write }, before: before.ok().flatten(), after });
    }
    carried
}

/// What a run wrote to an object a moment ago is what its next write to it expects.
fn follow_up(write: &mut Write, carried: &[Carried]) {
    let earlier = carried.iter().rev().find(|one| one.write.object == write.object);
    let Some(Carried { write: Write { result: WriteResult::Written { revision }, .. }, .. }) = earlier else { return };
    if let Expect::Exactly { revision: expected, .. } = &mut write.mutation.expect {
        *expected = *revision;
    }
    if let Act::Update(body) = &mut write.mutation.act {
        body["metadata"]["resourceVersion"] = revision.to_string().into();
    }
}

async fn one(writer: &dyn Writer, request: &WriteRequest, before: Option<&Value>) -> (WriteResult, Option<Value>) {
    let mut lost: Option<String> = None;
    for round in 0..=MAX_RESENDS {
        let wait = match writer.send(request).await {
            Answer::Done { after, revision } => return (done(request, before, after.as_ref(), revision), after),
            Answer::Refused { code: 429, retry_after, .. } => retry_after,
            Answer::Refused { code, reason, message, .. } => {
                if lost.is_some()
                    && let Some(found) = after_loss(writer, request, before).await
                {
                    return found;
                }
                return (refused(request, code, &reason, message), None);
            }
            Answer::Unknown { message } => {
                if !may_be_sent_again(request) {
                    return after_loss(writer, request, before)
                        .await
                        .unwrap_or((WriteResult::Stale { message: format!("the answer was lost: {message}") }, None));
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
    if let Some(found) = after_loss(writer, request, before).await {
        return found;
    }
    let message = lost.unwrap_or_else(|| "the server asks to come again later".to_string());
    (WriteResult::Failed { message }, None)
}

/// Whether sending it a second time cannot do more than sending it once.
fn may_be_sent_again(request: &WriteRequest) -> bool {
    match (&request.write.mutation.act, &request.write.mutation.expect) {
        // An update carries the revision it was read at; an apply says how it shall be; a create has its name.
        (Act::Create(_) | Act::Update(_) | Act::Apply { .. }, _) => true,
        (Act::Patch { .. } | Act::Delete { .. }, Expect::Exactly { .. }) => true,
        // A second delete could hit an object that somebody made anew; a second patch could append twice.
        (Act::Patch { .. } | Act::Delete { .. }, Expect::Seen | Expect::Anything) => false,
    }
}

/// After a lost answer and a refusal, the refusal may be the echo of our own success: looks whether it is.
async fn after_loss(
    writer: &dyn Writer,
    request: &WriteRequest,
    before: Option<&Value>,
) -> Option<(WriteResult, Option<Value>)> {
    if request.dry_run {
        return None;
    }
    let now = writer.get(&request.write.object).await.ok()?;
    let changed = revision_of(now.as_ref()) != revision_of(before);
    let ours = match (&request.write.mutation.act, &now) {
        (Act::Delete { .. }, now) => {
            let uid = |object: Option<&Value>| object?.pointer("/metadata/uid")?.as_str().map(str::to_string);
            let leaving = now.as_ref().is_some_and(|now| now.pointer("/metadata/deletionTimestamp").is_some());
            before.is_some() && (uid(now.as_ref()) != uid(before) || leaving)
        }
        (Act::Create(body), Some(now)) => before.is_none() && contains(now, body),
        (Act::Update(body) | Act::Apply { body, .. }, Some(now)) => changed && contains(now, body),
        // What a patch makes of an object is only known to the server; its mark is who wrote last.
        (Act::Patch { .. }, Some(now)) => changed && last_manager(now) == Some(request.manager.as_str()),
        (_, None) => false,
    };
    let revision = revision_of(now.as_ref()).unwrap_or_default();
    ours.then_some((WriteResult::Written { revision }, now))
}

/// Whether everything that was sent is there, whatever the server added. Revision and managers are the server's.
fn contains(object: &Value, sent: &Value) -> bool {
    match (object, sent) {
        (Value::Object(object), Value::Object(sent)) => sent.iter().all(|(name, value)| {
            let servers = matches!(name.as_str(), "resourceVersion" | "managedFields" | "generation" | "status");
            servers || value.is_null() || object.get(name).is_some_and(|found| contains(found, value))
        }),
        (Value::Array(object), Value::Array(sent)) => {
            object.len() == sent.len() && object.iter().zip(sent).all(|(found, value)| contains(found, value))
        }
        (object, sent) => equality::equal(object, sent),
    }
}

fn last_manager(object: &Value) -> Option<&str> {
    let managers = object.pointer("/metadata/managedFields")?.as_array()?;
    let newest = managers.iter().max_by_key(|manager| manager["time"].as_str().unwrap_or_default())?;
    newest["manager"].as_str()
}

fn revision_of(object: Option<&Value>) -> Option<u64> {
    object?.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

fn done(request: &WriteRequest, before: Option<&Value>, after: Option<&Value>, revision: u64) -> WriteResult {
    let delete = matches!(request.write.mutation.act, Act::Delete { .. });
    if request.dry_run {
        let same = !delete && before.is_some() && after.is_some_and(|after| is_same(before, after));
        return if same { WriteResult::Unchanged } else { WriteResult::Pretended };
    }
    if !delete && before.is_some() && revision_of(before) == Some(revision) {
        return WriteResult::Unchanged;
    }
    WriteResult::Written { revision }
}

/// A pretended write moves no revision, so the objects themselves are compared, without who wrote what when.
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

fn refused(request: &WriteRequest, code: u16, reason: &str, message: String) -> WriteResult {
    let delete = matches!(request.write.mutation.act, Act::Delete { .. });
    let apply = matches!(request.write.mutation.act, Act::Apply { .. });
    match (code, reason) {
        (404, _) if delete => WriteResult::Unchanged,
        // Deciding again does not resolve a conflict of field managers; a person or `forced` does.
        (409, "Conflict") if apply => WriteResult::Failed { message },
        (409 | 404 | 410, _) => WriteResult::Stale { message },
        _ => WriteResult::Failed { message },
    }
}

#[cfg(test)]
mod tests;
