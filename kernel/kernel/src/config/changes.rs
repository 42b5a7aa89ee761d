//! Differences between two versions of the file, for a running process.

use std::collections::BTreeSet;

use super::{Config, OperatorConfig, SectionConfig};
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
        ];
        let sections: BTreeSet<&str> = self.sections.keys().chain(new.sections.keys()).copied().collect();
        let sections =
            sections.into_iter().map(|name| (name, differs(self.sections.get(name), new.sections.get(name))));
        let changed = parts.into_iter().chain(sections).filter(|(_, changed)| *changed);
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

/// Whether a section differs, except for its limits, which are applied without a restart.
fn differs(old: Option<&SectionConfig>, new: Option<&SectionConfig>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old.needs_restart(new),
        (old, new) => old.is_some() != new.is_some(),
    }
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
