//! The operator of deferred resources: makes an object once others are there and a time has passed.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_kernel::operator::{Declaration, Declared, Operator, ServiceAccount, Stop, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Act, Mutation, PatchForm, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::View;

use crate::authority::with_way_out;
use crate::coupling::{Condition, conditions, holds};
use crate::kinds;
use crate::model::{DEFERRED_RESOURCES, DeferredResource, FINALIZER, Meta, WaitFor};

/// The operator of deferred resources.
pub struct Deferred;

impl Operator for Deferred {
    fn name(&self) -> &str {
        "deferredresources"
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([Declared::every_kind()]),
            outputs: BTreeSet::from([Declared::every_kind()]),
            service_account: None,
            units: Units::Each {
                place: Place::Configuration,
                resource: DEFERRED_RESOURCES,
                selection: Selection::all(),
            },
        }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, Stop> {
        let found = view.get(&DEFERRED_RESOURCES, unit.namespace(), unit.name())?;
        let Some(object) = found.map(|object| object.value()) else { return Ok(Plan::nothing()) };
        let meta = Meta::of(&object);
        let run = Run { view, object, plan: Plan::in_order(), now: crate::plug::now(view), meta };
        match (run.meta.deleting, run.meta.kept) {
            (true, false) => Ok(Plan::nothing()),
            (true, true) => run.bury(),
            (false, _) => run.resolve(),
        }
    }
}

struct Run<'a> {
    view: &'a View,
    object: Value,
    meta: Meta,
    plan: Plan,
    now: String,
}

