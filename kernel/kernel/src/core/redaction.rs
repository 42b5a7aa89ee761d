//! Redaction of messages from operators and API servers.

use crate::applier::ExecutedWrite;
use crate::decision::WriteResult;
use crate::operator::DecideError;
use crate::plan::{Plan, UnitStatus, WriteOp};
use crate::redact::{Redactor, redact_message};
use crate::resource::{ObjectKey, TableKey};
use crate::view::{Reader, Reads};

/// Redacts the status or error of a plan, which users see: values of the Secrets that were read, and text that looks
/// like a secret.
pub(super) fn redact_plan(
    plan: Result<Plan, DecideError>,
    reads: &Reads,
    reader: &dyn Reader,
) -> Result<Plan, DecideError> {
    if matches!(&plan, Ok(Plan { status: UnitStatus::Ready, .. }) | Err(DecideError::NotCached(_))) {
        return plan;
    }
    let secrets = redactor_for_reads(reads, reader);
    let clean = |words: &str| redact_message(&secrets.redact(words));
    match plan {
        Ok(plan) => Ok(Plan { status: plan.status.map_message(&clean), ..plan }),
        Err(DecideError::Failed(message)) => Err(DecideError::Failed(clean(&message))),
        parked => parked,
    }
}

/// Redacts error messages of API servers, which quote rejected values.
pub(super) fn redact_messages(executed: &mut [ExecutedWrite], reads: &Reads, reader: &dyn Reader) {
    if !executed.iter_mut().any(|one| message_mut(&mut one.write.result).is_some()) {
        return;
    }
    let mut secrets = redactor_for_reads(reads, reader);
    for one in executed.iter() {
        if let WriteOp::Create(body)
        | WriteOp::Update(body)
        | WriteOp::Apply { body, .. }
        | WriteOp::Patch { body, .. } = &one.write.mutation.operation
        {
            secrets.add_of_kind(&one.write.mutation.resource.kind, body);
        }
    }
    for message in executed.iter_mut().filter_map(|one| message_mut(&mut one.write.result)) {
        *message = redact_message(&secrets.redact(message));
    }
}

/// Returns the API server's message of a result.
fn message_mut(result: &mut WriteResult) -> Option<&mut String> {
    match result {
        WriteResult::Failed { message } | WriteResult::EventRejected { message } | WriteResult::Stale { message } => {
            Some(message)
        }
        _ => None,
    }
}

fn redactor_for_reads(reads: &Reads, reader: &dyn Reader) -> Redactor {
    let lists = reads.lists.iter().filter(|(query, _)| is_secret(&query.table)).flat_map(|(query, listed)| {
        listed.iter().map(|one| ObjectKey {
            table: query.table.clone(),
            namespace: one.namespace.clone(),
            name: one.name.clone(),
        })
    });
    redactor_for_objects(reads.gets.keys().cloned().chain(lists), reader)
}

/// Returns a redactor for the values of those objects that are Secrets.
pub(crate) fn redactor_for_objects(keys: impl IntoIterator<Item = ObjectKey>, reader: &dyn Reader) -> Redactor {
    let mut secrets = Redactor::default();
    for key in keys.into_iter().filter(|key| is_secret(&key.table)) {
        if let Some(object) = reader.get(&key).flatten() {
            // List items have no kind.
            secrets.add_of_kind("Secret", &object.value());
        }
    }
    secrets
}

fn is_secret(table: &TableKey) -> bool {
    table.resource.group.is_empty() && table.resource.kind == "Secret"
}
