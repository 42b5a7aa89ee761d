//! Execution of one step of an Application's operation.

use serde_json::{Value, json};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_object::quote::quote;

use super::EngineOperator;
use super::reconciliation::{Reconciliation, SyncScope, deletion_of};
use crate::auto_sync::has_sync_option;
use crate::compare::is_in_sync;
use crate::deletion::is_never_pruned;
use crate::kinds::NAMESPACES;
use crate::object_fields::{format_time, list, non_empty_fields, parse_time, text};
use crate::operation::{self, OperationStep, SyncAction, SyncTask};
use crate::status::{self, LiveObjects};
use crate::target::{ResourceKey, TargetObjects, images, tracked_by};
use switchboard_object::health;

/// Field manager, with Argo CD's name for server-side apply.
const MANAGER: &str = "argocd-controller";
/// Number of syncs in the history if the Application sets none.
const HISTORY: usize = 10;

impl Reconciliation<'_> {
    /// Returns the plan for the next step, or `None` if the operation has finished and the Application can be compared.
    pub(super) fn advance_operation(&mut self, scope: &SyncScope) -> Result<Option<Plan>, DecideError> {
        let running = operation::is_running(&self.before["status"]);
        let state = match running {
            true => self.before["status"]["operationState"].clone(),
            false => operation::begin(&self.before["operation"], self.now),
        };
        if let Some(step) = operation::pending_step(&state, self.now) {
            return Ok(self.plan_step(step));
        }
        let (source, revision) = operation::source(&self.before, &state);
        let (source, revision) = (source.clone(), revision.to_string());
        let answer = self.query_repository(&source, &revision, !running)?;
        let wanted = self.targets(&answer, &scope.cluster)?;
        let (answer, targets) = match answer.and_then(|answer| Ok((answer, wanted?))) {
            Ok(both) => both,
            Err(why) => {
                let step = operation::fail(&state, "Error", &format!("ComparisonError: {why}"), self.now);
                return Ok(self.plan_step(step));
            }
        };
        if let Some(state) = operation::pin_revision(&state, &source, &answer.revision) {
            // Objects are listed in the status before they are created.
            self.list_planned_objects(&targets);
            return Ok(self.plan_step(OperationStep::Update(state)));
        }
        let live = self.live(&targets, &scope.cluster)?;
        if let Some(why) = self.namespace_refusal(&targets, scope) {
            let step = operation::fail(&state, "Failed", &format!("namespace auto creation failed: {why}"), self.now);
            return Ok(self.plan_step(step));
        }
        let denied: Vec<SyncTask> = self.denied_namespace_task(&targets, scope)?.into_iter().collect();
        if let Some(step) = operation::reject_denied(&state, &denied, self.now) {
            return Ok(self.plan_step(step));
        }
        let tasks = self.tasks(&targets, &live, scope);
        match operation::next_step(&state, tasks, self.now) {
            OperationStep::Write(keys) => self.write_plan(&state, &targets, &live, keys).map(Some),
            step => Ok(self.plan_step(step)),
        }
    }

    fn plan_step(&mut self, step: OperationStep) -> Option<Plan> {
        match step {
            OperationStep::Wait(wait) => {
                return Some(Plan::nothing().waiting("the sync to continue").requeue_after(wait));
            }
            OperationStep::Finish(state) => {
                self.record_history(&state);
                self.record_step(OperationStep::Finish(state));
                return None;
            }
            other => self.record_step(other),
        }
        Some(self.patch_plan())
    }

    /// Lists the objects to create in the Application's status, so that they are found after a crash.
    fn list_planned_objects(&mut self, targets: &TargetObjects) {
        let known: Vec<ResourceKey> =
            status::managed_resources(&self.before["status"]).into_iter().map(|(key, _)| key).collect();
        let new = targets.objects.values().filter(|target| !known.contains(&target.key));
        let new: Vec<Value> = new
            .map(|target| {
                non_empty_fields([
                    ("group", json!(target.key.group)),
                    ("version", json!(target.version)),
                    ("kind", json!(target.key.kind)),
                    ("namespace", json!(target.key.namespace)),
                    ("name", json!(target.key.name)),
                    ("status", json!("OutOfSync")),
                ])
            })
            .collect();
        let resources: Vec<Value> = list(&self.before["status"], "/resources").cloned().chain(new).collect();
        status::set_field(&mut self.next["status"], "resources", Value::Array(resources));
    }

    fn tasks(&self, targets: &TargetObjects, live: &LiveObjects, scope: &SyncScope) -> Vec<SyncTask> {
        let refused = |key: &ResourceKey| {
            let about = |one: &&switchboard_kernel::view::WriteRejection| {
                let (of, resource) = (&one.object, &one.object.table.resource);
                resource.group == key.group
                    && resource.kind == key.kind
                    && *of.namespace == *key.namespace
                    && *of.name == *key.name
            };
            self.view.rejected_writes().iter().find(about).map(|one| one.message.clone())
        };
        let mut tasks = Vec::new();
        for target in targets.objects.values() {
            let key = &target.key;
            let there = live.get(key).and_then(|(_, object)| object.as_ref());
            let early = target.resource.is_none() && defines(targets, key);
            let unknown = (target.resource.is_none() && !early).then(|| unserved_kind_message(key, &target.version));
            let allowed = scope.project.denial_reason(&scope.cluster, &key.group, &key.kind, &key.namespace, &key.name);
            let what = SyncAction::Apply {
                in_sync: there.is_some_and(|there| is_in_sync(&target.object, there)),
                health: there.and_then(health::assess).map(|health| health.code),
                awaits_definition: early,
            };
            let images = images(&target.object);
            let task = SyncTask {
                key: key.clone(),
                version: target.version.clone(),
                wave: target.wave,
                action: what,
                denial: allowed.or(unknown),
                refusal: refused(key),
                images,
            };
            tasks.push(task);
        }
        // Objects that were marked for pruning and no longer exist are part of the result.
        let marked: Vec<(ResourceKey, bool)> = list(&self.before["status"], "/resources")
            .zip(status::managed_resources(&self.before["status"]))
            .map(|(one, (key, _))| (key, one["requiresPruning"] == true))
            .collect();
        for (key, (version, object)) in live.iter().filter(|(key, _)| !targets.objects.contains_key(*key)) {
            let ours = object.as_ref().is_some_and(|object| tracked_by(object, key) == Some(self.name.as_str()));
            let was = object.is_none() && marked.iter().any(|(marked, prune)| marked == key && *prune);
            if !ours && !was {
                continue;
            }
            let what = SyncAction::Prune {
                present: ours,
                terminating: object.as_ref().is_some_and(|object| object["metadata"]["deletionTimestamp"].is_string()),
                retained: object.as_ref().is_some_and(is_never_pruned),
            };
            let denied = scope.project.denial_reason(&scope.cluster, &key.group, &key.kind, &key.namespace, &key.name);
            tasks.push(SyncTask {
                key: key.clone(),
                version: version.clone(),
                wave: 0,
                action: what,
                denial: denied,
                refusal: refused(key),
                images: vec![],
            });
        }
        tasks
    }

    fn namespace_to_create(&self, targets: &TargetObjects) -> Option<ResourceKey> {
        let name = text(&self.before, "/spec/destination/namespace");
        let key = ResourceKey {
            group: String::new(),
            kind: "Namespace".into(),
            namespace: String::new(),
            name: name.to_string(),
        };
        let asked = has_sync_option(&self.before["operation"], "CreateNamespace=true");
        (asked && !name.is_empty() && !targets.objects.contains_key(&key)).then_some(key)
    }

    /// Returns the task to create a namespace that the project does not permit. Argo CD checks the permission only if
    /// the namespace does not exist, and does so for partial syncs as well.
    fn denied_namespace_task(
        &self,
        targets: &TargetObjects,
        scope: &SyncScope,
    ) -> Result<Option<SyncTask>, DecideError> {
        let Some(key) = self.namespace_to_create(targets) else { return Ok(None) };
        let denied = scope.project.denial_reason(&scope.cluster, &key.group, &key.kind, &key.namespace, &key.name);
        if denied.is_none() || self.view.on(EngineOperator::DESTINATION).get(&NAMESPACES, "", &key.name)?.is_some() {
            return Ok(None);
        }
        let what = SyncAction::Apply { in_sync: false, health: None, awaits_definition: false };
        Ok(Some(SyncTask {
            key,
            version: "v1".into(),
            wave: 0,
            action: what,
            denial: denied,
            refusal: None,
            images: vec![],
        }))
    }

    fn namespace_refusal(&self, targets: &TargetObjects, scope: &SyncScope) -> Option<String> {
        let key = self.namespace_to_create(targets)?;
        // The objects may be in other namespaces. A namespace outside of the cluster's list is not created.
        if !scope.cluster.manages(&key.name) {
            return Some(format!("Namespace {} is not managed", quote(&key.name)));
        }
        let mut refused = self.view.rejected_writes().iter();
        refused
            .find(|one| one.object.table.resource.kind == "Namespace" && *one.object.name == *key.name)
            .map(|one| one.message.clone())
    }

    /// Returns the plan that applies and deletes these objects in order, after creating the namespace if requested.
    fn write_plan(
        &self,
        state: &Value,
        targets: &TargetObjects,
        live: &LiveObjects,
        keys: Vec<ResourceKey>,
    ) -> Result<Plan, DecideError> {
        let mut plan = Plan::ordered();
        if let Some(namespace) = self.namespace_to_create(targets)
            && self.view.on(EngineOperator::DESTINATION).get(&NAMESPACES, "", &namespace.name)?.is_none()
        {
            let body = json!({"metadata": {"name": namespace.name}});
            plan.push(Mutation::create(&NAMESPACES, body).on(EngineOperator::DESTINATION).managed_by(MANAGER));
        }
        let options = |word: &str| has_sync_option(&state["operation"], &format!("PrunePropagationPolicy={word}"));
        let propagation = if options("background") {
            "Background"
        } else if options("orphan") {
            "Orphan"
        } else {
            "Foreground"
        };
        for key in keys {
            match targets.objects.get(&key) {
                Some(target) => {
                    if let Some(resource) = &target.resource {
                        let apply = Mutation::apply(resource, target.object.clone()).on(EngineOperator::DESTINATION);
                        // A sync overrides changes of other field managers.
                        plan.push(apply.forced().managed_by(MANAGER).unconditional());
                    }
                }
                None => {
                    let version = live.get(&key).map_or("", |(version, _)| version);
                    if let Some(resource) = self.resource(&key, version)? {
                        plan.push(deletion_of(&resource, &key, propagation));
                    }
                }
            }
        }
        Ok(plan.waiting("the sync to continue").requeue_after(std::time::Duration::from_secs(1)))
    }

    /// Adds a successful sync to the history.
    fn record_history(&mut self, state: &Value) {
        let partial =
            list(state, "/operation/sync/resources").next().is_some() || state["operation"]["sync"]["dryRun"] == true;
        if text(state, "/phase") != "Succeeded" || partial {
            return;
        }
        let mut history: Vec<Value> = list(&self.before["status"], "/history").cloned().collect();
        let id = history.last().and_then(|last| last["id"].as_i64()).map_or(0, |id| id + 1);
        let result = &state["syncResult"];
        let mut entry = non_empty_fields([
            ("revision", result["revision"].clone()),
            ("source", result["source"].clone()),
            ("deployStartedAt", state["startedAt"].clone()),
            ("initiatedBy", state["operation"]["initiatedBy"].clone()),
        ]);
        entry["id"] = json!(id);
        entry["deployedAt"] =
            json!(parse_time(text(state, "/finishedAt")).map_or_else(|| format_time(self.now), format_time));
        history.push(entry);
        let most = self.before["spec"]["revisionHistoryLimit"]
            .as_u64()
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(HISTORY);
        let from = history.len().saturating_sub(most);
        status::set_field(&mut self.next["status"], "history", Value::Array(history.split_off(from)));
    }
}

/// Whether the manifests contain the CustomResourceDefinition of the kind.
fn defines(targets: &TargetObjects, key: &ResourceKey) -> bool {
    targets.objects.values().any(|target| {
        target.key.kind == "CustomResourceDefinition"
            && text(&target.object, "/spec/group") == key.group
            && text(&target.object, "/spec/names/kind") == key.kind
    })
}

fn unserved_kind_message(key: &ResourceKey, version: &str) -> String {
    let ResourceKey { group, kind, namespace, name } = key;
    format!(
        "The Kubernetes API could not find version {} of {group}/{kind} for requested resource {namespace}/{name}. \
         Make sure the {} CRD is installed on the destination cluster.",
        quote(version),
        quote(kind)
    )
}
