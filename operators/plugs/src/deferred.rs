//! Operator of deferred resources: applies an object once other objects exist and a timeout has passed.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, ServiceAccount, Unit, Units};
use switchboard_kernel::plan::{Mutation, PatchType, Plan, WriteOp};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;

use crate::coupling::{ObjectIdentity, StatusCondition, conditions, contains, fold_string_data, warning_event};
use crate::kinds;
use crate::model::{DEFERRED_RESOURCES, DeferredResource, FINALIZER, PlugMeta, WaitFor};
use crate::rbac::with_hint;
use crate::refusal::is_final;

/// Operator of deferred resources.
pub struct DeferredOperator;

impl Operator for DeferredOperator {
    fn name(&self) -> &str {
        "deferredresources"
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([AccessRule::every_kind()]),
            outputs: BTreeSet::from([AccessRule::every_kind()]),
            service_account: None,
            units: Units::Each {
                cluster_type: ClusterType::Configuration,
                resource: DEFERRED_RESOURCES,
                selection: Selection::all(),
            },
        }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let found = view.get(&DEFERRED_RESOURCES, unit.namespace(), unit.name())?;
        let Some(object) = found.map(|object| object.value()) else { return Ok(Plan::nothing()) };
        let meta = PlugMeta::of(&object);
        let run = DeferredRun { view, object, plan: Plan::ordered(), now: crate::plug::now(view), meta };
        match (run.meta.is_deleting, run.meta.has_finalizer) {
            (true, false) => Ok(Plan::nothing()),
            (true, true) => run.finalize(),
            (false, _) => run.resolve(),
        }
    }
}

struct DeferredRun<'a> {
    view: &'a View,
    object: Value,
    meta: PlugMeta,
    plan: Plan,
    now: String,
}

