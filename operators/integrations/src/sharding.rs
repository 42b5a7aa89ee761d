//! From a strategy and the data to shards.
//!
//! ```text
//!  static ─▶ 0..n          ┐
//!  counted ─▶ n of data    ├─▶ shards ─▶ overrides laid over, each must match ─▶ sub-shards
//!  per object ─▶ one each  ┘
//! ```

mod objects;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::meta::Meta;
use crate::model::{Entry, ObjectKind, Override, ShardName, Strategy};
use crate::problem::Problem;
use crate::source::Bundle;
use objects::{Candidate, Candidates};

/// How many shards one entry may have.
pub const MAX_SHARDS: i64 = 20_000;

/// One shard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shard {
    /// How many there are of its kind; empty where shards are told apart by key.
    pub shards: String,
    /// Its number; empty where shards are told apart by key.
    pub id: String,
    /// What it is for; empty where shards are numbered.
    pub key: String,
    /// The end of its objects' names.
    pub suffix: String,
    /// Its arguments.
    pub extra_args: String,
    /// What is different in it, as charts get it.
    pub overrides: Option<Map<String, Value>>,
    /// Arguments of an override, which stand behind the others.
    pub own_args: Option<String>,
    /// The datafile it is for.
    pub file: Option<Arc<str>>,
}

impl Shard {
    /// As charts get it.
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

    /// Its name for people: its key, with the number of a part behind it, else its number.
    pub fn name(&self) -> String {
        match (self.key.is_empty(), self.id.is_empty()) {
            (true, _) => self.id.clone(),
            (false, true) => self.key.clone(),
            (false, false) => format!("{}/{}", self.key, self.id),
        }
    }

    /// What is different in it, for people.
    pub fn difference(&self, name: &str) -> Option<&Value> {
        self.overrides.as_ref()?.get(name)
    }
}

/// What shards are made of.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The data.
    pub bundle: &'a Bundle,
    /// Which options integrations have.
    pub meta: &'a Meta,
    /// Exactly as the original.
    pub compat: bool,
}

/// Shards of an entry, and what is wrong with objects that would have been more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shards {
    /// The shards, in the order of the data.
    pub shards: Vec<Shard>,
    /// Objects that could not be made shards of.
    pub problems: Vec<Problem>,
}

/// Divides entries; objects of a schema are looked at once for all of them.
pub struct Divider<'a> {
    context: Context<'a>,
    candidates: BTreeMap<(String, String), Candidates>,
}

type Outcome<T> = Result<T, Problem>;

impl<'a> Divider<'a> {
    /// For a bundle.
    pub fn new(context: Context<'a>) -> Self {
        Self { context, candidates: BTreeMap::new() }
    }

    /// The shards of an entry.
    ///
    /// # Errors
    /// When its strategy cannot be carried out, or an override matches nothing.
    pub fn shards(&mut self, entry: &Entry) -> Outcome<Shards> {
        let mut divided = match &entry.sharding.strategy {
            Strategy::Static(count) => self.numbered(entry, *count)?,
            Strategy::Counted { schema, per_shard } => {
                let objects = self.counted(entry, schema)?;
                self.numbered(entry, (objects + per_shard - 1) / per_shard)?
            }
            Strategy::PerObject(kind) => self.per_object(entry, kind)?,
        };
        self.lay_over(entry, &mut divided.shards)?;
        self.check_schemas(entry, &divided.shards)?;
        Ok(divided)
    }

    /// An image that reads what the integration's file does not list would end with `Forbidden schemas`: what runs stays.
    fn check_schemas(&self, entry: &Entry, shards: &[Shard]) -> Outcome<()> {
        let Some(listed) = entry.schemas.as_deref().filter(|_| !self.context.compat) else { return Ok(()) };
        let of_spec = entry.spec.get("imageRef").and_then(Value::as_str).unwrap_or_default();
        for shard in shards {
            let image = shard.difference("imageRef").and_then(Value::as_str).unwrap_or(of_spec);
            let unlisted = self.context.meta.unlisted(&entry.integration, image, listed);
            if !unlisted.is_empty() {
                let what = if image.is_empty() { "its image".to_string() } else { format!("image `{image}`") };
                let problem =
                    entry.problem(format!("{what} reads {}, which `schemas` does not list", unlisted.join(", ")));
                return Err(problem.hint("list what it reads under `schemas`, or keep the image before"));
            }
        }
        Ok(())
    }

