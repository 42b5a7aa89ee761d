//! Carries writes out, in the order the arbiter gave them.
//!
//! # Guarantees
//! - A write whose answer was lost has its effect once. // test: guarantees_a_lost_answer_is_no_second_effect
//! - After a write that failed or came too late, nothing more of the run is written. // test: guarantees_nothing_is_written_after_a_failure
//! - A dry run writes nothing. // test: guarantees_a_dry_run_writes_nothing
//! - An Event that cannot be made keeps nothing from being written. // test: guarantees_an_event_that_is_refused_stops_nothing

mod kube_writer;
mod loss;
mod pretence;
mod request;

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::decision::{Write, WriteResult};
use crate::fit::fit;
use crate::operator::ServiceAccount;
use crate::plan::{Act, Expect};
use crate::resource::ObjectKey;
use crate::view::Picture;

pub use kube_writer::KubeWriter;
pub use request::{Prepared, prepare};

use loss::after_loss;

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
    /// There was nothing to do: by a writer that looks for it, as for a run that goes on with another.
    There {
        /// The object, as it was wanted.
        object: Value,
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
    /// Why the server was not asked what it would make of a pretended write: `after` is our own guess.
    pub unchecked: Option<String>,
}

/// Carries writes out one after the other, and stops at the first that cannot be.
pub async fn carry_out(
    writer: &dyn Writer,
    writes: Vec<Write>,
    user: Option<&ServiceAccount>,
    manager: &str,
    dry_run: bool,
) -> Vec<Carried> {
    carry_out_upon(None, writer, writes, user, manager, dry_run).await
}

/// The same for writes that were decided on a picture. An object whose write is bound to the revision that the picture holds
/// is not asked for again.
pub async fn carry_out_upon(
    picture: Option<&dyn Picture>,
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
            carried.push(Carried { write, before: None, after: None, unchecked: None });
            continue;
        }
        // The arbiter refuses it too, but not every write comes from there.
        if let Err(unfit) = fit(&write) {
            stopped = true;
            write.result = WriteResult::Failed { message: unfit.to_string() };
            carried.push(Carried { write, before: None, after: None, unchecked: None });
            continue;
        }
        follow_up(&mut write, &carried);
        if dry_run && let Some(pretended) = pretence::upon(&write, &carried) {
            carried.push(pretended);
            continue;
        }
        let known = known(&write, &carried).or_else(|| seen(&write, &carried, picture?).map(Some));
        let before = match known.filter(|_| !dry_run) {
            Some(known) => Ok(known),
            None => writer.get(&write.object).await,
        };
        let manager = write.mutation.field_manager.clone().unwrap_or_else(|| manager.to_string());
        let user = write.mutation.user.as_ref().or(user).cloned();
        let request = WriteRequest { write, user, manager, dry_run };
        let Sent { result, after, unchecked } = match &before {
            Ok(before) => one(writer, &request, before.as_ref()).await,
            Err(message) => (WriteResult::Failed { message: message.clone() }, None).into(),
        };
        stopped = matches!(result, WriteResult::Failed { .. } | WriteResult::Stale { .. });
        let write = Write { result, ..request.write };
        carried.push(Carried { write, before: before.ok().flatten(), after, unchecked });
    }
    carried
}

/// The object before a write, where the server need not be asked for it.
fn known(write: &Write, carried: &[Carried]) -> Option<Option<Value>> {
    // What can be created is not there, and nobody asks what an Event said before.
    if matches!(write.mutation.act, Act::Create(_)) || write.mutation.resource.kind == "Event" {
        return Some(None);
    }
    // What this run left behind is still there when the write is done: the server sees to it.
    let guarded =
        matches!(write.mutation.act, Act::Update(_)) || matches!(write.mutation.expect, Expect::Exactly { .. });
    let last = carried.iter().rev().find(|one| one.write.object == write.object).filter(|_| guarded)?;
    let written = matches!(last.write.result, WriteResult::Written { .. });
    last.after.clone().filter(|_| written).map(Some)
}

/// The object that was read, when the server makes the write to that one or not at all. It has no `managedFields` unless
/// somebody asked for them.
fn seen(write: &Write, carried: &[Carried], picture: &dyn Picture) -> Option<Value> {
    let revision = match (&write.mutation.expect, &write.mutation.act) {
        (_, Act::Create(_) | Act::Apply { .. }) => return None,
        (Expect::Exactly { revision, .. }, _) => *revision,
        (_, Act::Update(body)) => revision_of(Some(body))?,
        _ => return None,
    };
    let untouched = carried.iter().all(|one| one.write.object != write.object);
    let object = picture.get(&write.object).flatten().filter(|object| untouched && object.revision == revision)?;
    Some(object.whole())
}

