//! Rendering of a bundle to desired objects. Results are cached by their values.

mod attribution;
mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_object::causes::error_chain;

use super::{DesiredIntegration, DesiredNamespace, DesiredObject, DesiredObjects, NamespaceKey, resource};
use crate::chart::IntegrationsChart;
use crate::data_field::DataField;
use crate::hash;
use crate::model::{CLUSTER, ENVIRONMENT, INTEGRATION, LEAN_NAMESPACE, NAMESPACE};
use crate::model::{DisabledEntry, IntegrationEnvironment, IntegrationModel, IntegrationNamespace, ManagedEntry};
use crate::parameters::SourcedParameters;
use crate::problem::DataProblem;
use crate::render::{RenderContext, RenderedObjects, check_names};
use crate::settings::{DEFAULT_HASH_LENGTH, RenderSettings};
use crate::sharding::{Shard, ShardBuilder};
use crate::source::{Bundle, sha256};
use crate::{sharding, values};
use attribution::Attribution;

/// Schema of the file with the length of image tags.
const INTERFACE_SETTINGS: &str = "/app-interface/app-interface-settings-1.yml";
/// Message for failures without a reason.
const NOT_RENDERED: &str = "could not be rendered";

/// Renders successive bundles to desired objects.
pub struct DesiredBuilder {
    chart: IntegrationsChart,
    settings: RenderSettings,
    /// Rendered objects by the digest of their input, limited to the last bundle.
    cache: BTreeMap<String, CachedRender>,
    /// Length of image tags in the cached objects.
    hash_length: usize,
}

#[derive(Clone)]
struct CachedRender {
    objects: Arc<Vec<DesiredObject>>,
    parameters: Arc<SourcedParameters>,
}

/// Rendering job.
enum RenderJob<'a> {
    /// One integration.
    Entry(&'a ManagedEntry, &'a [Shard]),
    /// Shared objects of a namespace.
    Shared(&'a IntegrationEnvironment),
    /// All objects of a namespace at once.
    Namespace(&'a [ShardedEntry], &'a IntegrationEnvironment),
}

impl RenderJob<'_> {
    fn is_shared(&self) -> bool {
        matches!(self, RenderJob::Shared(_))
    }
}

/// Entry with its shards.
struct ShardedEntry {
    entry: ManagedEntry,
    shards: Vec<Shard>,
    incomplete: Vec<DataProblem>,
}

impl DesiredBuilder {
    /// Creates a builder with a chart and settings.
    pub fn new(chart: IntegrationsChart, settings: RenderSettings) -> Self {
        Self { chart, settings, cache: BTreeMap::new(), hash_length: DEFAULT_HASH_LENGTH }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &RenderSettings {
        &self.settings
    }

    /// Renders the desired objects of a bundle.
    pub fn build(&mut self, bundle: &Bundle) -> DesiredObjects {
        let model = IntegrationModel::read(bundle, &self.settings.scope);
        let mut desired = DesiredObjects {
            sha: bundle.sha().to_string(),
            commit: bundle.commit().map(str::to_string),
            caller: self.settings.caller().to_string(),
            is_upstream_default: self.settings.scope.upstream.is_none(),
            disabled: model.disabled,
            ..DesiredObjects::default()
        };
        (desired.unreadable, desired.unrelated) = unread_files(bundle, &model.entries);
        let groups = self.shard_entries(bundle, model.entries, &mut desired.disabled);
        let running: BTreeSet<&Arc<str>> = groups.values().map(|(namespace, _)| &namespace.path).collect();
        desired.empty = model.namespaces.values().filter(|one| !running.contains(&one.path)).cloned().collect();
        let hash_length = hash_length(bundle);
        if std::mem::replace(&mut self.hash_length, hash_length) != hash_length {
            // The length of image tags has changed, so cached objects are outdated.
            self.cache.clear();
        }
        self.render(&groups, &mut desired);
        desired
    }

    /// Divides entries into shards and groups them by namespace. Conflicting entries are disabled.
    fn shard_entries(
        &self,
        bundle: &Bundle,
        entries: Vec<ManagedEntry>,
        disabled: &mut Vec<DisabledEntry>,
    ) -> NamespaceEntries {
        let scope = &self.settings.scope;
        let context = sharding::ShardingContext { bundle, meta: &self.settings.meta, compat: scope.compat };
        let mut divider = ShardBuilder::new(context);
        let clashes = clashes(&entries);
        let mut groups = NamespaceEntries::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let place = (entry.namespace.cluster.name.clone(), entry.namespace.name.clone());
            let mut disable = |problem| {
                let (integration, namespace) = (Some(entry.integration.clone()), Some(place.clone()));
                disabled.push(DisabledEntry { integration, namespace, problem });
            };
            if let Some(problem) = clashes.get(&index) {
                disable(problem.clone());
                continue;
            }
            match divider.shards(&entry) {
                Ok(divided) => {
                    let group = groups.entry(place).or_insert_with(|| (entry.namespace.clone(), Vec::new()));
                    group.1.push(ShardedEntry { entry, shards: divided.shards, incomplete: divided.problems });
                }
                Err(problem) => disable(problem),
            }
        }
        groups
    }

