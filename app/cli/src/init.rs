//! `switchboard init`: writes a first configuration.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;
use crate::output_format;

/// Text of the configuration: a small working part, and all other settings as comments.
pub const TEXT: &str = include_str!("init/switchboard.yaml");

/// Write a commented switchboard.yaml
#[derive(Args)]
pub struct Init {
    /// Output file; `-` is stdout. An existing file is kept
    #[arg(long, value_name = "FILE", default_value = "switchboard.yaml")]
    config: PathBuf,
}

/// Reason why nothing was written.
#[derive(Debug, thiserror::Error)]
enum InitError {
    #[error("could not write {}: file already exists\nhint: choose another name with --config FILE, or print the text with --config -", .0.display())]
    There(PathBuf),
    #[error("could not write {}\nhint: check that its folder exists and that this user may write to it", .0.display())]
    Write(PathBuf, #[source] std::io::Error),
}

impl Init {
    /// Writes the file unless it exists.
    pub fn run(self) -> Result<(), CommandError> {
        if self.config.as_os_str() == "-" {
            return output_format::write(TEXT);
        }
        let path = &self.config;
        let mut file = File::create_new(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => InitError::There(path.clone()),
            _ => InitError::Write(path.clone(), error),
        })?;
        file.write_all(TEXT.as_bytes()).map_err(|error| InitError::Write(path.clone(), error))?;
        let name = path.display();
        print_stderr(format_args!("wrote {name}"));
        print_stderr(format_args!("hint: `switchboard doctor --config {name}` checks it with your clusters"));
        print_stderr(format_args!(
            "hint: `switchboard run --config {name}` runs its operators; `switchboard plan` shows what they would write"
        ));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use switchboard_kernel::config::Config;
    use switchboard_runtime::families::FAMILIES;

    use super::TEXT;

    fn parse(text: &str) -> Config {
        Config::parse("switchboard.yaml", text, FAMILIES).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Returns the text with its examples uncommented. A comment has one space after `#`, a setting none or several.
    fn uncommented() -> String {
        let line = |line: &str| match line.strip_prefix('#') {
            Some(rest) if !rest.is_empty() && (!rest.starts_with(' ') || rest.starts_with("  ")) => format!("{rest}\n"),
            _ => format!("{line}\n"),
        };
        TEXT.lines().map(line).collect()
    }

    #[test]
    fn written_configuration_works_with_and_without_its_examples() {
        let plain = parse(TEXT);
        assert_eq!(plain.operators.keys().map(ToString::to_string).collect::<Vec<_>>(), ["greeter"]);
        assert!(plain.warnings().is_empty(), "{:?}", plain.warnings());
        let all = parse(&uncommented());
        assert!(all.sections.contains_key("integrations") && all.listen.is_some() && all.clusters.len() == 2);
        assert!(all.operators.values().any(|one| one.process.is_some()));
    }

    #[test]
    fn every_section_of_a_configuration_is_written() {
        for section in ["clusters", "topology", "limits", "journal", "listen", "operators", "integrations"] {
            let shown = |line: &str| line.trim_start_matches('#').starts_with(&format!("{section}:"));
            assert!(TEXT.lines().any(shown), "{section}");
        }
    }
}
