//! Differences between two versions of the file, for a running process.

use super::{Config, GitopsConfig, IntegrationsConfig, LimitsConfig, OperatorConfig};
use crate::limits::GlobalLimits;
use crate::operator::OperatorName;

/// Differences of two configurations, except for the limits of operators, which their hosts read themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigChanges {
    /// New global limits, if they changed.
    pub global: Option<GlobalLimits>,
    /// Messages about changes that need a restart.
    pub needs_restart: Vec<String>,
}

impl ConfigChanges {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Config {
    /// Returns the differences in `new`.
    pub fn changes(&self, new: &Config) -> ConfigChanges {
        let global = (self.limits != new.limits).then(|| new.limits.clone());
        let mut changes = ConfigChanges { global, ..ConfigChanges::default() };
        let parts = [
            ("clusters", self.clusters != new.clusters),
            ("topology", self.topology != new.topology),
            ("journal", self.journal != new.journal),
            ("listen", self.listen != new.listen),
            ("console", self.console != new.console),
            ("integrations", integrations(self) != integrations(new)),
            ("gitops", gitops(self) != gitops(new)),
        ];
        let changed = parts.iter().filter(|(_, changed)| *changed);
        changes.needs_restart.extend(changed.map(|(part, _)| format!("`{part}` changed")));
        for (name, config) in &new.operators {
            match self.operators.get(name) {
                Some(old) => changes.operator(name, old, config),
                None => changes.needs_restart.push(format!("operator `{name}` is new")),
            }
        }
        let gone = self.operators.keys().filter(|name| !new.operators.contains_key(*name));
        changes.needs_restart.extend(gone.map(|name| format!("operator `{name}` was removed")));
        changes
    }
}

/// Returns the section without its limits, which are applied without a restart.
fn integrations(config: &Config) -> Option<IntegrationsConfig> {
    let section = config.integrations.as_ref()?;
    Some(IntegrationsConfig { limits: LimitsConfig::default(), ..section.clone() })
}

/// Returns the section without its limits, which are applied without a restart.
fn gitops(config: &Config) -> Option<GitopsConfig> {
    let section = config.gitops.as_ref()?;
    Some(GitopsConfig { limits: LimitsConfig::default(), ..section.clone() })
}

impl ConfigChanges {
    // Settings may hold secrets, so messages contain field names but no values.
    fn operator(&mut self, name: &OperatorName, old: &OperatorConfig, new: &OperatorConfig) {
        match (old.enabled, new.enabled) {
            (false, true) => self.needs_restart.push(format!("operator `{name}` is now enabled")),
            (true, false) => self.needs_restart.push(format!("operator `{name}` is no longer enabled")),
            _ => {}
        }
        let fields = [
            ("serviceAccount", old.service_account != new.service_account),
            ("settings", old.settings != new.settings),
            ("command", old.process != new.process),
        ];
        let changed = fields.iter().filter(|(_, changed)| *changed);
        self.needs_restart.extend(changed.map(|(field, _)| format!("`{field}` of operator `{name}` changed")));
    }
}
