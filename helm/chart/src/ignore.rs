//! `.helmignore`: rules for files in a chart's folder that are not part of the chart.

use switchboard_object::glob::{BadPattern, Glob, GlobOptions};

/// Name of the rules file.
pub const FILE_NAME: &str = ".helmignore";

/// Rules in file order.
#[derive(Debug, Default)]
pub struct IgnoreRules(Vec<IgnoreRule>);

#[derive(Debug)]
struct IgnoreRule {
    /// Absent if the rule without its markers is malformed, which matches nothing.
    pattern: Option<Glob>,
    negated: bool,
    folders_only: bool,
    /// Whether the pattern is matched against the whole path instead of the last segment.
    whole: bool,
}

/// Error for a rule that Helm rejects.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreRuleError {
    /// `**`, which gitignore supports and Helm does not.
    #[error("double-star (**) syntax is not supported")]
    DoubleStar,
    /// An invalid pattern.
    #[error("{0}")]
    Pattern(#[from] BadPattern),
}

impl IgnoreRules {
    /// Parses the lines of a `.helmignore`.
    ///
    /// # Errors
    /// If a line is not a valid rule.
    pub fn read(text: &str) -> Result<Self, IgnoreRuleError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rules = Self::default();
        for line in text.lines() {
            rules.add(line)?;
        }
        Ok(rules)
    }

    /// Adds Helm's default rule: hidden files in `templates/` are ignored.
    #[must_use]
    pub fn with_defaults(mut self) -> Self {
        self.add("templates/.?*").expect("the built-in rule is valid");
        self
    }

    fn add(&mut self, line: &str) -> Result<(), IgnoreRuleError> {
        let rule = line.trim();
        if rule.is_empty() || rule.starts_with('#') {
            return Ok(());
        }
        if rule.contains("**") {
            return Err(IgnoreRuleError::DoubleStar);
        }
        Glob::new(rule, GlobOptions::GO_PATH)?;
        let (negated, rule) = rule.strip_prefix('!').map_or((false, rule), |rule| (true, rule));
        let (folders_only, rule) = rule.strip_suffix('/').map_or((false, rule), |rule| (true, rule));
        let whole = rule.contains('/');
        let pattern = Glob::new(rule.strip_prefix('/').unwrap_or(rule), GlobOptions::GO_PATH).ok();
        self.0.push(IgnoreRule { pattern, negated, folders_only, whole });
        Ok(())
    }

    /// Whether the path, relative to the chart's root, is ignored. The first rule that decides wins.
    pub fn ignores(&self, path: &str, folder: bool) -> bool {
        if matches!(path, "" | "." | "./") {
            return false;
        }
        for rule in &self.0 {
            let hit = (folder || !rule.folders_only) && rule.hits(path);
            // Helm's negation differs from git's: a path that does not match a negated rule is ignored.
            if hit != rule.negated {
                return true;
            }
        }
        false
    }
}

impl IgnoreRule {
    fn hits(&self, path: &str) -> bool {
        let name = if self.whole { path } else { path.rsplit('/').next().unwrap_or(path) };
        self.pattern.as_ref().is_some_and(|pattern| pattern.matches(name))
    }
}

#[cfg(test)]
mod tests;
