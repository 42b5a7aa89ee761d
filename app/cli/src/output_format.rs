//! Output formats of reports: tables, JSON and YAML.

use std::fmt::Display;
use std::io::Write;

use clap::ValueEnum;
use jiff::Timestamp;
use serde::Serialize;
use switchboard_object::yaml;

use crate::color;
use crate::failure::CommandError;

/// Output format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Table
    #[default]
    #[value(alias = "text")]
    Table,
    /// Table with additional columns
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

impl OutputFormat {
    /// Formats a report. The alternate form of its `Display` is the wide table.
    pub fn text(self, report: &(impl Display + Serialize)) -> Result<String, CommandError> {
        Ok(match self {
            OutputFormat::Table => report.to_string(),
            OutputFormat::Wide => format!("{report:#}"),
            OutputFormat::Json => format!("{}\n", serde_json::to_string_pretty(report)?),
            OutputFormat::Yaml => yaml::to_string(&serde_json::to_value(report)?),
        })
    }

    /// Whether the format is a table, which may have colors.
    pub fn is_table(self) -> bool {
        matches!(self, OutputFormat::Table | OutputFormat::Wide)
    }
}

/// Prints a report.
pub fn print(report: &(impl Display + Serialize), format: OutputFormat) -> Result<(), CommandError> {
    let text = format.text(report)?;
    write(&if format.is_table() { color::on_stdout(&text) } else { text })
}

/// Writes text to stdout.
pub fn write(text: &str) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader such as `head` may close the pipe early.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Returns an age like kubectl: in the largest unit with at least two digits of precision.
pub fn age(created: &str, now: Timestamp) -> String {
    let Ok(created) = created.parse::<Timestamp>() else { return "-".to_string() };
    let seconds = now.duration_since(created).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fmt;

    use super::*;

    #[derive(Serialize)]
    struct NameReport {
        name: &'static str,
    }

    impl Display for NameReport {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            if f.alternate() { writeln!(f, "{} and more", self.name) } else { writeln!(f, "{}", self.name) }
        }
    }

    #[test]
    fn every_output_format_has_text() {
        let text = |format: OutputFormat| format.text(&NameReport { name: "web" }).unwrap();
        assert_eq!(text(OutputFormat::Table), "web\n");
        assert_eq!(text(OutputFormat::Wide), "web and more\n");
        assert_eq!(text(OutputFormat::Json), "{\n  \"name\": \"web\"\n}\n");
        assert_eq!(text(OutputFormat::Yaml), "name: web\n");
        assert_eq!(
            OutputFormat::from_str("text", false),
            Ok(OutputFormat::Table),
            "the older name is still understood"
        );
    }

    #[test]
    fn ages_are_those_of_kubectl() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().expect("it is a time");
        assert_eq!(age("2026-01-09T23:59:00Z", now), "60s");
        assert_eq!(age("2026-01-09T23:00:00Z", now), "60m");
        assert_eq!(age("2026-01-09T00:00:00Z", now), "24h");
        assert_eq!(age("2026-01-01T00:00:00Z", now), "9d");
        assert_eq!(age("", now), "-");
    }
}
