//! Which clusters have their operator: what the shell knows of the Secrets that name them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::field::text;

/// What became of a cluster: it has its operator, or why it has none.
type Reached = Result<(), String>;

/// Clusters by the Secrets that name them: namespace and name.
#[derive(Debug, Default)]
pub struct Hosted(Mutex<BTreeMap<(String, String), Reached>>);

impl Hosted {
    /// Notes what became of a cluster.
    pub fn note(&self, secret: (String, String), reached: Reached) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(secret, reached);
    }

    /// Forgets all clusters but those of these Secrets.
    pub fn keep(&self, secrets: &BTreeSet<(String, String)>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|secret, _| secrets.contains(secret));
    }

    /// Whether a cluster has its operator; null while nobody has tried.
    pub(super) fn ask(&self, secret: &Value) -> Result<Value, String> {
        let key = (text(secret, "/namespace").to_string(), text(secret, "/name").to_string());
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            None => Ok(Value::Null),
            Some(Ok(())) => Ok(json!(true)),
            Some(Err(why)) => Err(why.clone()),
        }
    }
}
