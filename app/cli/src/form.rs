//! How a report is printed: for people as a table, narrow or wide; for programs as JSON or YAML.

use std::fmt::Display;
use std::io::Write;

use clap::ValueEnum;
use jiff::Timestamp;
use serde::Serialize;
use switchboard_object::yaml;

use crate::failure::Failure;
use crate::paint;

/// How a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For people
    #[default]
    #[value(alias = "text")]
    Table,
    /// For people with wide screens: more columns where there are more
    Wide,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

impl Form {
    /// The report in this form. What more a report has to say on a wide screen, it says as its alternate form.
    pub fn text(self, report: &(impl Display + Serialize)) -> Result<String, Failure> {
        Ok(match self {
            Form::Table => report.to_string(),
            Form::Wide => format!("{report:#}"),
            Form::Json => format!("{}\n", serde_json::to_string_pretty(report)?),
            Form::Yaml => yaml::to_string(&serde_json::to_value(report)?),
        })
    }

    /// Whether it is for people, who may be shown colours.
    pub fn is_for_people(self) -> bool {
        matches!(self, Form::Table | Form::Wide)
    }
}

/// Prints a report.
pub fn print(report: &(impl Display + Serialize), form: Form) -> Result<(), Failure> {
    let text = form.text(report)?;
    write(&if form.is_for_people() { paint::on_stdout(&text) } else { text })
}

/// Writes data to stdout.
pub fn write(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Who reads no further, as `head` does, has what it wanted.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// How long ago that was, as kubectl has it: in the largest unit that fits twice.
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
    struct Report {
        name: &'static str,
    }

    impl Display for Report {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            if f.alternate() { writeln!(f, "{} and more", self.name) } else { writeln!(f, "{}", self.name) }
        }
    }

    #[test]
    fn every_form_has_its_text() {
        let text = |form: Form| form.text(&Report { name: "web" }).unwrap();
        assert_eq!(text(Form::Table), "web\n");
        assert_eq!(text(Form::Wide), "web and more\n");
        assert_eq!(text(Form::Json), "{\n  \"name\": \"web\"\n}\n");
        assert_eq!(text(Form::Yaml), "name: web\n");
        assert_eq!(Form::from_str("text", false), Ok(Form::Table), "the older name is still understood");
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
