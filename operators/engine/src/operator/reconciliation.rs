//! One reconciliation of an Application.

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, PatchType, Plan, WriteOp};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::View;

use super::{EngineOperator, repository};
use crate::auto_sync::{self, AutoSyncDecision};
use crate::deletion::{self, cascade_propagation, remaining_objects};
use crate::destination::{self, DestinationCluster, SECRET_TYPE};
use crate::kinds::{self, APPLICATIONS, PROJECTS, SECRETS};
use crate::object_fields::{annotation, list, merge_patch, non_empty_fields, parse_time, text};
use crate::operation;
use crate::project::Project;
use crate::source::{RepositoryContent, RepositoryQuestion};
use crate::status::{self, ApplicationCondition, LiveObjects, set_conditions, set_field, set_health};
use crate::target::{ResourceKey, TargetObjects, target_objects};
use switchboard_object::health::HealthCode;

/// Annotation that requests a refresh from the repository.
const REFRESH: &str = "argocd.argoproj.io/refresh";
/// Conditions about the Application's spec.
const SPEC_CONDITIONS: [&str; 2] = ["InvalidSpecError", "UnknownError"];
/// Conditions about the comparison.
pub(super) const COMPARISON_CONDITIONS: [&str; 3] =
    ["ComparisonError", "RepeatedResourceWarning", "SharedResourceWarning"];

/// One reconciliation of an Application.
pub(super) struct Reconciliation<'a> {
    pub(super) engine: &'a EngineOperator,
    pub(super) view: &'a View,
    /// Application as read.
    pub(super) before: Value,
    /// Application as it will be written.
    pub(super) next: Value,
    pub(super) now: Timestamp,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// Project and cluster of an Application.
pub(super) struct SyncScope {
    pub(super) project: Project,
    pub(super) cluster: DestinationCluster,
}

impl<'a> Reconciliation<'a> {
    pub(super) fn new(engine: &'a EngineOperator, view: &'a View, application: Value) -> Self {
        let mut next = application.clone();
        if !next["status"].is_object() {
            next["status"] = json!({});
        }
        let (namespace, name) =
            (text(&next, "/metadata/namespace").to_string(), text(&next, "/metadata/name").to_string());
        Self { engine, view, now: view.now(), before: application, next, namespace, name }
    }

    pub(super) fn decide(mut self) -> Result<Plan, DecideError> {
        let destination = self.destination()?;
        let own = self.engine.destination.as_ref().map(|(_, secret)| secret);
        match &destination {
            Ok(cluster) if cluster.secret.as_ref() == own => {}
            // The Application belongs to another operator. If that one is missing, the operator of this cluster reports
            // it.
            Ok(cluster) if own.is_none() => match self.without_operator(cluster) {
                Some(plan) => return plan,
                None => return Ok(Plan::nothing()),
            },
            Err(_) if own.is_none() => {}
            _ => return Ok(Plan::nothing()),
        }
        if self.before["metadata"]["deletionTimestamp"].is_string() {
            return self.finalize(destination);
        }
        let (scope, wrong) = self.scope(destination)?;
        set_conditions(&mut self.next["status"], &SPEC_CONDITIONS, &wrong, self.now);
        let Some(scope) = scope else { return Ok(self.invalid(&wrong)) };
        if self.before["operation"].is_object()
            && let Some(plan) = self.advance_operation(&scope)?
        {
            return Ok(plan);
        }
        self.compare(&scope)
    }

    fn destination(&self) -> Result<Result<DestinationCluster, String>, DecideError> {
        let selection = Selection::namespace(&self.namespace).with_labels(&format!("{SECRET_TYPE}=cluster"));
        let named = self.view.list(&SECRETS, &selection)?;
        let named: Vec<DestinationCluster> =
            named.iter().filter_map(|secret| DestinationCluster::from_secret(&secret.value())).collect();
        Ok(destination::resolve(&self.before["spec"]["destination"], &named))
    }

