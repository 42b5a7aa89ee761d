//! Makes what is wanted of a bundle. What was rendered before from the same values is not rendered again.

mod attribution;
mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Desired, Installed, Object, Target, TargetName, resource};
use crate::chart::Chart;
use crate::field::Field;
use crate::hash;
use crate::model::{CLUSTER, ENVIRONMENT, INTEGRATION, LEAN_NAMESPACE, NAMESPACE};
use crate::model::{Disabled, Entry, Environment, Model, Namespace};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::render::{Context, RenderError, Rendered, check};
use crate::settings::{DEFAULT_HASH_LENGTH, Settings};
use crate::sharding::{Divider, Shard};
use crate::source::{Bundle, sha256};
use crate::{sharding, values};
use attribution::Attribution;

/// The schema of the file that says how long an image's tag is.
const INTERFACE_SETTINGS: &str = "/app-interface/app-interface-settings-1.yml";
/// What is said of what failed without a word.
const NOT_RENDERED: &str = "could not be rendered";

/// Makes what is wanted of one bundle after the other.
pub struct Builder {
    chart: Chart,
    settings: Settings,
    /// Objects by what they were rendered from; only what the last bundle used.
    kept: BTreeMap<String, Kept>,
    /// How much of a commit was a tag when they were.
    hash_length: usize,
}

#[derive(Clone)]
struct Kept {
    objects: Arc<Vec<Object>>,
    parameters: Arc<Parameters>,
}

/// What is rendered at once.
enum Work<'a> {
    /// One integration alone.
    Entry(&'a Entry, &'a [Shard]),
    /// What a namespace has beside integrations.
    Shared(&'a Environment),
    /// A namespace at once.
    Namespace(&'a [Divided], &'a Environment),
}

impl Work<'_> {
    fn is_shared(&self) -> bool {
        matches!(self, Work::Shared(_))
    }
}

/// An entry with its shards.
struct Divided {
    entry: Entry,
    shards: Vec<Shard>,
    incomplete: Vec<Problem>,
}

impl Builder {
    /// With a chart and what a run is told.
    pub fn new(chart: Chart, settings: Settings) -> Self {
        Self { chart, settings, kept: BTreeMap::new(), hash_length: DEFAULT_HASH_LENGTH }
    }

    /// What a run is told.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is wanted by a bundle.
    pub fn build(&mut self, bundle: &Bundle) -> Desired {
        let model = Model::read(bundle, &self.settings.scope);
        let mut desired = Desired {
            sha: bundle.sha().to_string(),
            commit: bundle.commit().map(str::to_string),
            caller: self.settings.caller().to_string(),
            unnamed: self.settings.scope.upstream.is_none(),
            disabled: model.disabled,
            ..Desired::default()
        };
        (desired.unreadable, desired.unrelated) = unread(bundle, &model.entries);
        let groups = self.divided(bundle, model.entries, &mut desired.disabled);
        let running: BTreeSet<&Arc<str>> = groups.values().map(|(namespace, _)| &namespace.path).collect();
        desired.empty = model.namespaces.values().filter(|one| !running.contains(&one.path)).cloned().collect();
        let hash_length = hash_length(bundle);
        if std::mem::replace(&mut self.hash_length, hash_length) != hash_length {
            // Tags are cut otherwise now, in whatever is made with one.
            self.kept.clear();
        }
        self.render(&groups, &mut desired);
        desired
    }

