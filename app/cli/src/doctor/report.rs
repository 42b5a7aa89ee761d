//! What was found, one line each, with what helps below it.

use std::fmt;

use serde::Serialize;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// Not in the way, but worth knowing.
    Warning,
    /// In the way.
    Wrong,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Health::Ok => "ok",
            Health::Warning => "warning",
            Health::Wrong => "wrong",
        })
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What: `configuration`, `cluster hub`.
    pub check: String,
    /// How it is.
    pub state: Health,
    /// What was found.
    pub found: String,
    /// What helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Check {
    /// All is well.
    pub fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self { check: check.into(), state: Health::Ok, found: found.into(), hint: None }
    }

    /// Worth knowing.
    pub fn warning(check: impl Into<String>, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check: check.into(), state: Health::Warning, found: found.into(), hint: Some(hint.into()) }
    }

    /// In the way.
    pub fn wrong(check: impl Into<String>, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check: check.into(), state: Health::Wrong, found: found.into(), hint: Some(hint.into()) }
    }

    /// In the way, by an error as it is told: its hint is what helps.
    pub fn failed(check: impl Into<String>, told: &str) -> Self {
        let told = told.strip_prefix("error: ").unwrap_or(told);
        let (found, hint) = told.split_once("\nhint: ").map_or((told, None), |(found, hint)| (found, Some(hint)));
        let hint = hint.map(str::to_string);
        Self { check: check.into(), state: Health::Wrong, found: found.to_string(), hint }
    }
}

/// All that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    checks: Vec<Check>,
}

impl Report {
    /// Adds what was found.
    pub fn add(&mut self, check: Check) {
        self.checks.push(check);
    }

    /// Whether nothing stands in the way.
    pub fn is_well(&self) -> bool {
        self.checks.iter().all(|check| check.state != Health::Wrong)
    }

    fn count(&self, state: Health) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.checks.iter().map(|check| check.check.chars().count()).max().unwrap_or_default();
        for check in &self.checks {
            let mut lines = check.found.lines();
            writeln!(f, "{:<7}  {:<width$}  {}", check.state, check.check, lines.next().unwrap_or_default())?;
            for line in lines {
                writeln!(f, "{:<7}  {:<width$}  {}", "", "", line.trim_end())?;
            }
            for line in check.hint.iter().flat_map(|hint| hint.lines()) {
                writeln!(f, "{:<7}  {:<width$}  hint: {}", "", "", line.trim_start_matches("hint: "))?;
            }
        }
        match (self.count(Health::Wrong), self.count(Health::Warning)) {
            (0, 0) => writeln!(f, "all is well"),
            (0, warnings) => writeln!(f, "nothing stands in the way; {warnings} to know of"),
            (wrong, warnings) => writeln!(f, "{wrong} to fix, {warnings} to know of"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_stands_with_what_helps_and_decides() {
        let mut report = Report::default();
        report.add(Check::ok("git", "git version 2"));
        assert!(report.is_well());
        report.add(Check::warning("sandbox", "there is none", "docs/HOSTING.md"));
        assert!(report.is_well(), "a warning is not in the way");
        report.add(Check::failed("configuration", "error: could not read x\n  line 2\nhint: name a file"));
        assert!(!report.is_well());
        let expected = "\
ok       git            git version 2
warning  sandbox        there is none
                        hint: docs/HOSTING.md
wrong    configuration  could not read x
                          line 2
                        hint: name a file
1 to fix, 1 to know of
";
        assert_eq!(report.to_string(), expected);
    }
}
