//! Where something was wanted once: when nothing is any more, what is left there must still be found, after a restart too.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::desired::{Desired, TargetName};
use crate::model::{Cluster, Environment, Namespace, Scope, Token};

/// The namespaces in which something was wanted, with how their clusters are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory(BTreeMap<TargetName, Place>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    cluster: String,
    namespace: String,
    environment: String,
    server_url: String,
    #[serde(default)]
    insecure: bool,
    /// Path and field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<(String, String)>,
}

impl Memory {
    /// What was written down.
    ///
    /// # Errors
    /// When it is not what [`Memory::text`] gives.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let places: Vec<Place> = serde_json::from_str(text)?;
        let name = |place: &Place| (Arc::from(&*place.cluster), Arc::from(&*place.namespace));
        Ok(Self(places.into_iter().map(|place| (name(&place), place)).collect()))
    }

    /// What is written down.
    pub fn text(&self) -> String {
        let places: Vec<&Place> = self.0.values().collect();
        // Places are texts; there is nothing in them that is no JSON.
        serde_json::to_string_pretty(&places).unwrap_or_default()
    }

    /// Keeps in mind where something is wanted now. True when there is something to write down.
    pub fn note(&mut self, desired: &Desired) -> bool {
        let mut changed = false;
        for (name, target) in &desired.targets {
            let place = Place::of(&target.namespace);
            changed |= self.0.insert(name.clone(), place.clone()).is_none_or(|before| before != place);
        }
        changed
    }

    /// Whether something was wanted on a cluster once.
    pub fn knows(&self, cluster: &str) -> bool {
        self.0.keys().any(|(name, _)| **name == *cluster)
    }

    /// Adds namespaces that the data does not even name any more to those in which nothing runs. Those of an environment
    /// that is not looked at are not this run's.
    pub fn recall(&self, scope: &Scope, desired: &mut Desired) {
        for (name, place) in &self.0 {
            let named = desired.targets.contains_key(name)
                || desired.empty.iter().any(|one| (&one.cluster.name, &one.name) == (&name.0, &name.1));
            let looked_at = scope.environment.as_ref().is_none_or(|wanted| *wanted == place.environment);
            if !named && looked_at {
                desired.empty.push(Arc::new(place.namespace()));
            }
        }
    }
}

impl Place {
    fn of(namespace: &Namespace) -> Self {
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

    fn namespace(&self) -> Namespace {
        let token = self.token.clone().map(|(path, field)| Token { path, field });
        Namespace {
            path: Arc::from(""),
            name: Arc::from(&*self.namespace),
            environment: Environment { name: Arc::from(&*self.environment), parameters: serde_json::Map::new() },
            cluster: Cluster {
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
    fn where_something_was_wanted_is_known_after_a_restart() {
        let mut memory = Memory::default();
        let stage = desired(&files(&[("one", runs("/stage.yml", "", ""))]), false);
        assert!(memory.note(&stage) && !memory.note(&stage));
        let memory = Memory::parse(&memory.text()).unwrap();
        assert!(memory.knows("c1") && !memory.knows("c2"));
        // A server's bundle names no namespace in which nothing runs.
        let nothing = || Desired { targets: BTreeMap::new(), empty: Vec::new(), ..stage.clone() };
        let recalled = |environment: Option<&str>, mut desired: Desired| {
            memory.recall(&Scope { environment: environment.map(str::to_string), ..Scope::default() }, &mut desired);
            desired.empty.iter().map(|one| (one.cluster.clone(), one.name.to_string())).collect::<Vec<_>>()
        };
        let cluster = stage.targets.values().next().unwrap().namespace.cluster.clone();
        assert_eq!(recalled(None, nothing()), [(cluster.clone(), "stage-ns".to_string())]);
        assert_eq!(recalled(Some("stage"), nothing()).len(), 1);
        assert_eq!(recalled(Some("prod"), nothing()), []);
        let runs = Desired { empty: Vec::new(), ..stage.clone() };
        assert_eq!(recalled(None, runs), []);
        assert!(Memory::parse("{}").is_err());
    }
}