    /// Entries with their shards, by where they run. What clashes is on neither side.
    fn divided(&self, bundle: &Bundle, entries: Vec<Entry>, disabled: &mut Vec<Disabled>) -> Groups {
        let scope = &self.settings.scope;
        let context = sharding::Context { bundle, meta: &self.settings.meta, compat: scope.compat };
        let mut divider = Divider::new(context);
        let clashes = clashes(&entries);
        let mut groups = Groups::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let place = (entry.namespace.cluster.name.clone(), entry.namespace.name.clone());
            let mut disable = |problem| {
                let (integration, namespace) = (Some(entry.integration.clone()), Some(place.clone()));
                disabled.push(Disabled { integration, namespace, problem });
            };
            if let Some(problem) = clashes.get(&index) {
                disable(problem.clone());
                continue;
            }
            match divider.shards(&entry) {
                Ok(divided) => {
                    let group = groups.entry(place).or_insert_with(|| (entry.namespace.clone(), Vec::new()));
                    group.1.push(Divided { entry, shards: divided.shards, incomplete: divided.problems });
                }
                Err(problem) => disable(problem),
            }
        }
        groups
    }

    fn render(&mut self, groups: &Groups, desired: &mut Desired) {
        let compat = self.settings.scope.compat;
        let context = Context { chart: &self.chart, settings: &self.settings, hash_length: self.hash_length };
        let mut failed: BTreeMap<String, String> = BTreeMap::new();
        let mut used = BTreeSet::new();
        // What is shared comes first: it is not any integration's.
        for shared in [true, false] {
            let all = groups.values().flat_map(|(namespace, entries)| jobs(namespace, entries, compat));
            let mut jobs: BTreeMap<String, Work<'_>> = all.filter(|(_, work)| work.is_shared() == shared).collect();
            used.extend(jobs.keys().cloned());
            jobs.retain(|key, _| !self.kept.contains_key(key));
            let jobs: Vec<(String, Work<'_>)> = jobs.into_iter().collect();
            desired.rendered += jobs.len();
            let made = threads::all(&jobs, |(_, work)| made(&context, work, &self.kept));
            for ((key, _), made) in jobs.into_iter().zip(made) {
                match made {
                    Ok(kept) => drop(self.kept.insert(key, kept)),
                    Err(message) => drop(failed.insert(key, message)),
                }
            }
        }
        self.kept.retain(|key, _| used.contains(key));
        for (place, (namespace, entries)) in groups {
            let target = self.target(place, namespace, entries, &failed, &mut desired.disabled);
            desired.targets.insert(place.clone(), target);
        }
    }

    fn target(
        &self,
        place: &TargetName,
        namespace: &Arc<Namespace>,
        entries: &[Divided],
        failed: &BTreeMap<String, String>,
        disabled: &mut Vec<Disabled>,
    ) -> Target {
        let environment = &namespace.environment;
        let mut target = Target {
            namespace: namespace.clone(),
            integrations: Vec::new(),
            shared: Arc::default(),
            shared_parameters: Arc::default(),
            broken: None,
        };
        let disable = |entry: &Entry, message: &str, disabled: &mut Vec<Disabled>| {
            let (integration, namespace) = (Some(entry.integration.clone()), Some(place.clone()));
            disabled.push(Disabled { integration, namespace, problem: entry.problem(message) });
        };
        if self.settings.scope.compat {
            let key = namespace_key(entries, environment);
            match (self.kept.get(&key), failed.get(&key)) {
                (Some(kept), _) => Attribution::of(entries).divide(kept, entries, &mut target),
                (None, message) => {
                    let message = message.map_or(NOT_RENDERED, String::as_str);
                    entries.iter().for_each(|one| disable(&one.entry, message, disabled));
                    target.broken = entries.first().map(|one| one.entry.problem(message));
                }
            }
            return target;
        }
        let key = shared_key(environment);
        match (self.kept.get(&key), failed.get(&key)) {
            (Some(kept), _) => {
                (target.shared, target.shared_parameters) = (kept.objects.clone(), kept.parameters.clone());
            }
            (None, message) => {
                let message = message.map_or(NOT_RENDERED, String::as_str);
                target.broken = Some(Problem::of_file(&namespace.path, format!("what is shared there: {message}")));
            }
        }
        for one in entries {
            let key = entry_key(one);
            match (self.kept.get(&key), failed.get(&key)) {
                (Some(kept), _) => target.integrations.push(one.installed(&kept.objects, &kept.parameters)),
                (None, message) => {
                    disable(&one.entry, message.map_or(NOT_RENDERED, String::as_str), disabled);
                }
            }
        }
        for (entry, message) in same_names(&target) {
            disable(&entry, &message, disabled);
            target.integrations.retain(|one| one.entry.integration != entry.integration);
        }
        target
    }
}

