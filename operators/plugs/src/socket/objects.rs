//! Objects of a socket alone: at its beginning and its end.

use serde_json::{Value, json};
use switchboard_kernel::operator::{ServiceAccount, Stop};
use switchboard_kernel::plan::{Act, Mutation, Plan};

use super::{Ground, Problem};
use crate::coupling::{Made, folded, hash};
use crate::kinds;
use crate::model::{Action, Event, Socket};
use crate::plug::NAMESPACES;
use crate::render::{Engine, Rendered, Roots, Who, objects};

impl Ground<'_> {
    /// What was made for it. Its status may have been written by others: they are given nothing that its own accounts may not do.
    pub(super) fn known(&self) -> Vec<Made> {
        let all: Vec<Made> = serde_json::from_value(self.object["status"]["made"].clone()).unwrap_or_default();
        let own = &self.meta.namespace;
        let kept = all.into_iter().filter(|one| one.namespace.is_empty() || one.namespace == *own);
        kept.map(|one| Made { account: (own.clone(), one.account.1), ..one }).collect()
    }

    pub(super) fn rendered(&self, socket: &Socket, event: Event) -> Result<Vec<Rendered>, Problem> {
        let since = self.meta.created.parse().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let engine = Engine::new(since, self.meta.uid.as_str());
        let root = Roots::alone(Who::Socket, &socket.seen).value();
        let all = objects(&engine, self.meta, &socket.side.resources, |entry| entry.when.contains(&event), &root);
        all.map_err(|trouble| Problem::Words(trouble.to_string()))
    }

    pub(super) fn made(&self, one: &Rendered, socket: &Socket) -> Result<Made, Problem> {
        let text = |pointer: &str| one.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let Some(resource) = kinds::kind(self.view, &api_version, &kind)? else {
            return Err(Problem::Words(format!("no matches for kind \"{kind}\" in version \"{api_version}\"")));
        };
        let namespace = if resource.namespaced { text("/metadata/namespace") } else { String::new() };
        let account = (self.meta.namespace.clone(), socket.side.service_account.clone());
        let (name, goes, place) = (text("/metadata/name"), one.goes, one.place.clone());
        Ok(Made { api_version, kind, namespace, name, account, goes, place })
    }

    /// Puts down which objects are to be gone before they are made anew, for the status that is written before any is removed.
    pub(super) fn intend_to_recreate(
        &self,
        known: &mut Value,
        all: &[Rendered],
        event: Event,
        socket: &Socket,
    ) -> Result<(), Problem> {
        for one in all.iter().filter(|one| one.action == Action::Recreate) {
            let made = self.made(one, socket)?;
            let key = replaced(event, &made);
            if known["replaced"][&key].is_null() {
                if known["replaced"].is_null() {
                    known["replaced"] = json!({});
                }
                let uid = self.object_of(&made)?.map(|live| live["metadata"]["uid"].clone()).unwrap_or_default();
                known["replaced"][&key] = uid.as_str().unwrap_or_default().into();
            }
        }
        Ok(())
    }

    /// Does what an event asks for; what `known` gives up is left.
    pub(super) fn perform(
        &self,
        plan: &mut Plan,
        all: &[Rendered],
        event: Event,
        socket: &Socket,
        known: &Value,
    ) -> Result<(), Problem> {
        for one in all {
            let made = self.made(one, socket)?;
            if is_abandoned(known, &made) {
                continue;
            }
            let live = self.object_of(&made)?;
            if one.action == Action::Delete {
                self.remove(plan, &made)?;
                continue;
            }
            if live.is_none() && self.cannot_make()? {
                continue;
            }
            if one.action == Action::Recreate
                && let Some(live) = &live
                && live["metadata"]["uid"] == known["replaced"][replaced(event, &made)]
            {
                self.remove(plan, &made)?;
                return Err(Problem::Waits(format!("{} to be gone", made.shown())));
            }
            let Some(resource) = kinds::kind(self.view, &made.api_version, &made.kind)? else { continue };
            let account = ServiceAccount { namespace: made.account.0.clone(), name: made.account.1.clone() };
            let manager = format!("socket:{}", hash(&(&self.meta.namespace, &self.meta.name)));
            let write = Mutation::apply(&resource, folded(one.object.clone())).acting_as(account).managed_by(manager);
            plan.push(if one.force { write.forced() } else { write });
        }
        Ok(())
    }

    pub(super) fn remove(&self, plan: &mut Plan, made: &Made) -> Result<(), Stop> {
        let Some(resource) = kinds::kind(self.view, &made.api_version, &made.kind)? else { return Ok(()) };
        let live = self.object_of(made)?;
        if live.is_some_and(|live| live["metadata"]["deletionTimestamp"].is_null()) {
            let account = ServiceAccount { namespace: made.account.0.clone(), name: made.account.1.clone() };
            let mut write = Mutation::delete(&resource, &made.namespace, &made.name).acting_as(account);
            write.act = Act::Delete { propagation: Some("Background".to_string()) };
            plan.push(write);
        }
        Ok(())
    }

    fn object_of(&self, made: &Made) -> Result<Option<Value>, Stop> {
        let Some(resource) = kinds::kind(self.view, &made.api_version, &made.kind)? else { return Ok(None) };
        Ok(self.view.get(&resource, &made.namespace, &made.name)?.map(|object| object.value()))
    }

    /// Whether nothing can be made any more, because its namespace goes as well.
    pub(super) fn cannot_make(&self) -> Result<bool, Stop> {
        if !self.meta.deleting {
            return Ok(false);
        }
        let found = self.view.get(&NAMESPACES, "", &self.meta.namespace)?;
        Ok(found.is_none_or(|object| object.value()["metadata"]["deletionTimestamp"].is_string()))
    }
}

pub(super) fn is_abandoned(known: &Value, made: &Made) -> bool {
    known["abandoned"].as_array().into_iter().flatten().any(|one| *one == made.shown().as_str())
}

fn replaced(event: Event, made: &Made) -> String {
    format!("{} {}", event.word(), made.shown())
}
