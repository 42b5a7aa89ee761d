//! Where the shell puts what is wanted, and the operators take it from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};
use switchboard_kernel::operator::Unit;

use super::{Guard, WHOLE_NAMESPACE};
use crate::desired::{Desired, Object, Target};
use crate::source::sha256;

/// What is wanted now. Changed by the shell, read by all operators of this kind.
#[derive(Default)]
pub struct Shelf {
    wanted: RwLock<Arc<Wanted>>,
    guard: Guard,
    compat: bool,
    take_over: bool,
    shard_labels: bool,
}

#[derive(Default)]
struct Wanted {
    desired: Arc<Desired>,
    /// What each unit is for, as a hash.
    units: BTreeMap<Arc<str>, BTreeMap<Unit, String>>,
}

/// The units of a cluster, and those for which something is different now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The cluster.
    pub cluster: Arc<str>,
    /// All of its units.
    pub units: BTreeSet<Unit>,
    /// Those that must look again.
    pub changed: Vec<Unit>,
}

impl Shelf {
    /// An empty one. `compat` deletes and takes over as the original does; `take_over` takes objects of others only.
    pub fn new(guard: Guard, compat: bool, take_over: bool) -> Self {
        Self { wanted: RwLock::default(), guard, compat, take_over, shard_labels: false }
    }

    /// With a label of their shard in the selectors of new workloads. The original knows none.
    #[must_use]
    pub fn labelling(self, shard_labels: bool) -> Self {
        Self { shard_labels: shard_labels && !self.compat, ..self }
    }

    /// Puts something else there, and says what is different.
    pub fn put(&self, desired: Arc<Desired>) -> Vec<Changed> {
        let units = units(&desired);
        let wanted = Arc::new(Wanted { desired, units });
        let before =
            std::mem::replace(&mut *self.wanted.write().unwrap_or_else(PoisonError::into_inner), wanted.clone());
        let clusters: BTreeSet<&Arc<str>> = wanted.units.keys().chain(before.units.keys()).collect();
        let nothing = BTreeMap::new();
        clusters
            .into_iter()
            .map(|cluster| {
                let now = wanted.units.get(cluster).unwrap_or(&nothing);
                let then = before.units.get(cluster).unwrap_or(&nothing);
                let changed = now.iter().filter(|(unit, hash)| then.get(unit) != Some(hash));
                let gone = then.keys().filter(|unit| !now.contains_key(unit));
                Changed {
                    cluster: cluster.clone(),
                    units: now.keys().cloned().collect(),
                    changed: changed.map(|(unit, _)| unit).chain(gone).cloned().collect(),
                }
            })
            .collect()
    }

    /// What is there now.
    pub fn desired(&self) -> Arc<Desired> {
        self.now().desired.clone()
    }

    /// The units of a cluster.
    pub fn units(&self, cluster: &str) -> BTreeSet<Unit> {
        self.now().units.get(cluster).map(|units| units.keys().cloned().collect()).unwrap_or_default()
    }

