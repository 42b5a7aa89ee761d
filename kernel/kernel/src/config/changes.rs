//! What a new version of the file asks of a process that runs already.

use super::{Config, GitopsConfig, IntegrationsConfig, LimitsConfig, OperatorConfig};
use crate::limits::GlobalLimits;
use crate::operator::OperatorName;

/// The difference of two configurations, but for the limits of operators: those are asked for by whoever hosts them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The limits over all operators, when they are others now.
    pub global: Option<GlobalLimits>,
    /// Sentences for people: what changed that only a restart takes up.
    pub needs_restart: Vec<String>,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Config {
    /// What is different in `new`.
    pub fn changes(&self, new: &Config) -> Changes {
        let global = (self.limits != new.limits).then(|| new.limits.clone());
        let mut changes = Changes { global, ..Changes::default() };
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
        changes.needs_restart.extend(gone.map(|name| format!("operator `{name}` is gone")));
        changes
    }
}

/// The section without what is taken up while it runs.
fn integrations(config: &Config) -> Option<IntegrationsConfig> {
    let section = config.integrations.as_ref()?;
    Some(IntegrationsConfig { limits: LimitsConfig::default(), ..section.clone() })
}

/// The same of the other section.
fn gitops(config: &Config) -> Option<GitopsConfig> {
    let section = config.gitops.as_ref()?;
    Some(GitopsConfig { limits: LimitsConfig::default(), ..section.clone() })
}

impl Changes {
    // Settings may hold what nobody else should read, so sentences name fields and never values.
    fn operator(&mut self, name: &OperatorName, old: &OperatorConfig, new: &OperatorConfig) {
        match (old.enabled, new.enabled) {
            (false, true) => self.needs_restart.push(format!("operator `{name}` is enabled now")),
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