impl Run<'_> {
    fn resolve(mut self) -> Result<Plan, Stop> {
        let deferred = match DeferredResource::read(&self.object) {
            Ok(deferred) => deferred,
            Err(error) => return Ok(self.failed(&error.to_string()).blocked(error.to_string())),
        };
        self.keep();
        if let Some(refusal) = self.refused(&deferred).filter(|words| !self.shows(words)) {
            crate::authority::watch(self.view, &self.meta.namespace)?;
            return Ok(self.failed(&refusal).failing(refusal));
        }
        if let Some(wait) = self.left(&deferred) {
            self.show(false, "Pending", "waiting for timeout", None, None);
            return Ok(self.plan.waiting("its timeout to pass").again_after(wait));
        }
        for (number, one) in deferred.wait_for.iter().enumerate() {
            if let Some(on) = self.missing(one)? {
                let words = format!("spec.waitFor[{number}]: waiting for {on}; create it, or name another");
                self.show(false, "Pending", "waiting for resource", None, Some(words));
                return Ok(self.plan.waiting(on));
            }
        }
        self.make(&deferred)
    }

    /// What was refused of the run before, with the field that asked for it.
    fn refused(&self, deferred: &DeferredResource) -> Option<String> {
        let message = self.view.refused().first().map(|refusal| refusal.message.clone())?;
        let account = ServiceAccount { namespace: self.meta.namespace.clone(), name: deferred.service_account.clone() };
        let words = if message.contains("is forbidden") { with_way_out(&message, &account) } else { message };
        Some(format!("spec.resource: {words}"))
    }

    /// How long it must still wait.
    fn left(&self, deferred: &DeferredResource) -> Option<Duration> {
        let created: jiff::Timestamp = self.meta.created.parse().ok()?;
        let due = created.checked_add(jiff::SignedDuration::from_secs(i64::from(deferred.timeout_s))).ok()?;
        let left = due.duration_since(self.view.now());
        Duration::try_from(left).ok().filter(|left| !left.is_zero())
    }

    fn missing(&self, wanted: &WaitFor) -> Result<Option<String>, Stop> {
        let words = format!("{} {} to appear", wanted.kind, wanted.name);
        let Some(resource) = kinds::kind(self.view, &wanted.api_version, &wanted.kind)? else { return Ok(Some(words)) };
        let namespace = if resource.namespaced { self.meta.namespace.as_str() } else { "" };
        let Some(found) = self.view.get(&resource, namespace, &wanted.name)? else { return Ok(Some(words)) };
        let Some(condition) = &wanted.condition else { return Ok(None) };
        let found = found.value();
        let all = found["status"]["conditions"].as_array();
        let holds = all.into_iter().flatten().any(|one| one["type"] == condition.as_str() && one["status"] == "True");
        Ok((!holds).then(|| format!("{} {} to be {condition}", wanted.kind, wanted.name)))
    }

    fn make(mut self, deferred: &DeferredResource) -> Result<Plan, Stop> {
        let Some((resource, name)) = self.child_of(&deferred.resource)? else {
            let kind = deferred.resource["kind"].as_str().unwrap_or_default();
            let version = deferred.resource["apiVersion"].as_str().unwrap_or_default();
            let words = format!(
                "spec.resource: no matches for kind \"{kind}\" in version \"{version}\"; define it, or name another"
            );
            self.show(false, "Pending", "waiting for resource", None, Some(words));
            return Ok(self.plan.waiting(format!("kind {kind} to be served")));
        };
        let namespace = if resource.namespaced { self.meta.namespace.clone() } else { String::new() };
        let mut body = deferred.resource.clone();
        if resource.namespaced {
            body["metadata"]["namespace"] = namespace.as_str().into();
        }
        let live = self.view.get(&resource, &namespace, &name)?.map(|object| object.value());
        let made = self.object["status"]["made"] == true || live.is_none();
        let uid = live.as_ref().map(|live| live["metadata"]["uid"].clone()).unwrap_or_default();
        let child = json!({"apiVersion": resource.api_version(), "kind": resource.kind, "namespace": namespace, "name": name, "uid": uid});
        if live.as_ref().is_none_or(|live| !holds(live, &body)) {
            if live.is_none() {
                // Before it is there: whoever deletes this object must know that the other is ours.
                self.show(false, "Pending", "waiting for resource", Some((&child, true)), None);
            }
            let account =
                ServiceAccount { namespace: self.meta.namespace.clone(), name: deferred.service_account.clone() };
            let manager =
                format!("deferredresource:{}", crate::coupling::hash(&(&self.meta.namespace, &self.meta.name)));
            self.plan.push(Mutation::apply(&resource, body).acting_as(account).managed_by(manager).regardless());
        }
        if live.is_some() {
            self.show(true, "Success", "success", Some((&child, made)), None);
        }
        Ok(self.plan)
    }

    fn child_of(&self, resource: &Value) -> Result<Option<(Resource, String)>, Stop> {
        let text = |pointer: &str| resource.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let kind = kinds::kind(self.view, &text("/apiVersion"), &text("/kind"))?;
        Ok(kind.map(|kind| (kind, text("/metadata/name"))))
    }

    /// What it made goes with it.
    fn bury(mut self) -> Result<Plan, Stop> {
        let child = self.object["status"]["ownerReferences"].clone();
        let text = |name: &str| child[name].as_str().unwrap_or_default().to_string();
        let refused = !self.view.refused().is_empty();
        if self.object["status"]["made"] == true
            && !refused
            && let Some(resource) = kinds::kind(self.view, &text("apiVersion"), &text("kind"))?
        {
            let (namespace, name) = (text("namespace"), text("name"));
            if self.view.get(&resource, &namespace, &name)?.is_some() {
                let account = self.object["spec"]["serviceAccountName"].as_str().unwrap_or("default").to_string();
                let account = ServiceAccount { namespace: self.meta.namespace.clone(), name: account };
                let mut write = Mutation::delete(&resource, &namespace, &name).acting_as(account);
                write.act = Act::Delete { propagation: Some("Background".to_string()) };
                self.plan.push(write);
            }
        }
        let all = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        self.set_finalizers(&all.into_iter().filter(|one| one != FINALIZER).collect::<Vec<_>>());
        Ok(self.plan)
    }

    fn keep(&mut self) {
        if !self.meta.kept {
            let mut all = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            all.push(FINALIZER.into());
            self.set_finalizers(&all);
        }
    }

    fn set_finalizers(&mut self, all: &[Value]) {
        let body = json!({"metadata": {"finalizers": all}});
        let (namespace, name) = (&self.meta.namespace, &self.meta.name);
        self.plan.push(Mutation::patch(&DEFERRED_RESOURCES, namespace, name, PatchForm::Merge, body));
    }

    fn shows(&self, words: &str) -> bool {
        let all = self.object["status"]["conditions"].as_array();
        all.into_iter().flatten().any(|one| one["type"] == "Failed" && one["message"] == words)
    }

    fn failed(mut self, words: &str) -> Plan {
        let wanted = vec![
            ("Resolved", false, "Error".to_string(), "failed".to_string()),
            ("Failed", true, "Error".to_string(), words.to_string()),
        ];
        let kept = self.object["status"].clone();
        self.put(wanted, kept);
        self.plan
    }

    fn show(
        &mut self,
        resolved: bool,
        reason: &str,
        message: &str,
        child: Option<(&Value, bool)>,
        waiting: Option<String>,
    ) {
        let mut kept = self.object["status"].clone();
        if let Some((child, made)) = child {
            kept["ownerReferences"] = child.clone();
            kept["made"] = made.into();
        }
        let mut wanted = vec![("Resolved", resolved, reason.to_string(), message.to_string())];
        wanted.extend(waiting.map(|words| ("Waiting", true, "ResourceMissing".to_string(), words)));
        self.put(wanted, kept);
    }

    fn put(&mut self, wanted: Vec<Condition>, mut status: Value) {
        let before = &self.object["status"];
        status["conditions"] = conditions(wanted, self.meta.generation, &before["conditions"], &self.now);
        if *before != status {
            let mut object = self.object.clone();
            object["status"] = status;
            self.plan.push(Mutation::update(&DEFERRED_RESOURCES, object).status());
        }
    }
}