type Groups = BTreeMap<TargetName, (Arc<Namespace>, Vec<Divided>)>;

impl Divided {
    fn installed(&self, objects: &Arc<Vec<Object>>, parameters: &Arc<Parameters>) -> Installed {
        Installed {
            entry: self.entry.clone(),
            shards: self.shards.clone(),
            objects: objects.clone(),
            parameters: parameters.clone(),
            incomplete: self.incomplete.clone(),
        }
    }
}

/// What could not be read: what may be of a schema that something is made of, and the rest.
fn unread(bundle: &Bundle, entries: &[Entry]) -> (Vec<Problem>, Vec<Problem>) {
    let of_shards = entries.iter().filter_map(|entry| entry.sharding.strategy.schema());
    let fixed = [INTEGRATION, NAMESPACE, LEAN_NAMESPACE, CLUSTER, ENVIRONMENT, INTERFACE_SETTINGS];
    let matter: BTreeSet<&str> = of_shards.chain(fixed).collect();
    let (matters, others): (Vec<_>, Vec<_>) =
        bundle.unread().partition(|(_, schema)| schema.is_none_or(|schema| matter.contains(schema)));
    let problems = |all: Vec<(&Problem, _)>| all.into_iter().map(|(problem, _)| problem.clone()).collect();
    (problems(matters), problems(others))
}

fn hash_length(bundle: &Bundle) -> usize {
    let mut files = bundle.of_schema(INTERFACE_SETTINGS);
    let length = files.find_map(|file| Field::of(bundle, file).get("hashLength").ok().flatten()?.integer().ok());
    length.and_then(|length| usize::try_from(length).ok()).unwrap_or(DEFAULT_HASH_LENGTH)
}

/// What is rendered for a namespace, by what it is rendered from.
fn jobs<'a>(namespace: &'a Namespace, entries: &'a [Divided], compat: bool) -> Vec<(String, Work<'a>)> {
    let environment = &namespace.environment;
    if compat {
        return vec![(namespace_key(entries, environment), Work::Namespace(entries, environment))];
    }
    let each = entries.iter().map(|one| (entry_key(one), Work::Entry(&one.entry, &one.shards)));
    each.chain([(shared_key(environment), Work::Shared(environment))]).collect()
}

fn entry_key(one: &Divided) -> String {
    let environment = &one.entry.namespace.environment;
    let values = values::of_entry(&one.entry, &one.shards);
    sha256(json!([&*environment.name, environment.parameters, values]).to_string().as_bytes())
}

fn shared_key(environment: &Environment) -> String {
    sha256(json!([&*environment.name, environment.parameters]).to_string().as_bytes())
}

fn namespace_key(entries: &[Divided], environment: &Environment) -> String {
    let specs: Vec<Value> = entries.iter().map(|one| values::of_entry(&one.entry, &one.shards)).collect();
    sha256(json!([&*environment.name, environment.parameters, "all", specs]).to_string().as_bytes())
}

fn made(context: &Context<'_>, work: &Work<'_>, known: &BTreeMap<String, Kept>) -> Result<Kept, String> {
    let compat = context.settings.scope.compat;
    let rendered = match work {
        Work::Entry(entry, shards) => {
            let mut rendered = context.entry(entry, shards).map_err(|error| told(&error))?;
            // What is there without any integration is not this one's.
            if let Some(shared) = known.get(&shared_key(&entry.namespace.environment)) {
                rendered.objects.retain(|object| !shared.objects.iter().any(|other| same_object(object, &other.body)));
            }
            rendered
        }
        Work::Shared(environment) => context.shared(environment).map_err(|error| told(&error))?,
        Work::Namespace(entries, environment) => {
            let specs = entries.iter().map(|one| values::of_entry(&one.entry, &one.shards)).collect();
            context.namespace(specs, environment).map_err(|error| told(&error))?
        }
    };
    let shards: &[Shard] = if let Work::Entry(_, shards) = work { shards } else { &[] };
    let Rendered { objects, parameters } = rendered;
    let objects = objects.into_iter().map(|body| object(body, shards, !compat)).collect::<Result<Vec<_>, _>>()?;
    Ok(Kept { objects: Arc::new(objects), parameters: Arc::new(parameters) })
}

