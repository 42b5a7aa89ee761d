//! An operation of an Application, one step of it.

use serde_json::{Value, json};
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::{Mutation, Plan};

use super::Engine;
use super::work::{Scope, Work, removal};
use crate::auto::has_sync_option;
use crate::compare::is_same;
use crate::deletion::is_never_pruned;
use crate::field::{list, stamp, text, time, told};
use crate::health;
use crate::kinds::NAMESPACES;
use crate::operation::{self, Step, Task, What};
use crate::status::{self, Live};
use crate::target::{Key, Targets, images, tracked_by};

/// Who writes, as Argo CD calls itself when it applies on the server.
const MANAGER: &str = "argocd-controller";
/// How many syncs are remembered when the Application does not say.
const HISTORY: usize = 10;

impl Work<'_> {
    /// The next step of the Application's operation. None when it is over, and the Application can be compared.
    pub(super) fn operate(&mut self, scope: &Scope) -> Result<Option<Plan>, Stop> {
        let running = operation::is_running(&self.before["status"]);
        let state = match running {
            true => self.before["status"]["operationState"].clone(),
            false => operation::begin(&self.before["operation"], self.now),
        };
        if let Some(step) = operation::first(&state, self.now) {
            return Ok(self.stepped(step));
        }
        let (source, revision) = operation::source(&self.before, &state);
        let (source, revision) = (source.clone(), revision.to_string());
        let answer = self.ask(&source, &revision, !running)?;
        let wanted = self.targets(&answer, &scope.cluster)?;
        let (answer, targets) = match answer.and_then(|answer| Ok((answer, wanted?))) {
            Ok(both) => both,
            Err(why) => {
                let step = operation::failed(&state, "Error", &format!("ComparisonError: {why}"), self.now);
                return Ok(self.stepped(step));
            }
        };
        if let Some(state) = operation::pinned(&state, &source, text(&answer, "/revision")) {
            // What will be made is known of before it is made.
            self.announce(&targets);
            return Ok(self.stepped(Step::State(state)));
        }
        let live = self.live(&targets, &scope.cluster)?;
        if let Some(why) = self.namespace_refused(&targets, scope) {
            let step = operation::failed(&state, "Failed", &format!("namespace auto creation failed: {why}"), self.now);
            return Ok(self.stepped(step));
        }
        let denied: Vec<Task> = self.namespace_denied(&targets, scope)?.into_iter().collect();
        if let Some(step) = operation::invalid(&state, &denied, self.now) {
            return Ok(self.stepped(step));
        }
        let tasks = self.tasks(&targets, &live, scope);
        match operation::next(&state, tasks, self.now) {
            Step::Write(keys) => self.writes(&state, &targets, &live, keys).map(Some),
            step => Ok(self.stepped(step)),
        }
    }

    fn stepped(&mut self, step: Step) -> Option<Plan> {
        match step {
            Step::Wait(wait) => return Some(Plan::nothing().waiting("the sync to go on").again_after(wait)),
            Step::Over(state) => {
                self.remember(&state);
                self.ended(Step::Over(state));
                return None;
            }
            other => self.ended(other),
        }
        Some(self.written())
    }

    /// Puts what is going to be made among the Application's objects, so that it is found whatever happens next.
    fn announce(&mut self, targets: &Targets) {
        let known: Vec<Key> = status::managed(&self.before["status"]).into_iter().map(|(key, _)| key).collect();
        let new = targets.wanted.values().filter(|target| !known.contains(&target.key));
        let new: Vec<Value> = new
            .map(|target| {
                told([
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
        status::put(&mut self.next["status"], "resources", Value::Array(resources));
    }

    fn tasks(&self, targets: &Targets, live: &Live, scope: &Scope) -> Vec<Task> {
        let refused = |key: &Key| {
            let about = |one: &&switchboard_kernel::view::Refusal| {
                let (of, resource) = (&one.object, &one.object.table.resource);
                resource.group == key.group
                    && resource.kind == key.kind
                    && *of.namespace == *key.namespace
                    && *of.name == *key.name
            };
            self.view.refused().iter().find(about).map(|one| one.message.clone())
        };
        let mut tasks = Vec::new();
        for target in targets.wanted.values() {
            let key = &target.key;
            let there = live.get(key).and_then(|(_, object)| object.as_ref());
            let early = target.resource.is_none() && defines(targets, key);
            let unknown = (target.resource.is_none() && !early).then(|| unserved(key, &target.version));
            let allowed = scope.project.refuses(&scope.cluster, &key.group, &key.kind, &key.namespace, &key.name);
            let what = What::Apply {
                same: there.is_some_and(|there| is_same(&target.object, there)),
                health: there.and_then(health::of).map(|health| health.code),
                early,
            };
            let images = images(&target.object);
            let task = Task {
                key: key.clone(),
                version: target.version.clone(),
                wave: target.wave,
                what,
                denied: allowed.or(unknown),
                refused: refused(key),
                images,
            };
            tasks.push(task);
        }
        // What was to be pruned and is gone by now belongs to the result.
        let marked: Vec<(Key, bool)> = list(&self.before["status"], "/resources")
            .zip(status::managed(&self.before["status"]))
            .map(|(one, (key, _))| (key, one["requiresPruning"] == true))
            .collect();
        for (key, (version, object)) in live.iter().filter(|(key, _)| !targets.wanted.contains_key(*key)) {
            let ours = object.as_ref().is_some_and(|object| tracked_by(object, key) == Some(self.name.as_str()));
            let was = object.is_none() && marked.iter().any(|(marked, prune)| marked == key && *prune);
            if !ours && !was {
                continue;
            }
            let what = What::Prune {
                there: ours,
                going: object.as_ref().is_some_and(|object| object["metadata"]["deletionTimestamp"].is_string()),
                kept: object.as_ref().is_some_and(is_never_pruned),
            };
            let denied = scope.project.refuses(&scope.cluster, &key.group, &key.kind, &key.namespace, &key.name);
            tasks.push(Task {
                key: key.clone(),
                version: version.clone(),
                wave: 0,
                what,
                denied,
                refused: refused(key),
                images: vec![],
            });
        }
        tasks
    }

    fn creates_namespace(&self, targets: &Targets) -> Option<Key> {
        let name = text(&self.before, "/spec/destination/namespace");
        let key =
            Key { group: String::new(), kind: "Namespace".into(), namespace: String::new(), name: name.to_string() };
        let asked = has_sync_option(&self.before["operation"], "CreateNamespace=true");
        (asked && !name.is_empty() && !targets.wanted.contains_key(&key)).then_some(key)
    }

    /// The task to make a namespace that the project does not permit. Argo CD asks the project only for one that is not there, and
    /// does so whatever else of the Application is synced.
    fn namespace_denied(&self, targets: &Targets, scope: &Scope) -> Result<Option<Task>, Stop> {
        let Some(key) = self.creates_namespace(targets) else { return Ok(None) };
        let denied = scope.project.refuses(&scope.cluster, &key.group, &key.kind, &key.namespace, &key.name);
        if denied.is_none() || self.view.at(Engine::TO).get(&NAMESPACES, "", &key.name)?.is_some() {
            return Ok(None);
        }
        let what = What::Apply { same: false, health: None, early: false };
        Ok(Some(Task { key, version: "v1".into(), wave: 0, what, denied, refused: None, images: vec![] }))
    }

    fn namespace_refused(&self, targets: &Targets, scope: &Scope) -> Option<String> {
        let key = self.creates_namespace(targets)?;
        // Its objects may all say another: what is not deployed to is not made, either.
        if !scope.cluster.manages(&key.name) {
            return Some(format!("Namespace {:?} is not managed", key.name));
        }
        let mut refused = self.view.refused().iter();
        refused
            .find(|one| one.object.table.resource.kind == "Namespace" && *one.object.name == *key.name)
            .map(|one| one.message.clone())
    }

    /// Applies and removes these, in this order; the namespace comes first, if it is to be made.
    fn writes(&self, state: &Value, targets: &Targets, live: &Live, keys: Vec<Key>) -> Result<Plan, Stop> {
        let mut plan = Plan::in_order();
        if let Some(namespace) = self.creates_namespace(targets)
            && self.view.at(Engine::TO).get(&NAMESPACES, "", &namespace.name)?.is_none()
        {
            let body = json!({"metadata": {"name": namespace.name}});
            plan.push(Mutation::create(&NAMESPACES, body).at(Engine::TO).managed_by(MANAGER));
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
            match targets.wanted.get(&key) {
                Some(target) => {
                    if let Some(resource) = &target.resource {
                        let apply = Mutation::apply(resource, target.object.clone()).at(Engine::TO);
                        // What others have changed is taken back: that is what a sync is for.
                        plan.push(apply.forced().managed_by(MANAGER).regardless());
                    }
                }
                None => {
                    let version = live.get(&key).map_or("", |(version, _)| version);
                    if let Some(resource) = self.resource(&key, version)? {
                        plan.push(removal(&resource, &key, propagation));
                    }
                }
            }
        }
        Ok(plan.waiting("the sync to go on").again_after(std::time::Duration::from_secs(1)))
    }

    /// Writes a sync that went well into the history.
    fn remember(&mut self, state: &Value) {
        let partial =
            list(state, "/operation/sync/resources").next().is_some() || state["operation"]["sync"]["dryRun"] == true;
        if text(state, "/phase") != "Succeeded" || partial {
            return;
        }
        let mut history: Vec<Value> = list(&self.before["status"], "/history").cloned().collect();
        let id = history.last().and_then(|last| last["id"].as_i64()).map_or(0, |id| id + 1);
        let result = &state["syncResult"];
        let mut entry = told([
            ("revision", result["revision"].clone()),
            ("source", result["source"].clone()),
            ("deployStartedAt", state["startedAt"].clone()),
            ("initiatedBy", state["operation"]["initiatedBy"].clone()),
        ]);
        entry["id"] = json!(id);
        entry["deployedAt"] = json!(time(text(state, "/finishedAt")).map_or_else(|| stamp(self.now), stamp));
        history.push(entry);
        let most = self.before["spec"]["revisionHistoryLimit"]
            .as_u64()
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(HISTORY);
        let from = history.len().saturating_sub(most);
        status::put(&mut self.next["status"], "history", Value::Array(history.split_off(from)));
    }
}

/// Whether a definition of the kind is among what is wanted.
fn defines(targets: &Targets, key: &Key) -> bool {
    targets.wanted.values().any(|target| {
        target.key.kind == "CustomResourceDefinition"
            && text(&target.object, "/spec/group") == key.group
            && text(&target.object, "/spec/names/kind") == key.kind
    })
}

fn unserved(key: &Key, version: &str) -> String {
    let Key { group, kind, namespace, name } = key;
    format!(
        "The Kubernetes API could not find version {version:?} of {group}/{kind} for requested resource {namespace}/{name}. \
         Make sure the {kind:?} CRD is installed on the destination cluster."
    )
}
