//! `.helmignore`: which files of a chart's folder are not part of the chart.

use crate::wildcard::{BadPattern, matches};

/// The name of the file the rules stand in.
pub const FILE_NAME: &str = ".helmignore";

/// Rules, in their order.
#[derive(Debug, Default)]
pub struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    pattern: String,
    negated: bool,
    folders_only: bool,
    /// Held against the whole path; else against the last part alone.
    whole: bool,
}

/// A rule Helm does not take.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// gitignore has it, Helm does not.
    #[error("double-star (**) syntax is not supported")]
    DoubleStar,
    /// Not a pattern.
    #[error("{0}")]
    Pattern(#[from] BadPattern),
}

impl Rules {
    /// Reads the lines of a `.helmignore`.
    ///
    /// # Errors
    /// When a line is no rule.
    pub fn read(text: &str) -> Result<Self, RuleError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rules = Self::default();
        for line in text.lines() {
            rules.add(line)?;
        }
        Ok(rules)
    }

    /// With Helm's own rule: hidden files in `templates/` are no templates.
    #[must_use]
    pub fn with_defaults(mut self) -> Self {
        self.add("templates/.?*").expect("the built-in rule is one");
        self
    }

    fn add(&mut self, line: &str) -> Result<(), RuleError> {
        let rule = line.trim();
        if rule.is_empty() || rule.starts_with('#') {
            return Ok(());
        }
        if rule.contains("**") {
            return Err(RuleError::DoubleStar);
        }
        matches(rule, "abc")?;
        let (negated, rule) = rule.strip_prefix('!').map_or((false, rule), |rule| (true, rule));
        let (folders_only, rule) = rule.strip_suffix('/').map_or((false, rule), |rule| (true, rule));
        let whole = rule.contains('/');
        let pattern = rule.strip_prefix('/').unwrap_or(rule).to_string();
        self.0.push(Rule { pattern, negated, folders_only, whole });
        Ok(())
    }

    /// Whether the path, from the chart's top, is left out. The first rule that decides does.
    pub fn ignores(&self, path: &str, folder: bool) -> bool {
        if matches!(path, "" | "." | "./") {
            return false;
        }
        for rule in &self.0 {
            let hit = (folder || !rule.folders_only) && rule.hits(path);
            // Helm's negation is not git's: what does not match a negated rule is ignored.
            if hit != rule.negated {
                return true;
            }
        }
        false
    }
}

impl Rule {
    fn hits(&self, path: &str) -> bool {
        let name = if self.whole { path } else { path.rsplit('/').next().unwrap_or(path) };
        matches(&self.pattern, name).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests;
