//! Registration of the engine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use switchboard_git::GitSettings;
use switchboard_kernel::config::{DEFAULT_CLUSTER, ParentSection};
use switchboard_kernel::family::{OperatorFamily, PartOperator};
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::Operator;
use switchboard_kernel::topology::ClusterName;

use crate::operator::{EngineOperator, NAME};
use crate::source::{POLL, RepositorySources};

/// Default timeout of a decision, which may fetch a repository.
const TIMEOUT: Duration = Duration::from_secs(150);
/// Default debounce of an Application.
const DEBOUNCE: Duration = Duration::from_millis(50);
const COOL_DOWN: Duration = Duration::from_millis(200);

/// Operators of the engine, one for each destination cluster. Their host gives them sources and adds them.
pub struct EngineFamily;

impl OperatorFamily for EngineFamily {
    fn operators(&self) -> &[&'static str] {
        &[NAME]
    }

    fn parts(&self) -> &[PartOperator] {
        &[PartOperator { name: "engine@", parent: ParentSection::Operator(NAME) }]
    }

    /// Returns shorter delays than those of other operators, since a sync takes several steps.
    fn limits(&self) -> Limits {
        Limits { debounce: DEBOUNCE, cool_down: COOL_DOWN, timeout: TIMEOUT, ..Limits::default() }
    }

    fn operator(&self, name: &str) -> Option<Arc<dyn Operator>> {
        replay_operator(name)
    }

    fn hosted(&self, _name: &str, _settings: &Value) -> Vec<Arc<dyn Operator>> {
        Vec::new()
    }
}

/// Returns an engine without sources, which can repeat recorded decisions.
fn replay_operator(name: &str) -> Option<Arc<dyn Operator>> {
    let sources = Arc::new(RepositorySources::new(GitSettings::with_cache(Path::new("")), POLL));
    let here = ClusterName::new(DEFAULT_CLUSTER);
    if name == NAME {
        return Some(Arc::new(EngineOperator::in_cluster(here, sources, Arc::default())));
    }
    let (namespace, secret) = name.strip_prefix(NAME)?.strip_prefix('@')?.split_once('.')?;
    let (key, there) = ((namespace.to_string(), secret.to_string()), ClusterName::new(name));
    Some(Arc::new(EngineOperator::remote(here, key, there, sources, Arc::default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_is_identified_by_its_name() {
        for name in ["engine", "engine@argocd.managed-env-1"] {
            assert_eq!(replay_operator(name).map(|one| one.name().to_string()).as_deref(), Some(name));
        }
        assert!(replay_operator("engines").is_none() && replay_operator("engine@x").is_none());
    }
}