    /// Returns the project and cluster if the Application may be deployed, and all conditions that prevent it.
    fn scope(
        &self,
        destination: Result<DestinationCluster, String>,
    ) -> Result<(Option<SyncScope>, Vec<ApplicationCondition>), DecideError> {
        let wrong = |message: String| ("InvalidSpecError", message);
        let spec = &self.before["spec"];
        let name = Some(text(spec, "/project")).filter(|name| !name.is_empty()).unwrap_or("default");
        let Some(project) = self.project(name)? else {
            return Ok((None, vec![wrong(format!("Application referencing project {name} which does not exist"))]));
        };
        if list(spec, "/sources").count() > 0 {
            return Ok((None, vec![wrong("the embedded engine supports a single source in spec.source".to_string())]));
        }
        let (url, path) = (text(spec, "/source/repoURL"), text(spec, "/source/path"));
        if url.is_empty() || (path.is_empty() && text(spec, "/source/chart").is_empty()) {
            let message = "spec.source.repoURL and either spec.source.path or spec.source.chart are required";
            return Ok((None, vec![wrong(message.to_string())]));
        }
        let mut against = Vec::new();
        if !project.permits_source(url) {
            against.push(wrong(format!("application repo {url} is not permitted in project '{name}'")));
        }
        let cluster = match destination {
            Ok(cluster) => cluster,
            Err(why) => {
                against.push(wrong(why));
                return Ok((None, against));
            }
        };
        let namespace = text(spec, "/destination/namespace");
        if !project.permits_destination(&cluster, namespace) {
            let by_name = !text(spec, "/destination/name").is_empty();
            let server = if by_name { &cluster.name } else { &cluster.server };
            against.push(wrong(format!(
                "application destination server '{server}' and namespace '{namespace}' do not match any of the allowed destinations in project '{name}'"
            )));
        }
        Ok((against.is_empty().then_some(SyncScope { project, cluster }), against))
    }

    fn project(&self, name: &str) -> Result<Option<Project>, DecideError> {
        let found =
            self.view.get(&PROJECTS, &self.namespace, name)?.map(|object| Project::from_object(&object.value()));
        Ok(found.or_else(|| (name == "default").then(|| Project::default_project(&self.namespace))))
    }

    /// Returns the plan for an Application that must not be deployed: its status is unknown, and an operation fails.
    fn invalid(mut self, wrong: &[ApplicationCondition]) -> Plan {
        let message = status::conditions_message(wrong);
        self.set_unknown();
        if self.before["operation"].is_object() {
            let state = match operation::is_running(&self.before["status"]) {
                true => self.before["status"]["operationState"].clone(),
                false => operation::begin(&self.before["operation"], self.now),
            };
            match operation::pending_step(&state, self.now) {
                Some(operation::OperationStep::Wait(wait)) => {
                    return self.patch_plan().blocked(message).requeue_after(wait);
                }
                Some(step) => self.record_step(step),
                None => self.record_step(operation::fail(&state, "Error", &message, self.now)),
            }
        }
        self.patch_plan().blocked(message)
    }

    pub(super) fn set_unknown(&mut self) {
        self.next["status"]["sync"]["status"] = json!("Unknown");
        if !self.next["status"]["sync"]["comparedTo"].is_object() {
            self.next["status"]["sync"]["comparedTo"] = self.compared_to();
        }
        set_health(&mut self.next["status"], HealthCode::Unknown, self.now);
    }

    /// Copies the result of an operation's step into the Application.
    pub(super) fn record_step(&mut self, step: operation::OperationStep) {
        match step {
            operation::OperationStep::Finish(state) => {
                self.next["status"]["operationState"] = state;
                if let Some(fields) = self.next.as_object_mut() {
                    fields.remove("operation");
                }
            }
            operation::OperationStep::Update(state) => self.next["status"]["operationState"] = state,
            operation::OperationStep::Write(_) | operation::OperationStep::Wait(_) => {}
        }
    }

    /// Queries the repository. Cached results from before the Application's creation are not used: its files may have
    /// been pushed since.
    pub(super) fn query_repository(
        &self,
        source: &Value,
        revision: &str,
        fresh: bool,
    ) -> Result<Result<RepositoryContent, String>, DecideError> {
        let sources = &self.engine.sources;
        let project = text(&self.before, "/spec/project");
        let url = text(source, "/repoURL");
        let (credential, login) = repository::credential(self.view, sources, &self.namespace, project, url)?;
        let last = &self.before["status"]["sync"]["comparedTo"]["source"];
        let question = RepositoryQuestion {
            source: source.clone(),
            revision: revision.to_string(),
            fresh,
            changed: last.is_object() && last != source,
            since: text(&self.before, "/metadata/creationTimestamp").to_string(),
            credential,
            application: self.name.clone(),
            namespace: text(&self.before, "/spec/destination/namespace").to_string(),
        };
        let loaded =
            |why: String| format!("Failed to load target state: failed to generate manifest for source 1 of 1: {why}");
        Ok(self.view.ask(question, |question| sources.content(&question, &login)).map_err(loaded))
    }

