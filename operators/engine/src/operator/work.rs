//! One look at one Application.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::{Act, Mutation, PatchForm, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::{Outside, View};

use super::{Engine, repository};
use crate::auto::{self, Auto};
use crate::deletion::{self, cascades, left};
use crate::destination::{self, Cluster, SECRET_TYPE};
use crate::field::{annotation, list, merge_patch, text, told};
use crate::health::Code;
use crate::kinds::{self, APPLICATIONS, PROJECTS, SECRETS};
use crate::operation;
use crate::project::Project;
use crate::status::{self, Condition, Live, put, set_conditions, set_health};
use crate::target::{Key, Targets, targets};

/// The annotation that asks for a look at the repository.
const REFRESH: &str = "argocd.argoproj.io/refresh";
/// How soon a cluster that nobody has tried to reach yet is asked for again.
const UNTRIED_AGAIN: Duration = Duration::from_secs(1);
/// Conditions that a look at the Application's own words is about.
const OF_SPEC: [&str; 2] = ["InvalidSpecError", "UnknownError"];
/// Conditions that a comparison is about.
const OF_COMPARISON: [&str; 3] = ["ComparisonError", "RepeatedResourceWarning", "SharedResourceWarning"];

/// One look at one Application.
pub(super) struct Work<'a> {
    pub(super) engine: &'a Engine,
    pub(super) view: &'a View,
    pub(super) outside: &'a Outside<'a>,
    /// As it was read.
    pub(super) before: Value,
    /// As it is to be.
    pub(super) next: Value,
    pub(super) now: Timestamp,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// What an Application may do, and where.
pub(super) struct Scope {
    pub(super) project: Project,
    pub(super) cluster: Cluster,
}

impl<'a> Work<'a> {
    pub(super) fn new(engine: &'a Engine, view: &'a View, outside: &'a Outside<'a>, application: Value) -> Self {
        let mut next = application.clone();
        if !next["status"].is_object() {
            next["status"] = json!({});
        }
        let (namespace, name) =
            (text(&next, "/metadata/namespace").to_string(), text(&next, "/metadata/name").to_string());
        Self { engine, view, outside, now: view.now(), before: application, next, namespace, name }
    }

    pub(super) fn decide(mut self) -> Result<Plan, Stop> {
        let destination = self.destination()?;
        let own = self.engine.there.as_ref().map(|(_, secret)| secret);
        match &destination {
            Ok(cluster) if cluster.secret.as_ref() == own => {}
            // Another operator's; the one of this cluster says so if there is none.
            Ok(cluster) if own.is_none() => match self.unreached(cluster) {
                Some(plan) => return plan,
                None => return Ok(Plan::nothing()),
            },
            Err(_) if own.is_none() => {}
            _ => return Ok(Plan::nothing()),
        }
        if self.before["metadata"]["deletionTimestamp"].is_string() {
            return self.bury(destination);
        }
        let (scope, wrong) = self.scope(destination)?;
        set_conditions(&mut self.next["status"], &OF_SPEC, &wrong, self.now);
        let Some(scope) = scope else { return Ok(self.invalid(&wrong)) };
        if self.before["operation"].is_object()
            && let Some(plan) = self.operate(&scope)?
        {
            return Ok(plan);
        }
        self.compare(&scope)
    }

    fn destination(&self) -> Result<Result<Cluster, String>, Stop> {
        let selection = Selection::namespace(&self.namespace).labelled(&format!("{SECRET_TYPE}=cluster"));
        let named = self.view.list(&SECRETS, &selection)?;
        let named: Vec<Cluster> = named.iter().filter_map(|secret| Cluster::of(&secret.value())).collect();
        Ok(destination::resolve(&self.before["spec"]["destination"], &named))
    }

