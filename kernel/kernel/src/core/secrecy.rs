//! No value of a Secret in what an operator says, nor in what an API server says of its writes.

use crate::applier::Carried;
use crate::decision::WriteResult;
use crate::operator::Stop;
use crate::plan::{Act, Plan, Standing};
use crate::redact::{Secrets, conceal_words};
use crate::resource::{ObjectKey, TableKey};
use crate::view::{Picture, Reads};

/// What an operator says of itself is shown to people, whatever it has read: without the values of Secrets, and without what
/// looks like one.
pub(super) fn without_secrets(plan: Result<Plan, Stop>, reads: &Reads, picture: &dyn Picture) -> Result<Plan, Stop> {
    if matches!(&plan, Ok(Plan { standing: Standing::Ready, .. }) | Err(Stop::Parked(_))) {
        return plan;
    }
    let secrets = secrets_read(reads, picture);
    let clean = |words: &str| conceal_words(&secrets.scrub(words));
    match plan {
        Ok(plan) => Ok(Plan { standing: plan.standing.in_words(&clean), ..plan }),
        Err(Stop::Failed(message)) => Err(Stop::Failed(clean(&message))),
        parked => parked,
    }
}

/// An API server that refuses a write repeats the value it does not like, wherever the operator had it from.
pub(super) fn without_echoes(carried: &mut [Carried], reads: &Reads, picture: &dyn Picture) {
    if !carried.iter_mut().any(|one| said(&mut one.write.result).is_some()) {
        return;
    }
    let mut secrets = secrets_read(reads, picture);
    for one in carried.iter() {
        if let Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } =
            &one.write.mutation.act
        {
            secrets.learn_kind(&one.write.mutation.resource.kind, body);
        }
    }
    for message in carried.iter_mut().filter_map(|one| said(&mut one.write.result)) {
        *message = conceal_words(&secrets.scrub(message));
    }
}

/// What the API server said of a write.
fn said(result: &mut WriteResult) -> Option<&mut String> {
    match result {
        WriteResult::Failed { message } | WriteResult::Unheard { message } | WriteResult::Stale { message } => {
            Some(message)
        }
        _ => None,
    }
}

fn secrets_read(reads: &Reads, picture: &dyn Picture) -> Secrets {
    let lists = reads.lists.iter().filter(|(query, _)| is_secret(&query.table)).flat_map(|(query, listed)| {
        listed.iter().map(|one| ObjectKey {
            table: query.table.clone(),
            namespace: one.namespace.clone(),
            name: one.name.clone(),
        })
    });
    secrets_among(reads.gets.keys().cloned().chain(lists), picture)
}

/// The values of those of the objects that are Secrets.
pub(crate) fn secrets_among(keys: impl IntoIterator<Item = ObjectKey>, picture: &dyn Picture) -> Secrets {
    let mut secrets = Secrets::default();
    for key in keys.into_iter().filter(|key| is_secret(&key.table)) {
        if let Some(object) = picture.get(&key).flatten() {
            // An item of a list does not name its kind.
            secrets.learn_kind("Secret", &object.value());
        }
    }
    secrets
}

fn is_secret(table: &TableKey) -> bool {
    table.resource.group.is_empty() && table.resource.kind == "Secret"
}
