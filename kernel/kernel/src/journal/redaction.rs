//! Redaction of a decision and its reads before they are written: values of Secrets, and text that looks like a secret.

use serde_json::{Value, json};

use crate::decision::{Decision, RunOutcome, Write, WriteResult};
use crate::object::Object;
use crate::plan::{Mutation, PatchType, UnitStatus, WriteOp};
use crate::redact::{
    Redactor, into_redacted_secrets, redact_in_place, redact_message, redact_secret_mutation, redact_secrets_of_kind,
};
use crate::resource::Resource;
use crate::row::has_redacted;

use super::record::StoredObject;

pub(super) struct RedactedDecision {
    pub(super) decision: Decision,
    pub(super) objects: Vec<StoredObject>,
    /// Whether the decision itself was changed.
    pub(super) touched: bool,
}

/// Redacts a decision and its reads. `secrets` holds the values of read objects that are not in `read`.
pub(super) fn redact(decision: &Decision, read: &[Object], mut secrets: Redactor) -> RedactedDecision {
    let values: Vec<(&Object, Value)> = read.iter().map(|object| (object, object.value())).collect();
    add_all(&mut secrets, decision, &values);
    let keep = |(object, value): &(&Object, Value)| {
        let kind = if is_secret(&object.key.table.resource) { "Secret" } else { "" };
        let masked = redact_value(redact_secrets_of_kind(kind, value), &secrets);
        StoredObject {
            key: object.key.clone(),
            revision: object.revision,
            redacted: masked != *value || hides(object, value),
            value: masked,
        }
    };
    let objects = values.iter().map(keep).collect();
    let masked = redact_decision(decision, &secrets);
    RedactedDecision { touched: masked != *decision, decision: masked, objects }
}

/// Whether the object is a row whose credentials were redacted when it was read.
fn hides(object: &Object, value: &Value) -> bool {
    object.key.table.is_rows() && has_redacted(value)
}

fn is_secret(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.kind == "Secret"
}

/// Redacts known values, and text that looks like a secret.
fn redact_value(redacted: Value, secrets: &Redactor) -> Value {
    let mut shown = if secrets.is_empty() { redacted } else { secrets.redact_value(&redacted) };
    redact_in_place(&mut shown);
    shown
}

fn redact_text(text: &str, secrets: &Redactor) -> String {
    redact_message(&secrets.redact(text))
}

/// Adds the secret values that the decision read or wrote.
fn add_all(secrets: &mut Redactor, decision: &Decision, read: &[(&Object, Value)]) {
    for (object, value) in read {
        add_object(secrets, &object.key.table.resource, value);
    }
    if let RunOutcome::Decided { writes, .. } = &decision.outcome {
        for Write { mutation, .. } in writes {
            add_mutation(secrets, mutation);
        }
    }
}

fn add_object(secrets: &mut Redactor, resource: &Resource, value: &Value) {
    if is_secret(resource) {
        // Items of lists and patches have no kind.
        let parts = json!({ "apiVersion": "v1", "kind": "Secret", "type": value["type"],
            "data": value["data"], "stringData": value["stringData"] });
        secrets.add_object(&parts);
    }
}

fn add_mutation(secrets: &mut Redactor, mutation: &Mutation) {
    match &mutation.operation {
        WriteOp::Patch { patch_type: PatchType::Json, body } => {
            for operation in body.as_array().into_iter().flatten() {
                let value = &operation["value"];
                let data = if value.is_object() { value.clone() } else { json!({ "value": value }) };
                add_object(secrets, &mutation.resource, &json!({ "data": data }));
            }
        }
        WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. } | WriteOp::Patch { body, .. } => {
            add_object(secrets, &mutation.resource, body);
        }
        WriteOp::Delete { .. } => {}
    }
}

fn redact_decision(decision: &Decision, secrets: &Redactor) -> Decision {
    let mut masked = decision.clone();
    for query in &mut masked.external_queries {
        query.request = redact_value(into_redacted_secrets(std::mem::take(&mut query.request)), secrets);
        match &mut query.answer {
            Ok(value) => *value = redact_value(into_redacted_secrets(std::mem::take(value)), secrets),
            Err(message) => *message = redact_text(message, secrets),
        }
    }
    masked.settings = redact_value(into_redacted_secrets(std::mem::take(&mut masked.settings)), secrets);
    masked.rejected_writes.iter_mut().for_each(|refusal| refusal.message = redact_text(&refusal.message, secrets));
    match &mut masked.outcome {
        RunOutcome::Decided { writes, status } => {
            writes.iter_mut().for_each(|write| redact_write(write, secrets));
            match status {
                UnitStatus::Waiting(text) | UnitStatus::Blocked(text) | UnitStatus::Failing(text) => {
                    *text = redact_text(text, secrets)
                }
                UnitStatus::Ready => {}
            }
        }
        RunOutcome::Failed { message } => *message = redact_text(message, secrets),
        RunOutcome::NotCached { .. } => {}
    }
    masked
}

fn redact_write(write: &mut Write, secrets: &Redactor) {
    write.mutation = redact_mutation(&write.mutation, secrets);
    match &mut write.result {
        WriteResult::Refused { reason: text }
        | WriteResult::Stale { message: text }
        | WriteResult::EventRejected { message: text }
        | WriteResult::Failed { message: text } => *text = redact_text(text, secrets),
        WriteResult::Written { .. }
        | WriteResult::Unchanged
        | WriteResult::OverBudget
        | WriteResult::DryRun
        | WriteResult::Skipped => {}
    }
}

fn redact_mutation(mutation: &Mutation, secrets: &Redactor) -> Mutation {
    let mut masked = redact_secret_mutation(mutation);
    match &mut masked.operation {
        WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. } | WriteOp::Patch { body, .. } => {
            *body = redact_value(std::mem::take(body), secrets);
        }
        WriteOp::Delete { .. } => {}
    }
    masked
}