    /// For a cluster without an operator: why. Nothing when it has one.
    fn unreached(&mut self, cluster: &Cluster) -> Option<Result<Plan, Stop>> {
        let (namespace, name) = cluster.secret.as_ref()?;
        match self.outside.ask(json!({"cluster": {"namespace": namespace, "name": name}})) {
            Ok(Value::Null) => {
                let waits = format!("the cluster {} to be reached", cluster.name);
                Some(Ok(Plan::nothing().waiting(waits).again_after(UNTRIED_AGAIN)))
            }
            Ok(_) => None,
            Err(why) => {
                let message = format!("Failed to load live state: error getting cluster: {why}");
                let wrong = [("ComparisonError", message.clone())];
                set_conditions(&mut self.next["status"], &OF_COMPARISON, &wrong, self.now);
                self.unknown();
                Some(Ok(self.written().blocked(message)))
            }
        }
    }

    /// Project and cluster, if the Application may be deployed; and all that stands against it.
    fn scope(&self, destination: Result<Cluster, String>) -> Result<(Option<Scope>, Vec<Condition>), Stop> {
        let wrong = |message: String| ("InvalidSpecError", message);
        let spec = &self.before["spec"];
        let name = Some(text(spec, "/project")).filter(|name| !name.is_empty()).unwrap_or("default");
        let Some(project) = self.project(name)? else {
            return Ok((None, vec![wrong(format!("Application referencing project {name} which does not exist"))]));
        };
        if list(spec, "/sources").count() > 0 {
            return Ok((None, vec![wrong("the embedded engine takes one source, in spec.source".to_string())]));
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
        Ok((against.is_empty().then_some(Scope { project, cluster }), against))
    }

    fn project(&self, name: &str) -> Result<Option<Project>, Stop> {
        let found = self.view.get(&PROJECTS, &self.namespace, name)?.map(|object| Project::of(&object.value()));
        Ok(found.or_else(|| (name == "default").then(|| Project::default_project(&self.namespace))))
    }

    /// An Application that must not be deployed: nothing is compared, and an operation fails.
    fn invalid(mut self, wrong: &[Condition]) -> Plan {
        let message = status::in_words(wrong);
        self.unknown();
        if self.before["operation"].is_object() {
            let state = match operation::is_running(&self.before["status"]) {
                true => self.before["status"]["operationState"].clone(),
                false => operation::begin(&self.before["operation"], self.now),
            };
            match operation::first(&state, self.now) {
                Some(operation::Step::Wait(wait)) => return self.written().blocked(message).again_after(wait),
                Some(step) => self.ended(step),
                None => self.ended(operation::failed(&state, "Error", &message, self.now)),
            }
        }
        self.written().blocked(message)
    }

    fn unknown(&mut self) {
        self.next["status"]["sync"]["status"] = json!("Unknown");
        if !self.next["status"]["sync"]["comparedTo"].is_object() {
            self.next["status"]["sync"]["comparedTo"] = self.compared_to();
        }
        set_health(&mut self.next["status"], Code::Unknown, self.now);
    }

    /// Takes over what became of an operation.
    pub(super) fn ended(&mut self, step: operation::Step) {
        match step {
            operation::Step::Over(state) => {
                self.next["status"]["operationState"] = state;
                if let Some(fields) = self.next.as_object_mut() {
                    fields.remove("operation");
                }
            }
            operation::Step::State(state) => self.next["status"]["operationState"] = state,
            operation::Step::Write(_) | operation::Step::Wait(_) => {}
        }
    }

    /// Asks what stands in the repository. A look from before the Application was made is none: what it is about may have been
    /// pushed since.
    pub(super) fn ask(&self, source: &Value, revision: &str, fresh: bool) -> Result<Result<Value, String>, Stop> {
        let project = text(&self.before, "/spec/project");
        let url = text(source, "/repoURL");
        let credential = repository::credential(self.view, &self.engine.sources, &self.namespace, project, url)?;
        let last = &self.before["status"]["sync"]["comparedTo"]["source"];
        let request = json!({
            "source": source, "revision": revision, "fresh": fresh, "changed": last.is_object() && last != source,
            "since": self.before["metadata"]["creationTimestamp"], "credential": credential, "application": self.name,
            "namespace": text(&self.before, "/spec/destination/namespace"),
        });
        let loaded =
            |why: String| format!("Failed to load target state: failed to generate manifest for source 1 of 1: {why}");
        Ok(self.outside.ask(request).map_err(loaded))
    }

    /// What is wanted, by an answer of the repository; or why it cannot be compared, in Argo CD's words.
    pub(super) fn targets(
        &self,
        answer: &Result<Value, String>,
        cluster: &Cluster,
    ) -> Result<Result<Targets, String>, Stop> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => return Ok(Err(why.clone())),
        };
        let objects = list(answer, "/objects").cloned().collect();
        let at = self.view.at(Engine::TO);
        let found =
            targets(&self.name, text(&self.before, "/spec/destination/namespace"), objects, |version, kind| {
                kinds::kind(at, version, kind)
            })?;
        let refused = found.wanted.keys().find_map(|key| cluster.refuses(key));
        Ok(refused.map_or(Ok(found), |why| Err(format!("Failed to load live state: {why}"))))
    }

    /// What is there of what is wanted, and of what once was. What a cluster does not take is not looked at, as in Argo CD.
    pub(super) fn live(&self, targets: &Targets, cluster: &Cluster) -> Result<Live, Stop> {
        let mut live = Live::new();
        let wanted =
            targets.wanted.values().map(|target| (target.key.clone(), target.version.clone(), target.resource.clone()));
        let mut looked: Vec<(Key, String, Option<Resource>)> = wanted.collect();
        for (key, version) in status::managed(&self.before["status"]) {
            if !targets.wanted.contains_key(&key) && cluster.manages(&key.namespace) {
                let resource = self.resource(&key, &version)?;
                looked.push((key, version, resource));
            }
        }
        for (key, version, resource) in looked {
            let found = match &resource {
                Some(resource) => self.view.at(Engine::TO).get(resource, &key.namespace, &key.name)?,
                None => None,
            };
            live.insert(key, (version, found.map(|object| object.value())));
        }
        Ok(live)
    }

    /// Where a kind is served.
    pub(super) fn resource(&self, key: &Key, version: &str) -> Result<Option<Resource>, Stop> {
        let api_version = if key.group.is_empty() { version.to_string() } else { format!("{}/{version}", key.group) };
        kinds::kind(self.view.at(Engine::TO), &api_version, &key.kind)
    }

    fn compared_to(&self) -> Value {
        let spec = &self.before["spec"];
        told([
            ("source", spec["source"].clone()),
            ("destination", spec["destination"].clone()),
            ("ignoreDifferences", spec["ignoreDifferences"].clone()),
        ])
    }

    /// Holds what is wanted against what is there, writes it down, and lets the Application sync itself.
    fn compare(mut self, scope: &Scope) -> Result<Plan, Stop> {
        let source = self.before["spec"]["source"].clone();
        let refresh = !annotation(&self.before, REFRESH).is_empty();
        let answer = self.ask(&source, text(&source, "/targetRevision"), refresh)?;
        let (targets, error) = match self.targets(&answer, &scope.cluster)? {
            Ok(targets) => (targets, None),
            Err(why) => (Targets::default(), Some(why)),
        };
        let live = self.live(&targets, &scope.cluster)?;
        let mut found = status::compare(&self.name, &targets, &live, &scope.project, &scope.cluster, error.is_some());
        found.conditions.extend(error.iter().map(|why| ("ComparisonError", why.clone())));
        let sync = told([
            ("status", json!(found.sync.word())),
            ("revision", answer.as_ref().map_or(Value::Null, |answer| answer["revision"].clone())),
            ("comparedTo", self.compared_to()),
        ]);
        let status = &mut self.next["status"];
        set_conditions(status, &OF_COMPARISON, &found.conditions, self.now);
        put(status, "sync", sync);
        set_health(status, found.health, self.now);
        put(status, "resources", found.resources());
        put(status, "controllerNamespace", json!(self.namespace));
        put(status, "summary", told([("images", found.images.iter().map(|one| json!(one)).collect())]));
        let mut again = self.engine.sources.poll();
        let mut said = error.clone();
        if let Ok(answer) = &answer {
            put(status, "reconciledAt", answer["resolvedAt"].clone());
            put(status, "sourceType", answer["sourceType"].clone());
            let revision = text(answer, "/revision");
            let auto = auto::decide(&self.next, &found, revision, self.now);
            let told = match auto {
                Auto::Start(operation) => {
                    let state = operation::begin(&operation, self.now);
                    self.next["status"]["operationState"] =
                        operation::pinned(&state, &source, revision).unwrap_or(state);
                    self.next["operation"] = operation;
                    None
                }
                Auto::Told(message) => Some(message),
                Auto::Later(wait) => {
                    again = again.min(wait);
                    None
                }
                Auto::Nothing => None,
            };
            let conditions: Vec<Condition> = told.iter().map(|message| ("SyncError", message.clone())).collect();
            set_conditions(&mut self.next["status"], &["SyncError"], &conditions, self.now);
            said = said.or(told);
        }
        let plan = self.written().again_after(again);
        Ok(match said {
            Some(message) => plan.blocked(message),
            None => plan,
        })
    }

    /// The Application as it is to be, if that is another; what asked for a look is answered by it.
    pub(super) fn written(&mut self) -> Plan {
        if let Some(annotations) = self.next.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            annotations.remove(REFRESH);
        }
        let mut plan = Plan::nothing();
        if let Some(patch) = merge_patch(&self.before, &self.next) {
            plan.push(Mutation::patch(&APPLICATIONS, &self.namespace, &self.name, PatchForm::Merge, patch));
        }
        plan
    }

    /// An Application that is deleted: with its finalizer, its objects go first.
    fn bury(mut self, destination: Result<Cluster, String>) -> Result<Plan, Stop> {
        let Some(propagation) = cascades(&self.before) else { return Ok(Plan::nothing()) };
        let name = Some(text(&self.before, "/spec/project")).filter(|name| !name.is_empty()).unwrap_or("default");
        if let Ok(cluster) = destination {
            let Some(project) = self.project(name)? else {
                let message = format!("Application referencing project {name} which does not exist");
                let wrong = [("DeletionError", message.clone())];
                set_conditions(&mut self.next["status"], &["DeletionError"], &wrong, self.now);
                return Ok(self.written().blocked(message));
            };
            let mut live = self.live(&Targets::default(), &cluster)?;
            live.retain(|key, _| project.refuses(&cluster, &key.group, &key.kind, &key.namespace, &key.name).is_none());
            let left = left(&self.name, &live);
            let mut plan = Plan::in_order();
            for key in &left.there {
                let version = live.get(key).map_or("", |(version, _)| version);
                if let Some(resource) = self.resource(key, version)? {
                    plan.push(removal(&resource, key, propagation.word()));
                }
            }
            if !left.there.is_empty() || !left.going.is_empty() {
                let count = left.there.len() + left.going.len();
                return Ok(plan.waiting(format!("{count} objects to be gone")));
            }
        }
        self.next["metadata"]["finalizers"] = deletion::others(&self.before);
        Ok(self.written())
    }
}

/// The removal of an object.
pub(super) fn removal(resource: &Resource, key: &Key, propagation: &str) -> Mutation {
    let mut mutation = Mutation::delete(resource, &key.namespace, &key.name).at(Engine::TO);
    mutation.act = Act::Delete { propagation: Some(propagation.to_string()) };
    mutation
}
