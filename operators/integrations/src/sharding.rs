//! Division of integrations into shards.
//!
//! ```text
//!  static ─▶ 0..n            ┐
//!  counted ─▶ n of data      ├─▶ shards ─▶ overrides, each must match ─▶ sub-shards
//!  per object ─▶ one each    ┘
//! ```

mod objects;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::meta::IntegrationMeta;
use crate::model::{ManagedEntry, PerObjectStrategy, ShardOverride, ShardSelector, ShardingStrategy};
use crate::problem::DataProblem;
use crate::source::Bundle;
use objects::{ShardCandidate, ShardCandidates};

/// Maximum number of shards of an entry.
pub const MAX_SHARDS: i64 = 20_000;

/// Shard of an integration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shard {
    /// Number of shards; empty if shards have keys.
    pub shards: String,
    /// Number of the shard; empty if shards have keys.
    pub id: String,
    /// Key of the shard; empty if shards have numbers.
    pub key: String,
    /// Suffix of object names.
    pub suffix: String,
    /// Arguments.
    pub extra_args: String,
    /// Overrides in the form of chart values.
    pub overrides: Option<Map<String, Value>>,
    /// Additional arguments of an override.
    pub own_args: Option<String>,
    /// Datafile of the shard.
    pub file: Option<Arc<str>>,
}

impl Shard {
    /// Returns the shard in the form of chart values.
    pub fn values(&self) -> Value {
        let mut values = Map::new();
        for (name, text) in [
            ("shards", &self.shards),
            ("shard_id", &self.id),
            ("shard_key", &self.key),
            ("shard_name_suffix", &self.suffix),
            ("extra_args", &self.extra_args),
        ] {
            values.insert(name.to_string(), Value::String(text.clone()));
        }
        if let Some(overrides) = &self.overrides {
            values.insert("shard_spec_overrides".to_string(), Value::Object(overrides.clone()));
        }
        Value::Object(values)
    }

    /// Returns the display name: the key with the number of the sub-shard, or the number.
    pub fn name(&self) -> String {
        match (self.key.is_empty(), self.id.is_empty()) {
            (true, _) => self.id.clone(),
            (false, true) => self.key.clone(),
            (false, false) => format!("{}/{}", self.key, self.id),
        }
    }

    /// Returns an overridden value.
    pub fn override_value(&self, name: &str) -> Option<&Value> {
        self.overrides.as_ref()?.get(name)
    }
}

/// Input of sharding.
#[derive(Clone, Copy)]
pub struct ShardingContext<'a> {
    /// Data.
    pub bundle: &'a Bundle,
    /// Options of integrations.
    pub meta: &'a IntegrationMeta,
    /// Whether to match qontract-reconcile byte for byte.
    pub compat: bool,
}

/// Shards of an entry, with problems of objects that could not become shards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShardSet {
    /// Shards, in the order of the data.
    pub shards: Vec<Shard>,
    /// Problems of objects that could not become shards.
    pub problems: Vec<DataProblem>,
}

/// Divides entries into shards, and reads the objects of a schema once for all entries.
pub struct ShardBuilder<'a> {
    context: ShardingContext<'a>,
    candidates: BTreeMap<(String, String), ShardCandidates>,
}

type ShardingResult<T> = Result<T, DataProblem>;

impl<'a> ShardBuilder<'a> {
    /// Creates a builder for a bundle.
    pub fn new(context: ShardingContext<'a>) -> Self {
        Self { context, candidates: BTreeMap::new() }
    }

    /// Returns the shards of an entry.
    ///
    /// # Errors
    /// If the strategy cannot be applied or an override matches no shard.
    pub fn shards(&mut self, entry: &ManagedEntry) -> ShardingResult<ShardSet> {
        let mut divided = match &entry.sharding.strategy {
            ShardingStrategy::Static(count) => self.numbered(entry, *count)?,
            ShardingStrategy::Counted { schema, per_shard } => {
                let objects = self.counted(entry, schema)?;
                self.numbered(entry, (objects + per_shard - 1) / per_shard)?
            }
            ShardingStrategy::PerObject(kind) => self.per_object(entry, kind)?,
        };
        self.apply_overrides(entry, &mut divided.shards)?;
        self.check_schemas(entry, &divided.shards)?;
        Ok(divided)
    }

    /// Rejects images that read schemas the integration's file does not list. They would fail with `Forbidden schemas`;
    /// running workloads are kept.
    fn check_schemas(&self, entry: &ManagedEntry, shards: &[Shard]) -> ShardingResult<()> {
        let Some(listed) = entry.schemas.as_deref().filter(|_| !self.context.compat) else { return Ok(()) };
        let of_spec = entry.spec.get("imageRef").and_then(Value::as_str).unwrap_or_default();
        for shard in shards {
            let image = shard.override_value("imageRef").and_then(Value::as_str).unwrap_or(of_spec);
            let unlisted = self.context.meta.unlisted(&entry.integration, image, listed);
            if !unlisted.is_empty() {
                let what = if image.is_empty() { "its image".to_string() } else { format!("image `{image}`") };
                let problem =
                    entry.problem(format!("{what} reads {}, which `schemas` does not list", unlisted.join(", ")));
                return Err(problem.hint("list these schemas under `schemas`, or keep the previous image"));
            }
        }
        Ok(())
    }

