//! History of namespaces with desired objects. When a namespace has none any more, its leftover objects must still be
//! found, even after a restart.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::desired::{DesiredObjects, NamespaceKey};
use crate::model::{DataScope, IntegrationCluster, IntegrationEnvironment, IntegrationNamespace, TokenReference};

/// Namespaces that had desired objects, with the access to their clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceHistory(BTreeMap<NamespaceKey, NamespaceRecord>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamespaceRecord {
    cluster: String,
    namespace: String,
    environment: String,
    server_url: String,
    #[serde(default)]
    insecure: bool,
    /// Path and field of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<(String, String)>,
}

impl NamespaceHistory {
    /// Parses a saved history.
    ///
    /// # Errors
    /// If the text was not written by [`NamespaceHistory::to_json`].
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let places: Vec<NamespaceRecord> = serde_json::from_str(text)?;
        let name = |place: &NamespaceRecord| (Arc::from(&*place.cluster), Arc::from(&*place.namespace));
        Ok(Self(places.into_iter().map(|place| (name(&place), place)).collect()))
    }

    /// Formats the history for saving.
    pub fn to_json(&self) -> String {
        let places: Vec<&NamespaceRecord> = self.0.values().collect();
        // Records contain only texts, so serialization cannot fail.
        serde_json::to_string_pretty(&places).unwrap_or_default()
    }

    /// Records all namespaces with desired objects. Returns whether the history has changed.
    pub fn record(&mut self, desired: &DesiredObjects) -> bool {
        let mut changed = false;
        for (name, target) in &desired.namespaces {
            let place = NamespaceRecord::from_namespace(&target.namespace);
            changed |= self.0.insert(name.clone(), place.clone()).is_none_or(|before| before != place);
        }
        changed
    }

    /// Whether a cluster ever had desired objects.
    pub fn includes_cluster(&self, cluster: &str) -> bool {
        self.0.keys().any(|(name, _)| **name == *cluster)
    }

    /// Adds namespaces that are no longer in the data to those without integrations. Namespaces of other environments
    /// are not part of this run.
    pub fn add_removed_namespaces(&self, scope: &DataScope, desired: &mut DesiredObjects) {
        for (name, place) in &self.0 {
            let named = desired.namespaces.contains_key(name)
                || desired.empty.iter().any(|one| (&one.cluster.name, &one.name) == (&name.0, &name.1));
            let looked_at = scope.environment.as_ref().is_none_or(|wanted| *wanted == place.environment);
            if !named && looked_at {
                desired.empty.push(Arc::new(place.namespace()));
            }
        }
    }
}

impl NamespaceRecord {
    fn from_namespace(namespace: &IntegrationNamespace) -> Self {
        let cluster = &namespace.cluster;
        Self {
            cluster: cluster.name.to_string(),
            namespace: namespace.name.to_string(),
            environment: namespace.environment.name.to_string(),
            server_url: cluster.server_url.clone(),
            insecure: cluster.insecure_skip_tls_verify,
            token: cluster.token.as_ref().map(|token| (token.path.clone(), token.field.clone())),
        }
    }

    fn namespace(&self) -> IntegrationNamespace {
        let token = self.token.clone().map(|(path, field)| TokenReference { path, field });
        IntegrationNamespace {
            path: Arc::from(""),
            name: Arc::from(&*self.namespace),
            environment: IntegrationEnvironment {
                name: Arc::from(&*self.environment),
                parameters: serde_json::Map::new(),
            },
            cluster: IntegrationCluster {
                name: Arc::from(&*self.cluster),
                server_url: self.server_url.clone(),
                insecure_skip_tls_verify: self.insecure,
                token,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::desired::tests::{desired, files, runs};

    #[test]
    fn the_history_survives_a_restart() {
        let mut memory = NamespaceHistory::default();
        let stage = desired(&files(&[("one", runs("/stage.yml", "", ""))]), false);
        assert!(memory.record(&stage) && !memory.record(&stage));
        let memory = NamespaceHistory::parse(&memory.to_json()).unwrap();
        assert!(memory.includes_cluster("c1") && !memory.includes_cluster("c2"));
        // A server's bundle contains no namespaces without integrations.
        let nothing = || DesiredObjects { namespaces: BTreeMap::new(), empty: Vec::new(), ..stage.clone() };
        let recalled = |environment: Option<&str>, mut desired: DesiredObjects| {
            memory.add_removed_namespaces(
                &DataScope { environment: environment.map(str::to_string), ..DataScope::default() },
                &mut desired,
            );
            desired.empty.iter().map(|one| (one.cluster.clone(), one.name.to_string())).collect::<Vec<_>>()
        };
        let cluster = stage.namespaces.values().next().unwrap().namespace.cluster.clone();
        assert_eq!(recalled(None, nothing()), [(cluster.clone(), "stage-ns".to_string())]);
        assert_eq!(recalled(Some("stage"), nothing()).len(), 1);
        assert_eq!(recalled(Some("prod"), nothing()), []);
        let runs = DesiredObjects { empty: Vec::new(), ..stage.clone() };
        assert_eq!(recalled(None, runs), []);
        assert!(NamespaceHistory::parse("{}").is_err());
    }
}
