//! Limits of every operator under `run` and `up`.

use std::sync::Arc;

use switchboard_kernel::config::Config;
use switchboard_kernel::host::{Handle, HostStopped, LimitsByName};
use switchboard_kernel::operator::{Operator, OperatorName};
use switchboard_kernel::topology::ClusterName;
use tokio::sync::RwLock;

/// Current configuration, shared by all parts that host operators.
#[derive(Clone)]
pub struct CurrentConfig(Arc<RwLock<Config>>);

impl CurrentConfig {
    /// Creates the shared configuration.
    pub fn new(config: Config) -> Self {
        Self(Arc::new(RwLock::new(config)))
    }

    /// Adds an operator to the kernel. The configuration cannot change meanwhile, which would leave the operator with
    /// outdated limits.
    pub async fn add(
        &self,
        handle: &Handle,
        operator: Arc<dyn Operator>,
        cluster: Option<(ClusterName, kube::Client)>,
    ) -> Result<(), HostStopped> {
        let config = self.0.read().await;
        let limits = config.limits_of(operator.name());
        handle.add(operator, limits, cluster).await
    }

    /// Replaces the configuration. Returns the operators whose limits changed.
    pub async fn replace(&self, new: Config, handle: &Handle) -> Result<LimitsByName, HostStopped> {
        let mut config = self.0.write().await;
        let state = handle.state().await?;
        let running = state.operators.iter().map(|operator| &*operator.name);
        let changed = changed(&config, &new, running);
        let global = new.limits.clone();
        *config = new;
        handle.set_limits(global, changed.clone()).await?;
        Ok(changed)
    }
}

/// Returns the operators whose limits differ between two configurations.
fn changed<'a>(old: &Config, new: &Config, running: impl Iterator<Item = &'a str>) -> LimitsByName {
    let of_new = running.map(|name| (OperatorName::new(name), new.limits_of(name)));
    of_new.filter(|(name, limits)| old.limits_of(&name.0) != *limits).collect()
}

#[cfg(test)]
mod tests;
