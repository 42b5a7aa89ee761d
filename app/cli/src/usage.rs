//! Parsing of the command line, and the output for an invalid one.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};
use switchboard_runtime::program_name;

use crate::{Arguments, USAGE, color};

/// File name of the binary as a kubectl plugin.
const PLUGIN: &str = "kubectl-switchboard";
/// Last line of clap's errors; a hint replaces it.
const MORE: &str = "For more information, try '--help'.";

/// Returns the command line for the name the binary was called by.
pub fn command(called: &str) -> Command {
    let plugin = Path::new(called).file_name().is_some_and(|name| name == PLUGIN);
    Arguments::command().bin_name(if plugin {
        "kubectl switchboard".to_string()
    } else {
        program_name::get().to_string()
    })
}

/// Parses the command line.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let all: Vec<OsString> = arguments.collect();
    let called = all.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut command = command(&called);
    let matches = command.try_get_matches_from_mut(all)?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Prints help to stdout, or an error with its hint to stderr, and returns the exit code.
pub fn report(error: &clap::Error) -> ExitCode {
    let variable = |name: &str| std::env::var(name).ok();
    if !error.use_stderr() {
        let coloured = color::enabled(std::io::stdout().is_terminal(), &variable);
        let _ = write!(std::io::stdout().lock(), "{}", text(error, coloured));
        return ExitCode::SUCCESS;
    }
    let coloured = color::enabled(std::io::stderr().is_terminal(), &variable);
    let _ = write!(std::io::stderr().lock(), "{}", text(error, coloured));
    ExitCode::from(USAGE)
}

/// Formats an error or help of clap.
pub fn text(error: &clap::Error, coloured: bool) -> String {
    let rendered = error.render();
    let printed = if coloured { rendered.ansi().to_string() } else { rendered.to_string() };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return printed,
        // The help is the hint; since it was not requested, it is printed as an error.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return format!(
                "error: no command was given\n\n{}\nhint: pass one of the commands above\n",
                printed.trim_end()
            );
        }
        _ => {}
    }
    // With colors, the words of the last line are separate spans; its beginning is the same.
    let body =
        printed.trim_end().rsplit_once('\n').filter(|(_, last)| last.starts_with("For more")).map(|(body, _)| body);
    let body = body.or_else(|| printed.trim_end().strip_suffix(MORE)).unwrap_or(&printed).trim_end();
    format!("{body}\n\nhint: run the command with --help for its arguments\n")
}

#[cfg(test)]
mod tests;
