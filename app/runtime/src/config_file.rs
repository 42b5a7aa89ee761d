//! Configuration file on disk.

use std::io;
use std::path::{Path, PathBuf};

use switchboard_kernel::config::Config;
use switchboard_kernel::family::Families;

use crate::failure::CommandError;

/// The configuration could not be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read {}\nhint: pass a file with --config FILE; `switchboard init` writes one with a comment on every setting", .0.display())]
pub struct ConfigFileError(PathBuf, #[source] io::Error);

/// Reads a configuration. An error lists all problems.
pub fn read_config(families: Families, file: &Path) -> Result<Config, CommandError> {
    Ok(read_with_text(families, file)?.0)
}

/// Reads a configuration and returns its text as well, to detect changes later.
pub fn read_with_text(families: Families, file: &Path) -> Result<(Config, String), CommandError> {
    let text = read_text(file)?;
    Ok((parse_config(families, file, &text)?, text))
}

/// Reads the text of a configuration.
pub fn read_text(file: &Path) -> Result<String, CommandError> {
    Ok(std::fs::read_to_string(file).map_err(|error| ConfigFileError(file.to_path_buf(), error))?)
}

/// Parses the text of a configuration file.
pub fn parse_config(families: Families, file: &Path, text: &str) -> Result<Config, CommandError> {
    Ok(Config::parse(&file.display().to_string(), text, families)?)
}

#[cfg(test)]
mod tests;
