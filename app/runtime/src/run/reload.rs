//! Changes of the configuration file while the process runs.

use std::path::Path;
use std::time::Duration;

use switchboard_kernel::config::Config;
use switchboard_kernel::family::Families;
use tokio::signal::unix::Signal;

use super::RunningKernel;
use crate::config_file;
use crate::failure::{self, CommandError};
use crate::stderr::print_stderr;

/// Poll interval of the configuration file; SIGHUP triggers a check at once.
const RELOAD_EVERY: Duration = Duration::from_secs(2);

/// Configuration file with its last read text.
pub struct WatchedConfig<'a> {
    families: Families,
    file: &'a Path,
    last_text: Option<String>,
}

impl<'a> WatchedConfig<'a> {
    /// Starts from a text that was read before. Every later change of the file counts, however long the start takes.
    pub fn new(families: Families, file: &'a Path, text: String) -> Self {
        Self { families, file, last_text: Some(text) }
    }

    /// Returns the configuration of the file if its text changed.
    fn changed(&mut self) -> Option<Result<Config, CommandError>> {
        let read = config_file::read_text(self.file);
        let text = read.as_ref().ok().cloned();
        if text == self.last_text {
            return None;
        }
        self.last_text = text;
        Some(read.and_then(|text| config_file::parse_config(self.families, self.file, &text)))
    }
}

/// Applies changed limits while the process runs; `shape` adapts a new configuration. An invalid configuration changes
/// nothing. Settings that need a restart are compared with the configuration of the start.
pub async fn reload(
    mut watched: WatchedConfig<'_>,
    shape: impl Fn(Config) -> Result<Config, CommandError>,
    started: Config,
    running: &RunningKernel,
    mut hangup: Signal,
) {
    loop {
        tokio::select! {
            _ = hangup.recv() => {}
            () = tokio::time::sleep(RELOAD_EVERY) => {}
        }
        match watched.changed().map(|read| read.and_then(&shape)) {
            None => {}
            Some(Ok(new)) => {
                apply_changes(&started, &new, running).await;
            }
            Some(Err(error)) => {
                print_stderr(failure::message(&*error));
                print_stderr("the previous configuration stays in effect");
            }
        }
    }
}

async fn apply_changes(started: &Config, new: &Config, running: &RunningKernel) {
    let changes = started.changes(new);
    if let Ok(changed) = running.current_config.replace(new.clone(), &running.handle).await {
        running.programs.set_limits(&changed);
        let names: Vec<String> = changed.iter().map(|(name, _)| name.to_string()).collect();
        let whose = if names.is_empty() { String::new() } else { format!(": limits of {}", names.join(", ")) };
        print_stderr(format_args!("applied the changed configuration{whose}"));
    }
    for change in changes.needs_restart {
        print_stderr(format_args!("warning: {change}"));
        print_stderr("hint: restart to apply it");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::families::FAMILIES;

    #[test]
    fn change_during_the_start_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("switchboard.yaml");
        std::fs::write(&file, "operators:\n  greeter: {}\n").unwrap();
        let (config, text) = config_file::read_with_text(FAMILIES, &file).unwrap();
        std::fs::write(&file, "operators: {}\n").unwrap();
        let mut watched = WatchedConfig::new(FAMILIES, &file, text);
        let new = watched.changed().expect("the text differs from the read one").unwrap();
        assert_eq!((config.operators.len(), new.operators.len()), (1, 0));
        assert!(watched.changed().is_none(), "each change is reported once");
        std::fs::remove_file(&file).unwrap();
        assert!(watched.changed().is_some_and(|read| read.is_err()) && watched.changed().is_none());
    }
}
