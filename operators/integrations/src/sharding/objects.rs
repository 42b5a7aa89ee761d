//! Objects that can become shards.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::data_field::DataField;
use crate::problem::DataProblem;
use crate::source::Bundle;

/// Object that can become a shard.
pub struct ShardCandidate {
    /// File of the object.
    pub file: Arc<str>,
    /// Shard key, which is also the value of the argument.
    pub key: String,
    disabled: Vec<String>,
}

impl ShardCandidate {
    /// Whether the object disables an integration.
    pub fn disables(&self, integration: &str) -> bool {
        self.disabled.iter().any(|name| name == integration)
    }
}

/// Objects of a schema, sorted by path.
#[derive(Default)]
pub struct ShardCandidates {
    pub found: Vec<ShardCandidate>,
    pub problems: Vec<DataProblem>,
}

impl ShardCandidates {
    /// Reads all files of a schema. Objects with the same key are excluded, because their shards would collide.
    pub fn from_bundle(bundle: &Bundle, schema: &str, key: &str) -> Self {
        let mut candidates = Self::default();
        let mut keys: BTreeMap<String, Arc<str>> = BTreeMap::new();
        for file in bundle.of_schema(schema) {
            match candidate(&DataField::root(bundle, file), key) {
                Ok(candidate) => match keys.insert(candidate.key.clone(), file.path.clone()) {
                    Some(other) => {
                        let message = format!("has the same {key} `{}` as {other}", candidate.key);
                        candidates.problems.push(DataProblem::of_file(&file.path, message));
                        candidates.found.retain(|one| one.key != candidate.key);
                    }
                    None => candidates.found.push(candidate),
                },
                Err(problem) => candidates.problems.push(problem),
            }
        }
        candidates
    }

    /// Returns the objects that do not disable an integration.
    pub fn enabled(&self, integration: &str) -> impl Iterator<Item = &ShardCandidate> {
        self.found.iter().filter(move |candidate| !candidate.disables(integration))
    }
}

fn candidate(file: &DataField<'_>, key: &str) -> Result<ShardCandidate, DataProblem> {
    let found = file.follow_path(key)?.ok_or_else(|| file.problem(format!("has no `{key}`")))?;
    let disabled = match file.follow_path("disable.integrations")? {
        Some(list) => list.list()?.iter().filter_map(|one| one.value().as_str().map(str::to_string)).collect(),
        None => Vec::new(),
    };
    let key = match found.value() {
        Value::Null => return Err(found.problem("is empty")),
        _ => found.text()?,
    };
    Ok(ShardCandidate { file: file.file().path.clone(), key, disabled })
}
