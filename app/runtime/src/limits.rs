//! Limits of every operator under `run` and `up`.

use std::sync::Arc;

use switchboard_kernel::config::{Config, ParentSection};
use switchboard_kernel::host::{Handle, HostStopped, LimitsByName};
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::{Operator, OperatorName};
use switchboard_kernel::topology::ClusterName;
use tokio::sync::RwLock;

use crate::gitops::engine;
use crate::operators::{self, KNOWN};

/// Returns the limits of an operator: for operators at the start, operators added later, and changed configurations.
pub fn of(config: &Config, name: &str) -> Limits {
    let by_name = OperatorName::new(name);
    match KNOWN.parent_of(name) {
        Some(of @ ParentSection::Integrations) => config.limits_of_part(&by_name, of, &Limits::default()),
        Some(of @ ParentSection::Gitops) => config.limits_of_part(&by_name, of, &switchboard_service::limits::limits()),
        // The only operator with several instances.
        Some(of @ ParentSection::Operator(_)) => config.limits_of_part(&by_name, of, &engine::limits()),
        None if name == switchboard_engine::operator::NAME => config.limits_of_part(
            &by_name,
            ParentSection::Operator(switchboard_engine::operator::NAME),
            &engine::limits(),
        ),
        None => {
            let own = config.operators.get(&by_name);
            let head = || config.operators.get(&OperatorName::new(operators::family_head(name)?));
            own.or_else(head).map(|entry| entry.limits()).unwrap_or_default()
        }
    }
}

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
        let limits = of(&config, operator.name());
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
    let of_new = running.map(|name| (OperatorName::new(name), of(new, name)));
    of_new.filter(|(name, limits)| of(old, &name.0) != *limits).collect()
}

#[cfg(test)]
mod tests;
