//! The limits of every operator that `run` and `up` host, whoever starts it and whenever.

use std::sync::Arc;

use switchboard_kernel::config::{Config, Whole};
use switchboard_kernel::host::{Handle, LimitsByName, Stopped};
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::{Operator, OperatorName};
use switchboard_kernel::place::ClusterName;
use tokio::sync::RwLock;

use crate::gitops::engine;
use crate::operators::{self, KNOWN};

/// The limits that a configuration gives the operator of a name: when the process starts, when the operator comes later, and
/// when the configuration has changed.
pub fn of(config: &Config, name: &str) -> Limits {
    let by_name = OperatorName::new(name);
    match KNOWN.whole(name) {
        Some(of @ Whole::Integrations) => config.limits_of_part(&by_name, of, &Limits::default()),
        Some(of @ Whole::Gitops) => config.limits_of_part(&by_name, of, &switchboard_service::limits::limits()),
        // There is one operator that is there several times.
        Some(of @ Whole::Operator(_)) => config.limits_of_part(&by_name, of, &engine::limits()),
        None if name == switchboard_engine::operator::NAME => {
            config.limits_of_part(&by_name, Whole::Operator(switchboard_engine::operator::NAME), &engine::limits())
        }
        None => {
            let own = config.operators.get(&by_name);
            let head = || config.operators.get(&OperatorName::new(operators::head(name)?));
            own.or_else(head).map(|entry| entry.limits()).unwrap_or_default()
        }
    }
}

/// The configuration in force, for all who host something under it.
#[derive(Clone)]
pub struct InForce(Arc<RwLock<Config>>);

impl InForce {
    /// This one, for now.
    pub fn new(config: Config) -> Self {
        Self(Arc::new(RwLock::new(config)))
    }

    /// Has a further operator hosted. While it is, no other configuration comes into force: the limits would be the old ones.
    pub async fn add(
        &self,
        handle: &Handle,
        operator: Arc<dyn Operator>,
        cluster: Option<(ClusterName, kube::Client)>,
    ) -> Result<(), Stopped> {
        let config = self.0.read().await;
        let limits = of(&config, operator.name());
        handle.add(operator, limits, cluster).await
    }

    /// Puts another configuration into force. Gives the operators that have other limits by it.
    pub async fn replace(&self, new: Config, handle: &Handle) -> Result<LimitsByName, Stopped> {
        let mut config = self.0.write().await;
        let state = handle.state().await?;
        let there = state.operators.iter().map(|operator| &*operator.name);
        let changed = changed(&config, &new, there);
        let global = new.limits.clone();
        *config = new;
        handle.set_limits(global, changed.clone()).await?;
        Ok(changed)
    }
}

/// The operators that have other limits by another configuration.
fn changed<'a>(old: &Config, new: &Config, there: impl Iterator<Item = &'a str>) -> LimitsByName {
    let of_new = there.map(|name| (OperatorName::new(name), of(new, name)));
    of_new.filter(|(name, limits)| of(old, &name.0) != *limits).collect()
}

#[cfg(test)]
mod tests;
