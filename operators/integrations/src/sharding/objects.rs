//! Objects that can be shards.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::field::Field;
use crate::problem::Problem;
use crate::source::Bundle;

/// An object that can be a shard.
pub struct Candidate {
    /// Its file.
    pub file: Arc<str>,
    /// What the argument is given.
    pub key: String,
    disabled: Vec<String>,
}

impl Candidate {
    /// Whether it is not for an integration.
    pub fn disables(&self, integration: &str) -> bool {
        self.disabled.iter().any(|name| name == integration)
    }
}

/// All objects of a schema, by path.
#[derive(Default)]
pub struct Candidates {
    pub found: Vec<Candidate>,
    pub problems: Vec<Problem>,
}

impl Candidates {
    /// Looks at all files of a schema. Two of one key would be one object: neither is a shard.
    pub fn of(bundle: &Bundle, schema: &str, key: &str) -> Self {
        let mut candidates = Self::default();
        let mut keys: BTreeMap<String, Arc<str>> = BTreeMap::new();
        for file in bundle.of_schema(schema) {
            match candidate(&Field::of(bundle, file), key) {
                Ok(candidate) => match keys.insert(candidate.key.clone(), file.path.clone()) {
                    Some(other) => {
                        let message = format!("has the same {key} `{}` as {other}", candidate.key);
                        candidates.problems.push(Problem::of_file(&file.path, message));
                        candidates.found.retain(|one| one.key != candidate.key);
                    }
                    None => candidates.found.push(candidate),
                },
                Err(problem) => candidates.problems.push(problem),
            }
        }
        candidates
    }

    /// Those that do not disable an integration.
    pub fn enabled(&self, integration: &str) -> impl Iterator<Item = &Candidate> {
        self.found.iter().filter(move |candidate| !candidate.disables(integration))
    }
}

fn candidate(file: &Field<'_>, key: &str) -> Result<Candidate, Problem> {
    let found = file.along(key)?.ok_or_else(|| file.problem(format!("has no `{key}`")))?;
    let disabled = match file.along("disable.integrations")? {
        Some(list) => list.list()?.iter().filter_map(|one| one.value().as_str().map(str::to_string)).collect(),
        None => Vec::new(),
    };
    let key = match found.value() {
        Value::Null => return Err(found.problem("is empty")),
        _ => found.text()?,
    };
    Ok(Candidate { file: file.file().path.clone(), key, disabled })
}
