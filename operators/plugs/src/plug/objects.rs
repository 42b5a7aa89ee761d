//! Making, removing and replacing objects as a service account.

use serde_json::{Value, json};
use switchboard_kernel::operator::ServiceAccount;
use switchboard_kernel::plan::{Act, Mutation, PatchForm};
use switchboard_kernel::resource::Resource;

use super::halt::{Halt, Onward};
use super::reading::kind_of;
use super::work::Work;
use crate::coupling::{Made, Stand, folded, hash, holds};
use crate::model::{Action, Event};
use crate::render::{Rendered, Trouble};

/// On an object: a coupling that makes it, behind the dot as a hash of the plug. Several may make the same.
pub const OF_PREFIX: &str = "integration.rock8s.com/of.";
/// Dependents go as well, while nobody waits for them: the default would leave a Job's pods behind.
const PROPAGATION: &str = "Background";

impl Work<'_> {
    /// What the record says of an object that is about to be made.
    pub fn made(&self, rendered: &Rendered, account: &ServiceAccount) -> Result<Made, Trouble> {
        let text =
            |pointer: &str| rendered.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let resource = kind_of(self.view, &api_version, &kind).map_err(|trouble| trouble.at(&rendered.place))?;
        let namespace = if resource.namespaced { text("/metadata/namespace") } else { String::new() };
        let account = (account.namespace.clone(), account.name.clone());
        let (name, goes, place) = (text("/metadata/name"), rendered.goes, rendered.place.clone());
        Ok(Made { api_version, kind, namespace, name, account, goes, place })
    }

    /// Does what an event asks for with the objects of one side.
    pub fn perform(
        &mut self,
        all: &[Rendered],
        event: Event,
        account: &ServiceAccount,
        manager: &str,
    ) -> Result<(), Halt> {
        for one in all.iter().filter(|one| one.events.contains(&event)) {
            let made = self.made(one, account)?;
            if self.record.abandoned.contains(&made.shown()) {
                continue;
            }
            let (resource, live) = self.live_object(&made)?;
            if live.is_none() && self.cannot_make_in(&made.namespace)? {
                continue;
            }
            match one.action {
                Action::Delete => self.remove(&made, &resource, live.as_ref()),
                Action::Apply => self.apply(one, &made, &resource, live.as_ref(), account, manager)?,
                Action::Recreate => {
                    let pending = self.record.pending.as_ref();
                    let old = match is_of_coupling(event) {
                        true => pending.and_then(|pending| pending.replaced.get(&made.shown())),
                        false => self.record.replaced.get(&replaced(event, &made)),
                    };
                    let is_old = live
                        .as_ref()
                        .is_some_and(|live| old.is_some_and(|uid| live["metadata"]["uid"] == uid.as_str()));
                    if is_old {
                        self.remove(&made, &resource, live.as_ref());
                        return Err(self.waits_for(format!("{} to be gone", made.shown())));
                    }
                    self.apply(one, &made, &resource, live.as_ref(), account, manager)?;
                }
            }
        }
        Ok(())
    }

    /// Writes down which objects are to be gone before they are made anew at the beginning, the parting or the end, before any is
    /// removed.
    pub fn intend_to_recreate(&mut self, all: &[Rendered], event: Event, account: &ServiceAccount) -> Result<(), Halt> {
        for one in all.iter().filter(|one| one.action == Action::Recreate && one.events.contains(&event)) {
            let made = self.made(one, account)?;
            let (_, live) = self.live_object(&made)?;
            let uid = live.and_then(|live| live["metadata"]["uid"].as_str().map(str::to_string)).unwrap_or_default();
            self.record.replaced.entry(replaced(event, &made)).or_insert(uid);
        }
        if all.iter().any(|one| one.action == Action::Recreate) {
            self.save();
        }
        Ok(())
    }

    /// Puts right what somebody else changed or removed. No event tells of it.
    pub fn mend(&mut self, all: &[Rendered], account: &ServiceAccount, manager: &str) -> Result<(), Halt> {
        for one in all.iter().filter(|one| one.action != Action::Delete) {
            let made = self.made(one, account)?;
            let (resource, live) = self.live_object(&made)?;
            let wanted = match &live {
                None => !goes_by_itself(&one.object),
                Some(live) => {
                    one.action == Action::Apply && one.events.contains(&Event::Updated) && !holds(live, &one.object)
                }
            };
            if wanted {
                self.apply(one, &made, &resource, live.as_ref(), account, manager)?;
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        one: &Rendered,
        made: &Made,
        resource: &Resource,
        live: Option<&Value>,
        account: &ServiceAccount,
        manager: &str,
    ) -> Result<(), Halt> {
        if live.is_some_and(|live| live["metadata"]["deletionTimestamp"].is_string()) {
            return Err(self.waits_for(format!("{} to be gone", made.shown())));
        }
        let mut body = folded(one.object.clone());
        if made.namespace.is_empty()
            && let Some(metadata) = body["metadata"].as_object_mut()
        {
            metadata.remove("namespace");
        }
        let (mark, of) = self.mark();
        let annotations = &mut body["metadata"]["annotations"];
        if annotations.is_null() {
            *annotations = json!({});
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(mark, of.into());
        }
        let write = Mutation::apply(resource, body).acting_as(account.clone()).managed_by(manager).regardless();
        self.plan.push(if one.force { write.forced() } else { write });
        Ok(())
    }

    /// Removes an object that is there, as whoever made it.
    pub fn remove(&mut self, made: &Made, resource: &Resource, live: Option<&Value>) {
        if live.is_none_or(|live| live["metadata"]["deletionTimestamp"].is_string()) {
            return;
        }
        let mut write = Mutation::delete(resource, &made.namespace, &made.name);
        write.act = Act::Delete { propagation: Some(PROPAGATION.to_string()) };
        let account = self.account(&made.account.0, &made.account.1);
        self.plan.push(write.acting_as(account));
    }

    /// Removes an object that a coupling made; one that another makes as well loses the mark of this one, and stays.
    pub fn release(&mut self, made: &Made, resource: &Resource, live: Option<&Value>) {
        let (mark, _) = self.mark();
        let all = live.and_then(|live| live["metadata"]["annotations"].as_object());
        let mut marks = all.into_iter().flatten().map(|(name, _)| name).filter(|name| name.starts_with(OF_PREFIX));
        if !marks.any(|name| *name != mark) {
            return self.remove(made, resource, live);
        }
        let body = json!({"metadata": {"annotations": {mark: null}}});
        let write = Mutation::patch(resource, &made.namespace, &made.name, PatchForm::Merge, body);
        let account = self.account(&made.account.0, &made.account.1);
        self.plan.push(write.acting_as(account));
    }

    /// The mark that an object of this plug's coupling carries, and what it says.
    fn mark(&self) -> (String, String) {
        let of = format!("{}/{}", self.record.plug.namespace, self.record.plug.name);
        (format!("{OF_PREFIX}{}", &hash(&of)[..16]), of)
    }

    /// The object as it is; looked at, so that whoever changes it wakes the plug.
    pub fn live_object(&self, made: &Made) -> Result<(Resource, Option<Value>), Trouble> {
        let resource = kind_of(self.view, &made.api_version, &made.kind)?;
        let live = self.view.get(&resource, &made.namespace, &made.name)?;
        Ok((resource, live.map(|object| object.value())))
    }

    /// The event goes on when something has happened that is noticed.
    pub fn waits_for(&self, on: String) -> Halt {
        let stand = match self.record.pending.as_ref().map(|pending| pending.event) {
            Some(Event::Updated) => Stand::Updating(None),
            _ => Stand::Coupling(None),
        };
        Halt::Here(stand, Onward::Waits(on))
    }
}

/// Whether an event is one of a coupling that lasts, whose record begins anew with each.
fn is_of_coupling(event: Event) -> bool {
    matches!(event, Event::Coupled | Event::Updated)
}

fn replaced(event: Event, made: &Made) -> String {
    format!("{} {}", event.word(), made.shown())
}

/// A Job that removes itself when it is done is not made again for that.
fn goes_by_itself(object: &Value) -> bool {
    object["kind"] == "Job" && object["spec"]["ttlSecondsAfterFinished"].is_number()
}