    /// Returns the target objects of a repository's answer, or Argo CD's message why they cannot be compared.
    pub(super) fn targets(
        &self,
        answer: &Result<RepositoryContent, String>,
        cluster: &DestinationCluster,
    ) -> Result<Result<TargetObjects, String>, DecideError> {
        let objects = match answer {
            Ok(content) => content.objects.clone(),
            Err(why) => return Ok(Err(why.clone())),
        };
        let at = self.view.on(EngineOperator::DESTINATION);
        let found =
            target_objects(&self.name, text(&self.before, "/spec/destination/namespace"), objects, |version, kind| {
                kinds::resolve(at, version, kind)
            })?;
        let refused = found.objects.keys().find_map(|key| cluster.refusal_reason(key));
        Ok(refused.map_or(Ok(found), |why| Err(format!("Failed to load live state: {why}"))))
    }

    /// Returns the live state of the target objects and of formerly managed objects. Objects external of the cluster's
    /// namespaces are not read, as in Argo CD.
    pub(super) fn live(
        &self,
        targets: &TargetObjects,
        cluster: &DestinationCluster,
    ) -> Result<LiveObjects, DecideError> {
        let mut live = LiveObjects::new();
        let wanted = targets
            .objects
            .values()
            .map(|target| (target.key.clone(), target.version.clone(), target.resource.clone()));
        let mut looked: Vec<(ResourceKey, String, Option<Resource>)> = wanted.collect();
        for (key, version) in status::managed_resources(&self.before["status"]) {
            if !targets.objects.contains_key(&key) && cluster.manages(&key.namespace) {
                let resource = self.resource(&key, &version)?;
                looked.push((key, version, resource));
            }
        }
        for (key, version, resource) in looked {
            let found = match &resource {
                Some(resource) => self.view.on(EngineOperator::DESTINATION).get(resource, &key.namespace, &key.name)?,
                None => None,
            };
            live.insert(key, (version, found.map(|object| object.value())));
        }
        Ok(live)
    }

    /// Returns the resource that serves a kind.
    pub(super) fn resource(&self, key: &ResourceKey, version: &str) -> Result<Option<Resource>, DecideError> {
        let api_version = if key.group.is_empty() { version.to_string() } else { format!("{}/{version}", key.group) };
        kinds::resolve(self.view.on(EngineOperator::DESTINATION), &api_version, &key.kind)
    }

    fn compared_to(&self) -> Value {
        let spec = &self.before["spec"];
        non_empty_fields([
            ("source", spec["source"].clone()),
            ("destination", spec["destination"].clone()),
            ("ignoreDifferences", spec["ignoreDifferences"].clone()),
        ])
    }

    /// Compares target and live objects, updates the status, and starts an automated sync if needed.
    fn compare(mut self, scope: &SyncScope) -> Result<Plan, DecideError> {
        let source = self.before["spec"]["source"].clone();
        let refresh = !annotation(&self.before, REFRESH).is_empty();
        let answer = self.query_repository(&source, text(&source, "/targetRevision"), refresh)?;
        let (targets, error) = match self.targets(&answer, &scope.cluster)? {
            Ok(targets) => (targets, None),
            Err(why) => (TargetObjects::default(), Some(why)),
        };
        let live = self.live(&targets, &scope.cluster)?;
        let mut found = status::compare(&self.name, &targets, &live, &scope.project, &scope.cluster, error.is_some());
        found.conditions.extend(error.iter().map(|why| ("ComparisonError", why.clone())));
        let sync = non_empty_fields([
            ("status", json!(found.sync.as_str())),
            ("revision", answer.as_ref().map_or(Value::Null, |content| json!(content.revision))),
            ("comparedTo", self.compared_to()),
        ]);
        let status = &mut self.next["status"];
        set_conditions(status, &COMPARISON_CONDITIONS, &found.conditions, self.now);
        set_field(status, "sync", sync);
        set_health(status, found.health, self.now);
        set_field(status, "resources", found.resources());
        set_field(status, "controllerNamespace", json!(self.namespace));
        set_field(
            status,
            "summary",
            non_empty_fields([("images", found.images.iter().map(|one| json!(one)).collect())]),
        );
        let mut again = self.engine.sources.poll();
        let mut said = error.clone();
        if let Ok(RepositoryContent { revision, resolved_at, source_type, .. }) = &answer {
            set_field(status, "sourceType", json!(source_type));
            let auto_sync = auto_sync::decide(&self.next, &found, revision, self.now);
            let sync_error = match auto_sync {
                AutoSyncDecision::StartSync(operation) => {
                    let state = operation::begin(&operation, self.now);
                    self.next["status"]["operationState"] =
                        operation::pin_revision(&state, &source, revision).unwrap_or(state);
                    self.next["operation"] = operation;
                    None
                }
                AutoSyncDecision::SyncError(message) => Some(message),
                AutoSyncDecision::RetryAfter(wait) => {
                    again = again.min(wait);
                    None
                }
                AutoSyncDecision::Nothing => None,
            };
            let conditions: Vec<ApplicationCondition> =
                sync_error.iter().map(|message| ("SyncError", message.clone())).collect();
            set_conditions(&mut self.next["status"], &["SyncError"], &conditions, self.now);
            said = said.or(sync_error);
            self.record_time(resolved_at);
        }
        let plan = self.patch_plan().requeue_after(again);
        Ok(match said {
            Some(message) => plan.blocked(message),
            None => plan,
        })
    }