impl DeferredRun<'_> {
    fn resolve(mut self) -> Result<Plan, DecideError> {
        let deferred = match DeferredResource::read(&self.object) {
            Ok(deferred) => deferred,
            Err(error) => return Ok(self.failed(&error.to_string()).blocked(error.to_string())),
        };
        self.ensure_finalizer();
        if let Some(refusal) = self.refusal(&deferred).filter(|words| !self.is_shown(words)) {
            crate::rbac::watch_roles(self.view, &self.meta.namespace)?;
            return Ok(self.failed(&refusal).failing(refusal));
        }
        if let Some(wait) = self.remaining_wait(&deferred) {
            self.show(false, "Pending", "waiting for timeout", None, None);
            return Ok(self.plan.waiting("its timeout to pass").requeue_after(wait));
        }
        for (number, one) in deferred.wait_for.iter().enumerate() {
            if let Some(on) = self.missing(one)? {
                let words = format!("spec.waitFor[{number}]: waiting for {on}; create it, or reference another");
                self.show(false, "Pending", "waiting for resource", None, Some(words));
                return Ok(self.plan.waiting(on));
            }
        }
        self.apply(&deferred)
    }

    /// Returns the refusal of the previous run, with the field that requested the object.
    fn refusal(&self, deferred: &DeferredResource) -> Option<String> {
        let message = self.view.rejected_writes().first().map(|refusal| refusal.message.clone())?;
        let account = ServiceAccount { namespace: self.meta.namespace.clone(), name: deferred.service_account.clone() };
        let words = if message.contains("is forbidden") { with_hint(&message, &account) } else { message };
        Some(format!("spec.resource: {words}"))
    }

    /// Returns the remaining time until the timeout has passed.
    fn remaining_wait(&self, deferred: &DeferredResource) -> Option<Duration> {
        let created: jiff::Timestamp = self.meta.created.parse().ok()?;
        let due = created.checked_add(jiff::SignedDuration::from_secs(i64::from(deferred.timeout_s))).ok()?;
        let left = due.duration_since(self.view.now());
        Duration::try_from(left).ok().filter(|left| !left.is_zero())
    }

    fn missing(&self, wanted: &WaitFor) -> Result<Option<String>, DecideError> {
        let words = format!("{} {} to appear", wanted.kind, wanted.name);
        let Some(resource) = kinds::resource(self.view, &wanted.api_version, &wanted.kind)? else {
            return Ok(Some(words));
        };
        let namespace = if resource.namespaced { self.meta.namespace.as_str() } else { "" };
        let Some(found) = self.view.get(&resource, namespace, &wanted.name)? else { return Ok(Some(words)) };
        let Some(condition) = &wanted.condition else { return Ok(None) };
        let found = found.value();
        let all = found["status"]["conditions"].as_array();
        let holds = all.into_iter().flatten().any(|one| one["type"] == condition.as_str() && one["status"] == "True");
        Ok((!holds).then(|| format!("{} {} to be {condition}", wanted.kind, wanted.name)))
    }

    fn apply(mut self, deferred: &DeferredResource) -> Result<Plan, DecideError> {
        let Some((resource, name)) = self.child_of(&deferred.resource)? else {
            let kind = deferred.resource["kind"].as_str().unwrap_or_default();
            let version = deferred.resource["apiVersion"].as_str().unwrap_or_default();
            let words = format!(
                "spec.resource: no matches for kind \"{kind}\" in version \"{version}\"; define it, or reference another"
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
        let uid = live.as_ref().map(|live| live["metadata"]["uid"].clone()).unwrap_or_default();
        let child = json!({"apiVersion": resource.api_version(), "kind": resource.kind, "namespace": namespace, "name": name, "uid": uid});
        let known = self.applied_child();
        if known.as_ref().is_some_and(|known| !is_same(known, &child)) {
            self.remove_child()?;
        }
        // An object that existed before, or was recreated by another writer, is not deleted together with this one.
        let made = match &live {
            None => true,
            Some(_) => known.is_some_and(|known| {
                is_same(&known, &child) && (known["uid"].as_str().is_none_or(str::is_empty) || known["uid"] == uid)
            }),
        };
        if live.as_ref().is_none_or(|live| !contains(live, &body)) {
            if live.is_none() {
                // Recorded before the write, so that a deletion in between still removes the object.
                self.show(false, "Pending", "waiting for resource", Some((&child, true)), None);
            }
            let account = self.account();
            let manager =
                format!("deferredresource:{}", crate::coupling::hash(&(&self.meta.namespace, &self.meta.name)));
            let body = fold_string_data(body);
            self.plan.push(Mutation::apply(&resource, body).acting_as(account).managed_by(manager).unconditional());
        }
        if live.is_some() {
            self.show(true, "Success", "success", Some((&child, made)), None);
        }
        Ok(self.plan)
    }

    /// Returns the applied object from the status, limited to the own namespace, because other writers may have changed
    /// the status.
    fn applied_child(&self) -> Option<Value> {
        let child = &self.object["status"]["ownerReferences"];
        let namespace = child["namespace"].as_str().unwrap_or_default();
        let own = namespace.is_empty() || namespace == self.meta.namespace;
        (self.object["status"]["made"] == true && child.is_object() && own).then(|| child.clone())
    }

    fn account(&self) -> ServiceAccount {
        let name = self.object["spec"]["serviceAccountName"].as_str().filter(|name| !name.is_empty());
        ServiceAccount { namespace: self.meta.namespace.clone(), name: name.unwrap_or("default").to_string() }
    }

    /// Deletes the applied object if its uid is unchanged.
    fn remove_child(&mut self) -> Result<(), DecideError> {
        let Some(child) = self.applied_child() else { return Ok(()) };
        let text = |name: &str| child[name].as_str().unwrap_or_default();
        let Some(resource) = kinds::resource(self.view, text("apiVersion"), text("kind"))? else { return Ok(()) };
        let found = self.view.get(&resource, text("namespace"), text("name"))?.map(|object| object.value());
        let Some(found) = found.filter(|found| found["metadata"]["deletionTimestamp"].is_null()) else { return Ok(()) };
        if text("uid").is_empty() || found["metadata"]["uid"] == text("uid") {
            let mut write = Mutation::delete(&resource, text("namespace"), text("name")).acting_as(self.account());
            write.operation = WriteOp::Delete { propagation: Some("Background".to_string()) };
            self.plan.push(write);
        }
        Ok(())
    }

    fn child_of(&self, resource: &Value) -> Result<Option<(Resource, String)>, DecideError> {
        let text = |pointer: &str| resource.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let kind = kinds::resource(self.view, &text("/apiVersion"), &text("/kind"))?;
        Ok(kind.map(|kind| (kind, text("/metadata/name"))))
    }

    /// Deletes the applied object. A busy API server is retried. An object that must not be deleted is left, with a
    /// warning.
    fn finalize(mut self) -> Result<Plan, DecideError> {
        match self.view.rejected_writes().iter().find(|refused| is_final(&refused.message)) {
            None => self.remove_child()?,
            Some(refused) => {
                let words = format!("could not delete the created object: {}", refused.message);
                let about = ObjectIdentity::of(&self.meta);
                let (kind, now) = (&DEFERRED_RESOURCES.kind, &self.now);
                self.plan.push(warning_event(kind, &about, "TeardownIncomplete", &words, now));
            }
        }
        let all = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        self.set_finalizers(&all.into_iter().filter(|one| one != FINALIZER).collect::<Vec<_>>());
        Ok(self.plan)
    }

    fn ensure_finalizer(&mut self) {
        if !self.meta.has_finalizer {
            let mut all = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            all.push(FINALIZER.into());
            self.set_finalizers(&all);
        }
    }

    fn set_finalizers(&mut self, all: &[Value]) {
        let body = json!({"metadata": {"finalizers": all}});
        let (namespace, name) = (&self.meta.namespace, &self.meta.name);
        self.plan.push(Mutation::patch(&DEFERRED_RESOURCES, namespace, name, PatchType::Merge, body));
    }

    fn is_shown(&self, words: &str) -> bool {
        let all = self.object["status"]["conditions"].as_array();
        all.into_iter().flatten().any(|one| one["type"] == "Failed" && one["message"] == words)
    }

    fn failed(mut self, words: &str) -> Plan {
        let wanted = vec![
            ("Resolved", false, "Error".to_string(), "failed".to_string()),
            ("Failed", true, "Error".to_string(), words.to_string()),
        ];
        let kept = self.object["status"].clone();
        self.write_status(wanted, kept);
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
        self.write_status(wanted, kept);
    }

    fn write_status(&mut self, wanted: Vec<StatusCondition>, mut status: Value) {
        let before = &self.object["status"];
        status["conditions"] = conditions(wanted, self.meta.generation, &before["conditions"], &self.now);
        if *before != status {
            let mut object = self.object.clone();
            object["status"] = status;
            self.plan.push(Mutation::update(&DEFERRED_RESOURCES, object).status());
        }
    }
}

/// Whether two references name the same object, regardless of its uid.
fn is_same(one: &Value, other: &Value) -> bool {
    ["apiVersion", "kind", "namespace", "name"].iter().all(|field| one[field] == other[field])
}