    /// How many objects of a schema there are for an entry. Around one that cannot be read nothing is counted: there would
    /// be a shard less, and what each of the others is for would change.
    fn counted(&mut self, entry: &Entry, schema: &str) -> Outcome<i64> {
        let Context { bundle, compat, .. } = self.context;
        let candidates = self.candidates(schema, "name");
        let broken = candidates.problems.first().or_else(|| bundle.unread_of(schema).next());
        let count = candidates.enabled(&entry.integration).count();
        match broken.filter(|_| !compat) {
            Some(problem) => {
                let message = format!("is divided by the number of {schema} files, which is not known: {problem}");
                Err(entry.problem(message).hint("what runs stays as it is until that file can be read"))
            }
            None => Ok(i64::try_from(count).unwrap_or(i64::MAX)),
        }
    }

    fn numbered(&self, entry: &Entry, count: i64) -> Outcome<Shards> {
        if count < 1 && !self.context.compat {
            let hint =
                "to stop it, disable its shards or remove the entry; no shards at all would delete its workloads";
            return Err(entry.problem(format!("is divided into {count} shards")).hint(hint));
        }
        if count > MAX_SHARDS {
            return Err(entry.problem(format!("is divided into {count} shards; at most {MAX_SHARDS} are made")));
        }
        let shard = |id: i64| Shard {
            shards: count.to_string(),
            id: id.to_string(),
            suffix: if count > 1 { format!("-{id}") } else { String::new() },
            extra_args: base_arguments(entry),
            ..Shard::default()
        };
        Ok(Shards { shards: (0..count).map(shard).collect(), problems: Vec::new() })
    }

    fn per_object(&mut self, entry: &Entry, kind: &ObjectKind) -> Outcome<Shards> {
        self.check_option(entry, kind)?;
        let honours_disable = kind.honours_disable || !self.context.compat;
        let candidates = self.candidates(&kind.schema, &kind.key);
        let problems = candidates.problems.clone();
        let mut shards = Vec::new();
        for candidate in &candidates.found {
            if honours_disable && candidate.disables(&entry.integration) {
                continue;
            }
            shards.push(of_object(entry, kind, candidate));
        }
        if shards.is_empty() && !self.context.compat {
            let why = problems.first().map(|problem| format!(": {problem}")).unwrap_or_default();
            let message = format!("no {} file makes a shard of it{why}", kind.schema);
            return Err(entry
                .problem(message)
                .hint("to stop it, remove the entry; no shards would delete its workloads"));
        }
        Ok(Shards { shards, problems })
    }