    fn now(&self) -> Arc<Wanted> {
        self.wanted.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is wanted of an integration in a namespace, or of a namespace; null when nothing is.
    pub fn answer(&self, cluster: &str, request: &Value) -> Value {
        let wanted = self.now();
        let desired = &wanted.desired;
        let Some(namespace) = request["namespace"].as_str() else { return Value::Null };
        let place = (Arc::from(cluster), Arc::from(namespace));
        let target = desired.targets.get(&place);
        let mut answer = match request["integration"].as_str() {
            Some(name) => match target.and_then(|target| target.integration(name)) {
                Some(one) => json!({"objects": objects(&one.objects)}),
                None => match problem(desired, cluster, namespace, name) {
                    Some(problem) => json!({"problem": problem}),
                    None => return Value::Null,
                },
            },
            None => match known(desired, cluster, namespace) {
                true => self.namespace(desired, target, namespace),
                false => return Value::Null,
            },
        };
        answer["caller"] = desired.caller.as_str().into();
        answer["bundle"] = desired.sha.as_str().into();
        answer["compat"] = self.compat.into();
        answer["takeOver"] = self.take_over.into();
        // As the original has it, one that was told no upstream deletes for all of them.
        answer["unscoped"] = (self.compat && desired.unnamed).into();
        answer["shardLabels"] = self.shard_labels.into();
        answer
    }

    fn namespace(&self, desired: &Desired, target: Option<&Target>, namespace: &str) -> Value {
        let names: Vec<Value> = target
            .map(Target::objects)
            .unwrap_or_default()
            .into_iter()
            .map(|object| json!([object.kind.kind, object.name]))
            .collect();
        let shared = target.map(|target| objects(&target.shared)).unwrap_or_default();
        let incomplete = target.into_iter().flat_map(|target| &target.integrations);
        let incomplete = incomplete.filter(|one| !one.incomplete.is_empty()).map(|one| &one.entry.integration);
        let here = |one: &&crate::model::Disabled| one.namespace.as_ref().is_none_or(|(_, name)| **name == *namespace);
        let disabled: Vec<_> = desired.disabled.iter().filter(here).collect();
        // A file that cannot be read may have been anything: nothing is deleted until it can be.
        // Where all that should run is wrong, what is shared among it is not to go either; nor where that could not be made.
        let all =
            desired.unreadable.first().or_else(|| target.and_then(|target| target.broken.as_ref())).or_else(|| {
                disabled.iter().find(|one| one.integration.is_none() || target.is_none()).map(|one| &one.problem)
            });
        let kept: BTreeSet<&Arc<str>> =
            disabled.iter().filter_map(|one| one.integration.as_ref()).chain(incomplete).collect();
        json!({
            "objects": shared, "shared": true, "names": names,
            "keepAll": all.map(ToString::to_string), "keep": kept.iter().map(|name| &***name).collect::<Vec<_>>(),
            "guard": {"sharePercent": self.guard.share_percent, "always": self.guard.always, "allowed": self.guard.allowed},
        })
    }
}

fn objects(objects: &[Object]) -> Value {
    let one = |object: &Object| {
        let shard = object.shard.as_ref().map(|shard| shard.suffix.trim_start_matches('-'));
        json!({"kind": object.kind.kind, "name": object.name, "hash": object.hash, "body": object.body, "shard": shard})
    };
    objects.iter().map(one).collect()
}

fn known(desired: &Desired, cluster: &str, namespace: &str) -> bool {
    let empty = |one: &Arc<crate::model::Namespace>| *one.cluster.name == *cluster && *one.name == *namespace;
    desired.targets.contains_key(&(Arc::from(cluster), Arc::from(namespace))) || desired.empty.iter().any(empty)
}

fn problem(desired: &Desired, cluster: &str, namespace: &str, integration: &str) -> Option<String> {
    let here = |one: &&crate::model::Disabled| {
        one.integration.as_deref() == Some(integration)
            && one.namespace.as_ref().is_some_and(|(c, n)| **c == *cluster && **n == *namespace)
    };
    desired.disabled.iter().find(here).map(|one| one.problem.to_string())
}

/// What each unit of each cluster is for.
fn units(desired: &Desired) -> BTreeMap<Arc<str>, BTreeMap<Unit, String>> {
    let mut units: BTreeMap<Arc<str>, BTreeMap<Unit, String>> = BTreeMap::new();
    let mut kept = String::new();
    for problem in desired.problems() {
        kept.push_str(&problem.to_string());
    }
    for ((cluster, namespace), target) in &desired.targets {
        let of_cluster = units.entry(cluster.clone()).or_default();
        let mut names = format!("{kept}\n{}", desired.caller);
        for one in &target.integrations {
            let hashes: String = one.objects.iter().map(|object| object.hash.as_str()).collect();
            names.extend(one.objects.iter().map(|object| format!("{} {}\n", object.kind.kind, object.name)));
            let unit = Unit::object(namespace, &one.entry.integration);
            of_cluster.insert(unit, sha256(format!("{}{hashes}", desired.caller).as_bytes()));
        }
        names.extend(target.shared.iter().map(|object| format!("{} {}\n", object.name, object.hash)));
        of_cluster.insert(Unit::object(namespace, WHOLE_NAMESPACE), sha256(names.as_bytes()));
    }
    for one in &desired.disabled {
        if let (Some((cluster, namespace)), Some(name)) = (&one.namespace, &one.integration) {
            let unit = Unit::object(namespace, name);
            let of_cluster = units.entry(cluster.clone()).or_default();
            of_cluster.insert(unit, one.problem.to_string());
        }
    }
    // Whether a cluster is reached for on account of these alone, the shell says.
    for one in &desired.empty {
        let unit = Unit::object(&one.name, WHOLE_NAMESPACE);
        let of_cluster = units.entry(one.cluster.name.clone()).or_default();
        of_cluster.entry(unit).or_insert_with(|| sha256(kept.as_bytes()));
    }
    units
}
