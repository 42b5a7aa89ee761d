//! No value of a Secret in what an operator says, nor in what an API server says of its writes.

use crate::applier::Carried;
use crate::decision::WriteResult;
use crate::operator::Stop;
use crate::plan::{Act, Plan, Standing};
use crate::redact::Secrets;
use crate::resource::{ObjectKey, TableKey};
use crate::view::{Picture, Reads};

/// What an operator says of itself is shown to people, whatever it has read.
pub(super) fn without_secrets(plan: Result<Plan, Stop>, reads: &Reads, picture: &dyn Picture) -> Result<Plan, Stop> {
    if matches!(&plan, Ok(Plan { standing: Standing::Ready, .. }) | Err(Stop::Parked(_))) {
        return plan;
    }
    let secrets = secrets_read(reads, picture);
    if secrets.is_empty() {
        return plan;
    }
    match plan {
        Ok(plan) => {
            let standing = match plan.standing {
                Standing::Ready => Standing::Ready,
                Standing::Waiting(on) => Standing::Waiting(secrets.scrub(&on)),
                Standing::Blocked(needs) => Standing::Blocked(secrets.scrub(&needs)),
                Standing::Failing(why) => Standing::Failing(secrets.scrub(&why)),
            };
            Ok(Plan { standing, ..plan })
        }
        Err(Stop::Failed(message)) => Err(Stop::Failed(secrets.scrub(&message))),
        parked => parked,
    }
}

/// An API server that refuses a write repeats the value it does not like, wherever the operator had it from.
pub(super) fn without_echoes(carried: &mut [Carried], reads: &Reads, picture: &dyn Picture) {
    let repeats = |one: &Carried| matches!(one.write.result, WriteResult::Failed { .. } | WriteResult::Unheard { .. });
    if !carried.iter().any(repeats) {
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
    for one in carried {
        if let WriteResult::Failed { message } | WriteResult::Unheard { message } = &mut one.write.result {
            *message = secrets.scrub(message);
        }
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