    fn render(&mut self, groups: &NamespaceEntries, desired: &mut DesiredObjects) {
        let compat = self.settings.scope.compat;
        let context = RenderContext { chart: &self.chart, settings: &self.settings, hash_length: self.hash_length };
        let mut failed: BTreeMap<String, String> = BTreeMap::new();
        let mut used = BTreeSet::new();
        // Shared objects are rendered first, because they are excluded from every integration.
        for shared in [true, false] {
            let all = groups.values().flat_map(|(namespace, entries)| jobs(namespace, entries, compat));
            let mut jobs: BTreeMap<String, RenderJob<'_>> =
                all.filter(|(_, work)| work.is_shared() == shared).collect();
            used.extend(jobs.keys().cloned());
            jobs.retain(|key, _| !self.cache.contains_key(key));
            let jobs: Vec<(String, RenderJob<'_>)> = jobs.into_iter().collect();
            desired.rendered += jobs.len();
            let made = threads::parallel_map(&jobs, |(_, work)| run_job(&context, work, &self.cache));
            for ((key, _), made) in jobs.into_iter().zip(made) {
                match made {
                    Ok(kept) => drop(self.cache.insert(key, kept)),
                    Err(message) => drop(failed.insert(key, message)),
                }
            }
        }
        self.cache.retain(|key, _| used.contains(key));
        for (place, (namespace, entries)) in groups {
            let target = self.target(place, namespace, entries, &failed, &mut desired.disabled);
            desired.namespaces.insert(place.clone(), target);
        }
    }

    fn target(
        &self,
        place: &NamespaceKey,
        namespace: &Arc<IntegrationNamespace>,
        entries: &[ShardedEntry],
        failed: &BTreeMap<String, String>,
        disabled: &mut Vec<DisabledEntry>,
    ) -> DesiredNamespace {
        let environment = &namespace.environment;
        let mut target = DesiredNamespace {
            namespace: namespace.clone(),
            integrations: Vec::new(),
            shared: Arc::default(),
            shared_parameters: Arc::default(),
            broken: None,
        };
        let disable = |entry: &ManagedEntry, message: &str, disabled: &mut Vec<DisabledEntry>| {
            let (integration, namespace) = (Some(entry.integration.clone()), Some(place.clone()));
            disabled.push(DisabledEntry { integration, namespace, problem: entry.problem(message) });
        };
        if self.settings.scope.compat {
            let key = namespace_key(entries, environment);
            match (self.cache.get(&key), failed.get(&key)) {
                (Some(kept), _) => Attribution::from_entries(entries).divide(kept, entries, &mut target),
                (None, message) => {
                    let message = message.map_or(NOT_RENDERED, String::as_str);
                    entries.iter().for_each(|one| disable(&one.entry, message, disabled));
                    target.broken = entries.first().map(|one| one.entry.problem(message));
                }
            }
            return target;
        }
        let key = shared_key(environment);
        match (self.cache.get(&key), failed.get(&key)) {
            (Some(kept), _) => {
                (target.shared, target.shared_parameters) = (kept.objects.clone(), kept.parameters.clone());
            }
            (None, message) => {
                let message = message.map_or(NOT_RENDERED, String::as_str);
                target.broken = Some(DataProblem::of_file(&namespace.path, format!("shared objects: {message}")));
            }
        }
        for one in entries {
            let key = entry_key(one);
            match (self.cache.get(&key), failed.get(&key)) {
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

type NamespaceEntries = BTreeMap<NamespaceKey, (Arc<IntegrationNamespace>, Vec<ShardedEntry>)>;

impl ShardedEntry {
    fn installed(&self, objects: &Arc<Vec<DesiredObject>>, parameters: &Arc<SourcedParameters>) -> DesiredIntegration {
        DesiredIntegration {
            entry: self.entry.clone(),
            shards: self.shards.clone(),
            objects: objects.clone(),
            parameters: parameters.clone(),
            incomplete: self.incomplete.clone(),
        }
    }
}

/// Splits unreadable files into those that may have a used schema, and the rest.
fn unread_files(bundle: &Bundle, entries: &[ManagedEntry]) -> (Vec<DataProblem>, Vec<DataProblem>) {
    let of_shards = entries.iter().filter_map(|entry| entry.sharding.strategy.schema());
    let fixed = [INTEGRATION, NAMESPACE, LEAN_NAMESPACE, CLUSTER, ENVIRONMENT, INTERFACE_SETTINGS];
    let matter: BTreeSet<&str> = of_shards.chain(fixed).collect();
    let (matters, others): (Vec<_>, Vec<_>) =
        bundle.unread().partition(|(_, schema)| schema.is_none_or(|schema| matter.contains(schema)));
    let problems = |all: Vec<(&DataProblem, _)>| all.into_iter().map(|(problem, _)| problem.clone()).collect();
    (problems(matters), problems(others))
}

fn hash_length(bundle: &Bundle) -> usize {
    let mut files = bundle.of_schema(INTERFACE_SETTINGS);
    let length = files.find_map(|file| DataField::root(bundle, file).get("hashLength").ok().flatten()?.integer().ok());
    length.and_then(|length| usize::try_from(length).ok()).unwrap_or(DEFAULT_HASH_LENGTH)
}

/// Returns the rendering jobs of a namespace by the digest of their input.
fn jobs<'a>(
    namespace: &'a IntegrationNamespace,
    entries: &'a [ShardedEntry],
    compat: bool,
) -> Vec<(String, RenderJob<'a>)> {
    let environment = &namespace.environment;
    if compat {
        return vec![(namespace_key(entries, environment), RenderJob::Namespace(entries, environment))];
    }
    let each = entries.iter().map(|one| (entry_key(one), RenderJob::Entry(&one.entry, &one.shards)));
    each.chain([(shared_key(environment), RenderJob::Shared(environment))]).collect()
}

fn entry_key(one: &ShardedEntry) -> String {
    let environment = &one.entry.namespace.environment;
    let values = values::of_entry(&one.entry, &one.shards);
    sha256(json!([&*environment.name, environment.parameters, values]).to_string().as_bytes())
}

fn shared_key(environment: &IntegrationEnvironment) -> String {
    sha256(json!([&*environment.name, environment.parameters]).to_string().as_bytes())
}

fn namespace_key(entries: &[ShardedEntry], environment: &IntegrationEnvironment) -> String {
    let specs: Vec<Value> = entries.iter().map(|one| values::of_entry(&one.entry, &one.shards)).collect();
    sha256(json!([&*environment.name, environment.parameters, "all", specs]).to_string().as_bytes())
}

fn run_job(
    context: &RenderContext<'_>,
    work: &RenderJob<'_>,
    known: &BTreeMap<String, CachedRender>,
) -> Result<CachedRender, String> {
    let compat = context.settings.scope.compat;
    let rendered = match work {
        RenderJob::Entry(entry, shards) => {
            let mut rendered = context.entry(entry, shards).map_err(|error| error_chain(&error))?;
            // Objects that are rendered without any integration are shared.
            if let Some(shared) = known.get(&shared_key(&entry.namespace.environment)) {
                rendered.objects.retain(|object| !shared.objects.iter().any(|other| same_object(object, &other.body)));
            }
            rendered
        }
        RenderJob::Shared(environment) => context.shared(environment).map_err(|error| error_chain(&error))?,
        RenderJob::Namespace(entries, environment) => {
            let specs = entries.iter().map(|one| values::of_entry(&one.entry, &one.shards)).collect();
            context.namespace(specs, environment).map_err(|error| error_chain(&error))?
        }
    };
    let shards: &[Shard] = if let RenderJob::Entry(_, shards) = work { shards } else { &[] };
    let RenderedObjects { objects, parameters } = rendered;
    let objects = objects.into_iter().map(|body| object(body, shards, !compat)).collect::<Result<Vec<_>, _>>()?;
    Ok(CachedRender { objects: Arc::new(objects), parameters: Arc::new(parameters) })
}

fn same_object(one: &Value, other: &Value) -> bool {
    one.get("kind") == other.get("kind") && one.pointer("/metadata/name") == other.pointer("/metadata/name")
}

fn object(body: Value, shards: &[Shard], all: bool) -> Result<DesiredObject, String> {
    check_names(&body, all)?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let Some(kind) = resource(&kind) else {
        return Err(format!(
            "the chart renders a {kind}; only Deployments, StatefulSets, CronJobs and Services are supported"
        ));
    };
    let shard = shards.iter().filter(|shard| name.ends_with(&shard.suffix)).max_by_key(|shard| shard.suffix.len());
    Ok(DesiredObject { kind, hash: hash::hash(&body), shard: shard.cloned(), name, body })
}

/// Finds duplicate entries, and namespaces that two files describe. It is unknown which is meant, so none is used.
fn clashes<'a>(entries: &'a [ManagedEntry]) -> BTreeMap<usize, DataProblem> {
    let mut clashes = BTreeMap::new();
    let mut files: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut places: BTreeMap<(&str, &str, &str), Vec<usize>> = BTreeMap::new();
    let place = |entry: &'a ManagedEntry| (&*entry.namespace.cluster.name, &*entry.namespace.name);
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
            let message = format!(
                "{integration} in namespace {name} of cluster {cluster} is also defined by {}",
                others.join(" and ")
            );
            clashes.insert(*index, entries[*index].problem(message));
        }
    }
    for (index, entry) in entries.iter().enumerate() {
        let (cluster, name) = place(entry);
        let own = &*entry.namespace.path;
        let others: Vec<&str> = files[&(cluster, name)].iter().copied().filter(|file| *file != own).collect();
        if !others.is_empty() {
            let message = format!(
                "{own} describes namespace {name} of cluster {cluster}, which is also described by {}",
                others.join(" and ")
            );
            clashes.insert(index, entry.problem(message).hint("describe each namespace in a single file"));
        }
    }
    clashes
}

/// Finds integrations that render objects of the same name.
fn same_names(target: &DesiredNamespace) -> Vec<(ManagedEntry, String)> {
    let mut owners: BTreeMap<(&str, &str), &ManagedEntry> = BTreeMap::new();
    let mut found: BTreeMap<Arc<str>, (ManagedEntry, String)> = BTreeMap::new();
    for one in &target.integrations {
        for object in one.objects.iter() {
            let key = (object.kind.kind.as_ref(), object.name.as_str());
            if let Some(other) = owners.insert(key, &one.entry) {
                for (entry, clashing) in [(&one.entry, other), (other, &one.entry)] {
                    let whose =
                        if other.integration == one.entry.integration { "itself" } else { &clashing.integration };
                    let message = format!("renders {} {}, as does {whose}", key.0, key.1);
                    found.insert(entry.integration.clone(), (entry.clone(), message));
                }
            }
        }
    }
    found.into_values().collect()
}