    /// Counts the objects of a schema. If one is unreadable, nothing is counted: one shard less would change the work
    /// of all others.
    fn counted(&mut self, entry: &ManagedEntry, schema: &str) -> ShardingResult<i64> {
        let ShardingContext { bundle, compat, .. } = self.context;
        let candidates = self.candidates(schema, "name");
        let broken = candidates.problems.first().or_else(|| bundle.unread_of(schema).next());
        let count = candidates.enabled(&entry.integration).count();
        match broken.filter(|_| !compat) {
            Some(problem) => {
                let message = format!("is divided by the number of {schema} files, which is unknown: {problem}");
                Err(entry.problem(message).hint("running workloads are kept until that file can be read"))
            }
            None => Ok(i64::try_from(count).unwrap_or(i64::MAX)),
        }
    }

    fn numbered(&self, entry: &ManagedEntry, count: i64) -> ShardingResult<ShardSet> {
        if count < 1 && !self.context.compat {
            let hint = "to stop it, disable its shards or remove the entry; zero shards would delete its workloads";
            return Err(entry.problem(format!("is divided into {count} shards")).hint(hint));
        }
        if count > MAX_SHARDS {
            return Err(entry.problem(format!("is divided into {count} shards; at most {MAX_SHARDS} are supported")));
        }
        let shard = |id: i64| Shard {
            shards: count.to_string(),
            id: id.to_string(),
            suffix: if count > 1 { format!("-{id}") } else { String::new() },
            extra_args: base_arguments(entry),
            ..Shard::default()
        };
        Ok(ShardSet { shards: (0..count).map(shard).collect(), problems: Vec::new() })
    }

    fn per_object(&mut self, entry: &ManagedEntry, kind: &PerObjectStrategy) -> ShardingResult<ShardSet> {
        self.check_option(entry, kind)?;
        let honours_disable = kind.honors_disable || !self.context.compat;
        let candidates = self.candidates(&kind.schema, &kind.key);
        let problems = candidates.problems.clone();
        let mut shards = Vec::new();
        for candidate in &candidates.found {
            if honours_disable && candidate.disables(&entry.integration) {
                continue;
            }
            shards.push(object_shard(entry, kind, candidate));
        }
        if shards.is_empty() && !self.context.compat {
            let why = problems.first().map(|problem| format!(": {problem}")).unwrap_or_default();
            let message = format!("no {} file provides a shard{why}", kind.schema);
            return Err(entry
                .problem(message)
                .hint("to stop it, remove the entry; zero shards would delete its workloads"));
        }
        Ok(ShardSet { shards, problems })
    }

    /// Checks that the integration supports the option. Unrecorded integrations are assumed to.
    fn check_option(&self, entry: &ManagedEntry, kind: &PerObjectStrategy) -> ShardingResult<()> {
        let (name, option, strategy) = (&entry.integration, &kind.argument, &kind.strategy);
        let has = self.context.meta.has_option(name, option).unwrap_or(!self.context.compat);
        if has {
            return Ok(());
        }
        let message = match strategy.as_str() {
            "per-ocm-organization" => format!(
                "the integration {name} does not support the required argument  {option} for the '{strategy}' sharding strategy."
            ),
            _ => format!(
                "integration {name} does not support the provided argument.  {option} is required by the '{strategy}' sharding strategy."
            ),
        };
        Err(entry.problem(message))
    }

    fn candidates(&mut self, schema: &str, key: &str) -> &ShardCandidates {
        let bundle = self.context.bundle;
        let at = (schema.to_string(), key.to_string());
        self.candidates.entry(at).or_insert_with(|| ShardCandidates::from_bundle(bundle, schema, key))
    }

    fn apply_overrides(&mut self, entry: &ManagedEntry, shards: &mut Vec<Shard>) -> ShardingResult<()> {
        let mut taken: BTreeMap<usize, &ShardOverride> = BTreeMap::new();
        for over in &entry.sharding.overrides {
            let found = self.matching(entry, over, shards)?;
            for index in found {
                if let Some(other) = taken.insert(index, over).filter(|_| !self.context.compat) {
                    let line = other.position.line.map(|line| format!(" (line {line})")).unwrap_or_default();
                    let message = format!("selects the same shard as {}{line}", other.position.field);
                    return Err(DataProblem { message, ..over.position.clone() });
                }
            }
        }
        let mut divided = Vec::with_capacity(shards.len());
        for (index, mut shard) in std::mem::take(shards).into_iter().enumerate() {
            let Some(over) = taken.get(&index) else {
                divided.push(shard);
                continue;
            };
            shard.overrides = Some(over.fields.clone());
            if let Some(more) = over.extra_args.as_ref().filter(|_| !self.context.compat) {
                shard.own_args = Some(more.clone());
                shard.extra_args = format!("{} {more}", shard.extra_args).trim_start().to_string();
            }
            match over.sub_shards.filter(|count| *count > 0 && self.allows_sub_shards(entry)) {
                Some(count) if count > MAX_SHARDS => {
                    let message = format!("divides a shard into {count}; at most {MAX_SHARDS} are supported");
                    return Err(DataProblem { message, ..over.position.clone() });
                }
                Some(count) => divided.extend(sub_shards(&shard, count)),
                None => divided.push(shard),
            }
        }
        *shards = divided;
        Ok(())
    }