    /// Which integrations have the option is known of those that are recorded; of others it is believed.
    fn check_option(&self, entry: &Entry, kind: &ObjectKind) -> Outcome<()> {
        let (name, option, strategy) = (&entry.integration, &kind.argument, &kind.strategy);
        let has = self.context.meta.has(name, option).unwrap_or(!self.context.compat);
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

    fn candidates(&mut self, schema: &str, key: &str) -> &Candidates {
        let bundle = self.context.bundle;
        let at = (schema.to_string(), key.to_string());
        self.candidates.entry(at).or_insert_with(|| Candidates::of(bundle, schema, key))
    }

    fn lay_over(&mut self, entry: &Entry, shards: &mut Vec<Shard>) -> Outcome<()> {
        let mut taken: BTreeMap<usize, &Override> = BTreeMap::new();
        for over in &entry.sharding.overrides {
            let found = self.matching(entry, over, shards)?;
            for index in found {
                if let Some(other) = taken.insert(index, over).filter(|_| !self.context.compat) {
                    let line = other.place.line.map(|line| format!(" (line {line})")).unwrap_or_default();
                    let message = format!("means the same shard as {}{line}", other.place.field);
                    return Err(Problem { message, ..over.place.clone() });
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
            match over.sub_shards.filter(|count| *count > 0 && self.may_divide(entry)) {
                Some(count) if count > MAX_SHARDS => {
                    let message = format!("divides a shard into {count}; at most {MAX_SHARDS} are made");
                    return Err(Problem { message, ..over.place.clone() });
                }
                Some(count) => divided.extend(parts(&shard, count)),
                None => divided.push(shard),
            }
        }
        *shards = divided;
        Ok(())
    }

    fn may_divide(&self, entry: &Entry) -> bool {
        match &entry.sharding.strategy {
            Strategy::PerObject(kind) => kind.sub_shards || !self.context.compat,
            _ => false,
        }
    }

    /// The shards an override means; in the original's way by name alone, and none is as good as one.
    fn matching(&mut self, entry: &Entry, over: &Override, shards: &[Shard]) -> Outcome<Vec<usize>> {
        let compat = self.context.compat;
        let numbered = !matches!(entry.sharding.strategy, Strategy::PerObject(_));
        if over.sub_shards.is_some() && numbered && !compat {
            let message = "Static sub_sharding can only be applied to Key based sharding".to_string();
            return Err(Problem { message, ..over.place.clone() });
        }
        let file_name = |shard: &Shard| {
            let file = self.context.bundle.file(shard.file.as_deref()?)?;
            file.value().get("name").and_then(Value::as_str)
        };
        let means = |shard: &Shard| match &over.shard {
            ShardName::File { name, .. } if compat => file_name(shard) == Some(name),
            ShardName::File { path, .. } => shard.file.as_ref() == Some(path),
            ShardName::Id(id) => !compat && (if shard.key.is_empty() { shard.id == *id } else { shard.key == *id }),
        };
        let found: Vec<usize> = (0..shards.len()).filter(|index| means(&shards[*index])).collect();
        if found.is_empty() && !compat {
            return Err(self.unmatched(entry, over, shards));
        }
        Ok(found)
    }

    fn unmatched(&self, entry: &Entry, over: &Override, shards: &[Shard]) -> Problem {
        let known: Vec<String> = shards.iter().take(8).map(Shard::name).collect();
        let more = if shards.len() > known.len() { ", …" } else { "" };
        let exist = format!("its shards are {}{more}", known.join(", "));
        let (message, hint) = match &over.shard {
            ShardName::Id(id) => (format!("there is no shard `{id}`"), exist),
            ShardName::File { path, name } => {
                let schema = self.context.bundle.file(path).map(|file| file.schema.to_string()).unwrap_or_default();
                let message = format!("{name} ({path}) is no shard of {}", entry.integration);
                match &entry.sharding.strategy {
                    Strategy::PerObject(kind) if kind.schema == schema => {
                        (message, format!("{path} disables {}, or cannot be read", entry.integration))
                    }
                    Strategy::PerObject(kind) => {
                        (message, format!("shards are files of {}, and this is one of {schema}", kind.schema))
                    }
                    _ => (message, format!("shards are numbered; name one as `shard: \"0\"`; {exist}")),
                }
            }
        };
        Problem { message, hint: Some(hint), ..over.place.clone() }
    }
}

fn base_arguments(entry: &Entry) -> String {
    entry.spec.get("extraArgs").and_then(Value::as_str).unwrap_or_default().to_string()
}

fn of_object(entry: &Entry, kind: &ObjectKind, candidate: &Candidate) -> Shard {
    let key = &candidate.key;
    // Ids of organizations are written in capitals, which names of objects may not be. Names that are names stay.
    let suffix = match kind.strategy.as_str() {
        "per-aws-account" | "per-openshift-cluster" => key.clone(),
        _ => key.to_lowercase(),
    };
    Shard {
        key: key.clone(),
        suffix: format!("-{suffix}"),
        // The space stays when there is nothing in front of it: it is part of the hash of what runs today.
        extra_args: format!("{} {} {key}", base_arguments(entry), kind.argument),
        file: Some(candidate.file.clone()),
        ..Shard::default()
    }
}

/// A shard divided once more; numbers stand behind the name even when there is one part.
fn parts(shard: &Shard, count: i64) -> impl Iterator<Item = Shard> {
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
