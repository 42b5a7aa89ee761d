//! Results of the checks: one line each, with its hint below.

use std::error::Error;
use std::fmt;

use serde::Serialize;
use switchboard_kernel::config::{ConfigError, ConfigErrors};

use crate::count::counted;
use crate::failure::{LAST_HINT, message};

/// Prefix of a hint in an error message.
const HINT: &str = "hint: ";
/// Hint of an error without a specific one.
const MORE_OUTPUT: &str = "set SWITCHBOARD_LOG=debug for more output";

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// Nothing to do.
    Ok,
    /// Worth knowing, but `run` works.
    Warning,
    /// `run` fails or works only in part.
    Error,
}

impl fmt::Display for CheckState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            CheckState::Ok => "ok",
            CheckState::Warning => "warning",
            CheckState::Error => "error",
        })
    }
}

/// One check with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// Name of the check: `configuration`, `cluster hub`.
    pub check: String,
    /// Result of the check.
    pub state: CheckState,
    /// Details of the result.
    pub found: String,
    /// Hint that resolves the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl DoctorCheck {
    /// Creates a result without a problem.
    pub fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self { check: check.into(), state: CheckState::Ok, found: found.into(), hint: None }
    }

    /// Creates a warning.
    pub fn warning(check: impl Into<String>, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check: check.into(), state: CheckState::Warning, found: found.into(), hint: Some(hint.into()) }
    }

    /// Creates an error.
    pub fn error(check: impl Into<String>, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check: check.into(), state: CheckState::Error, found: found.into(), hint: Some(hint.into()) }
    }

    /// Creates an error from a printed error message, whose hints become the hint of the check.
    pub fn failed(check: impl Into<String>, message: &str) -> Self {
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let (hints, found): (Vec<&str>, Vec<&str>) = message.lines().partition(|line| line.starts_with(HINT));
        // The general hint names doctor itself.
        let general = |hint: &str| if hint == LAST_HINT { MORE_OUTPUT } else { hint }.to_string();
        let hints: Vec<String> = hints.into_iter().map(|hint| general(hint.trim_start_matches(HINT))).collect();
        let hint = Some(hints.join("\n")).filter(|hint| !hint.is_empty());
        Self { check: check.into(), state: CheckState::Error, found: found.join("\n"), hint }
    }

    /// Creates an error for each problem of a configuration file, or one for any other error.
    pub fn config_errors(check: &str, error: &(dyn Error + Send + Sync + 'static)) -> Vec<Self> {
        let Some(ConfigErrors { file, errors, omitted }) = error.downcast_ref::<ConfigErrors>() else {
            return vec![Self::failed(check, &message(error))];
        };
        let one = |error: &ConfigError| {
            let path = if error.path.is_empty() { String::new() } else { format!("{}: ", error.path) };
            let found = format!("{file}:{}:{}: {path}{}", error.line, error.column, error.problem);
            Self { check: check.into(), state: CheckState::Error, found, hint: error.hint.clone() }
        };
        let more = (*omitted > 0).then(|| Self::failed(check, &format!("{file} has {omitted} more errors")));
        errors.iter().map(one).chain(more).collect()
    }
}

/// Results of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    checks: Vec<DoctorCheck>,
}

impl DoctorReport {
    /// Adds a result.
    pub fn add(&mut self, check: DoctorCheck) {
        self.checks.push(check);
    }

    /// Whether no check failed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.state != CheckState::Error)
    }

    fn count(&self, state: CheckState) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.checks.iter().map(|check| check.check.chars().count()).max().unwrap_or_default();
        for check in &self.checks {
            let mut lines = check.found.lines();
            writeln!(f, "{:<7}  {:<width$}  {}", check.state, check.check, lines.next().unwrap_or_default())?;
            for line in lines {
                writeln!(f, "{:<7}  {:<width$}  {}", "", "", line.trim_end())?;
            }
            for line in check.hint.iter().flat_map(|hint| hint.lines()) {
                writeln!(f, "{:<7}  {:<width$}  hint: {}", "", "", line.trim_start_matches(HINT))?;
            }
        }
        let errors = counted(self.count(CheckState::Error), "error");
        writeln!(f, "{errors}, {}", counted(self.count(CheckState::Warning), "warning"))
    }
}

#[cfg(test)]
mod tests {
    use switchboard_kernel::config::Config;
    use switchboard_kernel::family::Families;

    use super::*;

    #[test]
    fn no_hint_names_doctor_itself() {
        let check = DoctorCheck::failed("a", &message(&std::fmt::Error));
        assert_eq!(check.hint.as_deref(), Some(MORE_OUTPUT));
    }

    #[test]
    fn every_error_of_a_file_is_a_check_with_its_own_hint() {
        let text = "operators: {}\nlimits: {requests: 1}\nlisten: 7\n";
        let errors = Config::parse("bad.yaml", text, Families::default()).expect_err("the file has two errors");
        let checks = DoctorCheck::config_errors("configuration", &errors);
        assert_eq!(checks.len(), 2, "{checks:?}");
        for check in checks {
            assert!(check.found.starts_with("bad.yaml:"), "{check:?}");
            assert!(check.hint.as_ref().is_some_and(|hint| !hint.contains("bad.yaml")), "{check:?}");
        }
    }

    #[test]
    fn hints_between_messages_are_separated() {
        let check = DoctorCheck::failed("x", "error: could not read a\n  b\nhint: one\n  c\nhint: two");
        assert_eq!(check.found, "could not read a\n  b\n  c");
        assert_eq!(check.hint.as_deref(), Some("one\ntwo"));
    }

    #[test]
    fn results_have_hints_and_errors_fail_the_report() {
        let mut report = DoctorReport::default();
        report.add(DoctorCheck::ok("git", "git version 2"));
        assert!(report.passed());
        report.add(DoctorCheck::warning("sandbox", "not available", "see docs/reference/hosting.md"));
        assert!(report.passed(), "a warning does not fail the report");
        report.add(DoctorCheck::failed("configuration", "error: could not read x\n  line 2\nhint: pass a file"));
        assert!(!report.passed());
        let expected = "\
ok       git            git version 2
warning  sandbox        not available
                        hint: see docs/reference/hosting.md
error    configuration  could not read x
                          line 2
                        hint: pass a file
1 error, 1 warning
";
        assert_eq!(report.to_string(), expected);
    }
}
