//! What goes to the disk: the decision and what it read, without the values of Secrets and what looks like one.

use serde_json::{Value, json};

use crate::decision::{Decision, Outcome, Write, WriteResult};
use crate::object::Object;
use crate::plan::{Act, Mutation, PatchForm, Standing};
use crate::redact::{Secrets, conceal_in, conceal_words, redact_kind, redact_mutation, redacted};
use crate::resource::Resource;

use super::record::Kept;

pub(super) struct Masked {
    pub(super) decision: Decision,
    pub(super) objects: Vec<Kept>,
    /// Whether the decision itself was changed.
    pub(super) touched: bool,
}

/// `secrets` holds the values of what was read and is not among `read`.
pub(super) fn mask(decision: &Decision, read: &[Object], mut secrets: Secrets) -> Masked {
    let values: Vec<(&Object, Value)> = read.iter().map(|object| (object, object.value())).collect();
    learn_all(&mut secrets, decision, &values);
    let keep = |(object, value): &(&Object, Value)| {
        let kind = if is_secret(&object.key.table.resource) { "Secret" } else { "" };
        let masked = shown(redact_kind(kind, value), &secrets);
        Kept { key: object.key.clone(), revision: object.revision, masked: masked != *value, value: masked }
    };
    let objects = values.iter().map(keep).collect();
    let masked = mask_decision(decision, &secrets);
    Masked { touched: masked != *decision, decision: masked, objects }
}

fn is_secret(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.kind == "Secret"
}

/// Without the values that are known, and without those that look so.
fn shown(redacted: Value, secrets: &Secrets) -> Value {
    let mut shown = if secrets.is_empty() { redacted } else { secrets.scrub_value(&redacted) };
    conceal_in(&mut shown);
    shown
}

fn words(text: &str, secrets: &Secrets) -> String {
    conceal_words(&secrets.scrub(text))
}

/// The values that the decision saw or made.
fn learn_all(secrets: &mut Secrets, decision: &Decision, read: &[(&Object, Value)]) {
    for (object, value) in read {
        learn(secrets, &object.key.table.resource, value);
    }
    if let Outcome::Decided { writes, .. } = &decision.outcome {
        for Write { mutation, .. } in writes {
            learn_mutation(secrets, mutation);
        }
    }
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
        asked.request = shown(redacted(std::mem::take(&mut asked.request)), secrets);
        match &mut asked.answer {
            Ok(value) => *value = shown(redacted(std::mem::take(value)), secrets),
            Err(message) => *message = words(message, secrets),
        }
    }
    masked.settings = shown(redacted(std::mem::take(&mut masked.settings)), secrets);
    masked.refused.iter_mut().for_each(|refusal| refusal.message = words(&refusal.message, secrets));
    match &mut masked.outcome {
        Outcome::Decided { writes, standing } => {
            writes.iter_mut().for_each(|write| mask_write(write, secrets));
            match standing {
                Standing::Waiting(text) | Standing::Blocked(text) | Standing::Failing(text) => {
                    *text = words(text, secrets)
                }
                Standing::Ready => {}
            }
        }
        Outcome::Failed { message } => *message = words(message, secrets),
        Outcome::Parked { .. } => {}
    }
    masked
}

fn mask_write(write: &mut Write, secrets: &Secrets) {
    write.mutation = mask_mutation(&write.mutation, secrets);
    match &mut write.result {
        WriteResult::Refused { reason: text }
        | WriteResult::Stale { message: text }
        | WriteResult::Unheard { message: text }
        | WriteResult::Failed { message: text } => *text = words(text, secrets),
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
            *body = shown(std::mem::take(body), secrets);
        }
        Act::Delete { .. } => {}
    }
    masked
}
