//! What a new version of the file asks of a process that runs already.

use super::{Config, OperatorConfig};
use crate::limits::{GlobalLimits, Limits};
use crate::operator::OperatorName;

/// The difference of two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The operators whose limits are others now.
    pub limits: Vec<(OperatorName, Limits)>,
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
            ("integrations", self.integrations != new.integrations),
            ("gitops", self.gitops != new.gitops),
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

impl Changes {
    // Settings may hold what nobody else should read, so sentences name fields and never values.
    fn operator(&mut self, name: &OperatorName, old: &OperatorConfig, new: &OperatorConfig) {
        if old.limits != new.limits {
            self.limits.push((name.clone(), new.limits.clone()));
        }
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