/// What a run wrote to an object a moment ago is what its next write to it expects.
fn follow_up(write: &mut Write, carried: &[Carried]) {
    let of_it = |one: &&Carried| one.write.object == write.object;
    let written = |one: &Carried| match one.write.result {
        WriteResult::Written { revision } => Some((revision, one.after.clone())),
        _ => None,
    };
    let Some((now, after)) = carried.iter().rev().filter(of_it).find_map(written) else { return };
    if let Expect::Exactly { uid, revision } = &mut write.mutation.expect {
        *revision = now;
        // It may have been deleted and made anew.
        if let Some(made) = after.as_ref().and_then(|after| after.pointer("/metadata/uid")?.as_str()) {
            *uid = made.to_string();
        }
    }
    if let Act::Update(body) = &mut write.mutation.act {
        request::set_metadata(body, "resourceVersion", now.to_string());
    }
}

/// What came of sending a write.
struct Sent {
    result: WriteResult,
    after: Option<Value>,
    unchecked: Option<String>,
}

impl From<(WriteResult, Option<Value>)> for Sent {
    fn from((result, after): (WriteResult, Option<Value>)) -> Self {
        Self { result, after, unchecked: None }
    }
}

async fn one(writer: &dyn Writer, request: &WriteRequest, before: Option<&Value>) -> Sent {
    let mut lost: Option<String> = None;
    for round in 0..=MAX_RESENDS {
        let wait = match writer.send(request).await {
            Answer::Done { after, revision } => {
                let after = left_behind(writer, request, before, after).await;
                let revision = if after.is_some() { revision } else { 0 };
                return (done(request, before, after.as_ref(), revision), after).into();
            }
            Answer::There { object } => return (WriteResult::Unchanged, Some(object)).into(),
            Answer::Refused { code: 429, retry_after, .. } => retry_after,
            // Who may only read is told what would be written all the same.
            Answer::Refused { code: 403, message, .. } if request.dry_run => {
                return pretence::guessed(request, before, message);
            }
            Answer::Refused { code, reason, message, .. } => {
                if lost.is_some()
                    && let Some(found) = after_loss(writer, request, before).await
                {
                    return found.into();
                }
                return (refused(request, code, &reason, message), None).into();
            }
            Answer::Unknown { message } => {
                if !may_be_sent_again(request) {
                    return after_loss(writer, request, before)
                        .await
                        .unwrap_or((WriteResult::Stale { message: format!("the answer was lost: {message}") }, None))
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
        && let Some(found) = after_loss(writer, request, before).await
    {
        return found.into();
    }
    let message = lost.unwrap_or_else(|| "the server asks to come again later".to_string());
    (WriteResult::Failed { message }, None).into()
}

/// The object that a write left behind, which is not always what was answered: a subresource is answered by itself, and
/// some kinds are answered with the object that is gone.
async fn left_behind(
    writer: &dyn Writer,
    request: &WriteRequest,
    before: Option<&Value>,
    answered: Option<Value>,
) -> Option<Value> {
    match (&request.write.mutation.act, answered) {
        (Act::Delete { .. }, answered) => answered.filter(stays),
        (act, None) if request.dry_run => before.map(|before| pretence::scaled(before, act)),
        (_, None) => writer.get(&request.write.object).await.ok().flatten(),
        (_, answered) => answered,
    }
}

/// Whether an object that was deleted is still there for a while.
fn stays(object: &Value) -> bool {
    let some = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).is_some_and(|items| !items.is_empty());
    let grace = object.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_u64).unwrap_or_default();
    object.pointer("/metadata/deletionTimestamp").is_some()
        && (some("/metadata/finalizers") || some("/spec/finalizers") || grace > 0)
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
    match (code, reason, &request.write.mutation.act) {
        // Where a namespace goes or is gone nobody can be told anything; what else is to be done there does not wait for it.
        (400 | 403 | 404 | 422, ..) if request.write.mutation.resource.kind == "Event" => {
            WriteResult::Unheard { message }
        }
        // Its name is of what happened and when: it was told already.
        (409, "AlreadyExists", Act::Create(_)) if request.write.mutation.resource.kind == "Event" => {
            WriteResult::Unchanged
        }
        (404, _, Act::Delete { .. }) => WriteResult::Unchanged,
        // Deciding again does not resolve a conflict of field managers; a person or `forced` does.
        (409, "Conflict", Act::Apply { .. }) => WriteResult::Failed { message },
        // What is not there is the namespace or the kind, and the unit may not even have looked at it.
        (404, _, Act::Create(_) | Act::Apply { .. }) => WriteResult::Failed { message },
        (409 | 404 | 410, ..) => WriteResult::Stale { message },
        _ => WriteResult::Failed { message },
    }
}

#[cfg(test)]
mod tests;