    /// Records the time of the comparison if the status changes anyway or the recorded time is old: a write for the time
    /// alone would show in every plan.
    fn record_time(&mut self, resolved_at: &str) {
        let last = parse_time(text(&self.before, "/status/reconciledAt"));
        let is_requested = !annotation(&self.before, REFRESH).is_empty();
        let is_due = self.engine.sources.is_record_due(last, parse_time(resolved_at));
        if is_requested || is_due || merge_patch(&self.before, &self.next).is_some() {
            set_field(&mut self.next["status"], "reconciledAt", json!(resolved_at));
        }
    }

    /// Returns a plan that patches the Application if it has changed. A refresh request is removed.
    pub(super) fn patch_plan(&mut self) -> Plan {
        if let Some(annotations) = self.next.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            annotations.remove(REFRESH);
        }
        let mut plan = Plan::nothing();
        if let Some(patch) = merge_patch(&self.before, &self.next) {
            plan.push(Mutation::patch(&APPLICATIONS, &self.namespace, &self.name, PatchType::Merge, patch));
        }
        plan
    }

    /// Deletes the objects of a deleted Application before its finalizer is removed.
    fn finalize(mut self, destination: Result<DestinationCluster, String>) -> Result<Plan, DecideError> {
        let Some(propagation) = cascade_propagation(&self.before) else { return Ok(Plan::nothing()) };
        let name = Some(text(&self.before, "/spec/project")).filter(|name| !name.is_empty()).unwrap_or("default");
        if let Ok(cluster) = destination {
            let Some(project) = self.project(name)? else {
                let message = format!("Application referencing project {name} which does not exist");
                let wrong = [("DeletionError", message.clone())];
                set_conditions(&mut self.next["status"], &["DeletionError"], &wrong, self.now);
                return Ok(self.patch_plan().blocked(message));
            };
            let mut live = self.live(&TargetObjects::default(), &cluster)?;
            live.retain(|key, _| {
                project.denial_reason(&cluster, &key.group, &key.kind, &key.namespace, &key.name).is_none()
            });
            let remaining = remaining_objects(&self.name, &live);
            let mut plan = Plan::ordered();
            for key in &remaining.present {
                let version = live.get(key).map_or("", |(version, _)| version);
                if let Some(resource) = self.resource(key, version)? {
                    plan.push(deletion_of(&resource, key, propagation.as_str()));
                }
            }
            if !remaining.present.is_empty() || !remaining.terminating.is_empty() {
                let count = remaining.present.len() + remaining.terminating.len();
                return Ok(plan.waiting(format!("{count} objects to be deleted")));
            }
        }
        self.next["metadata"]["finalizers"] = deletion::other_finalizers(&self.before);
        Ok(self.patch_plan())
    }
}

/// Returns the mutation that deletes an object.
pub(super) fn deletion_of(resource: &Resource, key: &ResourceKey, propagation: &str) -> Mutation {
    let mut mutation = Mutation::delete(resource, &key.namespace, &key.name).on(EngineOperator::DESTINATION);
    mutation.operation = WriteOp::Delete { propagation: Some(propagation.to_string()) };
    mutation
}