    fn allows_sub_shards(&self, entry: &ManagedEntry) -> bool {
        match &entry.sharding.strategy {
            ShardingStrategy::PerObject(kind) => kind.sub_shards || !self.context.compat,
            _ => false,
        }
    }

    /// Returns the shards that an override selects. In compatibility mode they are compared by name, and none may
    /// match.
    fn matching(&mut self, entry: &ManagedEntry, over: &ShardOverride, shards: &[Shard]) -> ShardingResult<Vec<usize>> {
        let compat = self.context.compat;
        let numbered = !matches!(entry.sharding.strategy, ShardingStrategy::PerObject(_));
        if over.sub_shards.is_some() && numbered && !compat {
            let message = "Static sub_sharding can only be applied to Key based sharding".to_string();
            return Err(DataProblem { message, ..over.position.clone() });
        }
        let file_name = |shard: &Shard| {
            let file = self.context.bundle.file(shard.file.as_deref()?)?;
            file.value().get("name").and_then(Value::as_str)
        };
        let means = |shard: &Shard| match &over.shard {
            ShardSelector::File { name, .. } if compat => file_name(shard) == Some(name),
            ShardSelector::File { path, .. } => shard.file.as_ref() == Some(path),
            ShardSelector::Id(id) => !compat && (if shard.key.is_empty() { shard.id == *id } else { shard.key == *id }),
        };
        let found: Vec<usize> = (0..shards.len()).filter(|index| means(&shards[*index])).collect();
        if found.is_empty() && !compat {
            return Err(self.unmatched(entry, over, shards));
        }
        Ok(found)
    }

    fn unmatched(&self, entry: &ManagedEntry, over: &ShardOverride, shards: &[Shard]) -> DataProblem {
        let known: Vec<String> = shards.iter().take(8).map(Shard::name).collect();
        let more = if shards.len() > known.len() { ", …" } else { "" };
        let exist = format!("its shards are {}{more}", known.join(", "));
        let (message, hint) = match &over.shard {
            ShardSelector::Id(id) => (format!("unknown shard `{id}`"), exist),
            ShardSelector::File { path, name } => {
                let schema = self.context.bundle.file(path).map(|file| file.schema.to_string()).unwrap_or_default();
                let message = format!("{name} ({path}) is not a shard of {}", entry.integration);
                match &entry.sharding.strategy {
                    ShardingStrategy::PerObject(kind) if kind.schema == schema => {
                        (message, format!("{path} disables {}, or cannot be read", entry.integration))
                    }
                    ShardingStrategy::PerObject(kind) => {
                        (message, format!("shards are files of {}, but this file is of {schema}", kind.schema))
                    }
                    _ => (message, format!("shards are numbered; select one with `shard: \"0\"`; {exist}")),
                }
            }
        };
        DataProblem { message, hint: Some(hint), ..over.position.clone() }
    }
}

fn base_arguments(entry: &ManagedEntry) -> String {
    entry.spec.get("extraArgs").and_then(Value::as_str).unwrap_or_default().to_string()
}

fn object_shard(entry: &ManagedEntry, kind: &PerObjectStrategy, candidate: &ShardCandidate) -> Shard {
    let key = &candidate.key;
    // Organization ids have upper-case letters, which object names may not contain. Other keys are kept as they are.
    let suffix = match kind.strategy.as_str() {
        "per-aws-account" | "per-openshift-cluster" => key.clone(),
        _ => key.to_lowercase(),
    };
    Shard {
        key: key.clone(),
        suffix: format!("-{suffix}"),
        // The leading space is part of the hashes of existing objects.
        extra_args: format!("{} {} {key}", base_arguments(entry), kind.argument),
        file: Some(candidate.file.clone()),
        ..Shard::default()
    }
}

/// Divides a shard into sub-shards, numbered even if there is only one.
fn sub_shards(shard: &Shard, count: i64) -> impl Iterator<Item = Shard> {
    let mut overrides = shard.overrides.clone().unwrap_or_default();
    overrides.remove("subSharding");
    (0..count).map(move |id| Shard {
        shards: count.to_string(),
        id: id.to_string(),
        suffix: format!("{}-{id}", shard.suffix),
        overrides: Some(overrides.clone()),
        ..shard.clone()
    })
}

#[cfg(test)]
mod tests;
