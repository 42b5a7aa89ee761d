//! What goes to the disk: the decision and what it read, without the values of Secrets.

use serde_json::{Value, json};

use crate::decision::{Decision, Outcome, Write, WriteResult};
use crate::object::Object;
use crate::plan::{Act, Mutation, PatchForm, Standing};
use crate::redact::{Secrets, redact, redact_kind, redact_mutation};
use crate::resource::Resource;

use super::record::Kept;

pub(super) struct Masked {
    pub(super) decision: Decision,
    pub(super) objects: Vec<Kept>,
    /// Whether the decision itself was changed.
    pub(super) touched: bool,
}

pub(super) fn mask(decision: &Decision, read: &[Object]) -> Masked {
    let values: Vec<(&Object, Value)> = read.iter().map(|object| (object, object.value())).collect();
    let secrets = known(decision, &values);
    let keep = |(object, value): &(&Object, Value)| {
        let kind = if is_secret(&object.key.table.resource) { "Secret" } else { "" };
        let masked = secrets.scrub_value(&redact_kind(kind, value));
        Kept { key: object.key.clone(), revision: object.revision, masked: masked != *value, value: masked }
    };
    let objects = values.iter().map(keep).collect();
    let masked = mask_decision(decision, &secrets);
    Masked { touched: masked != *decision, decision: masked, objects }
}

fn is_secret(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.kind == "Secret"
}

/// The values that the decision saw or made.
fn known(decision: &Decision, read: &[(&Object, Value)]) -> Secrets {
    let mut secrets = Secrets::default();
    for (object, value) in read {
        learn(&mut secrets, &object.key.table.resource, value);
    }
    if let Outcome::Decided { writes, .. } = &decision.outcome {
        for Write { mutation, .. } in writes {
            learn_mutation(&mut secrets, mutation);
        }
    }
    secrets
}

fn learn(secrets: &mut Secrets, resource: &Resource, value: &Value) {
    if is_secret(resource) {
        // Items of lists and patches do not name their kind.
        let parts = json!({ "apiVersion": "v1", "kind": "Secret", "type": value["type"],
            "data": value["data"], "stringData": value["stringData"] });
        secrets.learn(&parts);
    }
}

fn learn_mutation(secrets: &mut Secrets, mutation: &Mutation) {
    match &mutation.act {
        Act::Patch { form: PatchForm::Json, body } => {
            for operation in body.as_array().into_iter().flatten() {
                let value = &operation["value"];
                let data = if value.is_object() { value.clone() } else { json!({ "value": value }) };
                learn(secrets, &mutation.resource, &json!({ "data": data }));
            }
        }
        Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } => {
            learn(secrets, &mutation.resource, body);
        }
        Act::Delete { .. } => {}
    }
}

fn mask_decision(decision: &Decision, secrets: &Secrets) -> Decision {
    let mut masked = decision.clone();
    for asked in &mut masked.asked {
        asked.request = secrets.scrub_value(&redact(&asked.request));
        asked.answer = match &asked.answer {
            Ok(value) => Ok(secrets.scrub_value(&redact(value))),
            Err(message) => Err(secrets.scrub(message)),
        };
    }
    masked.refused.iter_mut().for_each(|refusal| refusal.message = secrets.scrub(&refusal.message));
    match &mut masked.outcome {
        Outcome::Decided { writes, standing } => {
            writes.iter_mut().for_each(|write| mask_write(write, secrets));
            match standing {
                Standing::Waiting(text) | Standing::Blocked(text) | Standing::Failing(text) => {
                    *text = secrets.scrub(text)
                }
                Standing::Ready => {}
            }
        }
        Outcome::Failed { message } => *message = secrets.scrub(message),
        Outcome::Parked { .. } => {}
    }
    masked
}

fn mask_write(write: &mut Write, secrets: &Secrets) {
    write.mutation = mask_mutation(&write.mutation, secrets);
    match &mut write.result {
        WriteResult::Refused { reason: text }
        | WriteResult::Stale { message: text }
        | WriteResult::Failed { message: text } => *text = secrets.scrub(text),
        WriteResult::Written { .. }
        | WriteResult::Unchanged
        | WriteResult::Held
        | WriteResult::Pretended
        | WriteResult::Skipped => {}
    }
}

fn mask_mutation(mutation: &Mutation, secrets: &Secrets) -> Mutation {
    let mut masked = redact_mutation(mutation);
    match &mut masked.act {
        Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } => {
            *body = secrets.scrub_value(body);
        }
        Act::Delete { .. } => {}
    }
    masked
}