/// What failed, and why.
fn told(error: &RenderError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

fn same_object(one: &Value, other: &Value) -> bool {
    one.get("kind") == other.get("kind") && one.pointer("/metadata/name") == other.pointer("/metadata/name")
}

fn object(body: Value, shards: &[Shard], all: bool) -> Result<Object, String> {
    check(&body, all)?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let Some(kind) = resource(&kind) else {
        return Err(format!(
            "the chart makes a {kind}; Deployments, StatefulSets, CronJobs and Services are looked after"
        ));
    };
    let shard = shards.iter().filter(|shard| name.ends_with(&shard.suffix)).max_by_key(|shard| shard.suffix.len());
    Ok(Object { kind, hash: hash::hash(&body), shard: shard.cloned(), name, body })
}

/// Entries that stand twice, and namespaces that two files describe. Which is meant cannot be known, so none is used.
fn clashes<'a>(entries: &'a [Entry]) -> BTreeMap<usize, Problem> {
    let mut clashes = BTreeMap::new();
    let mut files: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut places: BTreeMap<(&str, &str, &str), Vec<usize>> = BTreeMap::new();
    let place = |entry: &'a Entry| (&*entry.namespace.cluster.name, &*entry.namespace.name);
    for (index, entry) in entries.iter().enumerate() {
        let (cluster, name) = place(entry);
        files.entry((cluster, name)).or_default().insert(&entry.namespace.path);
        places.entry((cluster, name, &entry.integration)).or_default().push(index);
    }
    for ((cluster, name, integration), found) in places.iter().filter(|(_, found)| found.len() > 1) {
        for index in found {
            let others = found.iter().filter(|other| *other != index).map(|other| {
                let other = &entries[*other];
                format!("{} {}", other.file, other.field)
            });
            let others: Vec<String> = others.collect();
            let message = format!("{integration} runs in {name} of {cluster} as well by {}", others.join(" and "));
            clashes.insert(*index, entries[*index].problem(message));
        }
    }
    for (index, entry) in entries.iter().enumerate() {
        let (cluster, name) = place(entry);
        let own = &*entry.namespace.path;
        let others: Vec<&str> = files[&(cluster, name)].iter().copied().filter(|file| *file != own).collect();
        if !others.is_empty() {
            let message = format!("{own} is the namespace {name} of {cluster}, as {} is", others.join(" and "));
            clashes.insert(index, entry.problem(message).hint("let one file describe a namespace"));
        }
    }
    clashes
}

/// Integrations whose objects have the name of another's.
fn same_names(target: &Target) -> Vec<(Entry, String)> {
    let mut owners: BTreeMap<(&str, &str), &Entry> = BTreeMap::new();
    let mut found: BTreeMap<Arc<str>, (Entry, String)> = BTreeMap::new();
    for one in &target.integrations {
        for object in one.objects.iter() {
            let key = (object.kind.kind.as_ref(), object.name.as_str());
            if let Some(other) = owners.insert(key, &one.entry) {
                for (entry, clashing) in [(&one.entry, other), (other, &one.entry)] {
                    let whose =
                        if other.integration == one.entry.integration { "itself" } else { &clashing.integration };
                    let message = format!("makes {} {}, as {whose} does", key.0, key.1);
                    found.insert(entry.integration.clone(), (entry.clone(), message));
                }
            }
        }
    }
    found.into_values().collect()
}
