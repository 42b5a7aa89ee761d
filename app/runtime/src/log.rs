//! Log of the process on stderr: log lines and messages in one format.

use std::sync::OnceLock;

use jiff::Timestamp;
use serde_json::json;

/// Default log filter.
///
/// Log lines of the client are excluded: the caller reports each error once.
const DEFAULT: &str = "warn,kube_client=off,switchboard_console::audit=info";
/// Name of messages of the command in JSON, where log lines have the name of a module.
const TARGET: &str = "switchboard";

/// Format of the lines on stderr, set once at the start.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Format of all lines on stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Readable text.
    #[default]
    Text,
    /// JSON, an object per line.
    Json,
}

/// `SWITCHBOARD_LOG` is invalid. The command ends, since the user would miss the requested logs.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not parse SWITCHBOARD_LOG\nhint: set a level (error, warn, info, debug, trace), or levels of modules, such as `warn,switchboard_cluster=debug`"
)]
pub struct LogError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Logs to stderr; by default only what needs attention. `has_colors` applies to text.
///
/// # Errors
/// Fails if `SWITCHBOARD_LOG` cannot be parsed.
pub fn init(format: LogFormat, has_colors: bool) -> Result<(), LogError> {
    let _ = FORMAT.set(format);
    let filter = match std::env::var("SWITCHBOARD_LOG") {
        Ok(filter) => filter,
        Err(std::env::VarError::NotPresent) => String::new(),
        Err(error) => return Err(LogError(error.into())),
    };
    let filter = if filter.trim().is_empty() { DEFAULT } else { &filter };
    let filter = tracing_subscriber::EnvFilter::try_new(filter).map_err(|error| LogError(error.into()))?;
    // A log line that cannot be written is dropped; reporting the error on the same stderr would end the process.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    match format {
        LogFormat::Text => log.with_ansi(has_colors).init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}

/// Formats a message of the command like the log lines.
pub fn message(text: String) -> String {
    match FORMAT.get().copied().unwrap_or_default() {
        LogFormat::Text => text,
        LogFormat::Json => json_line(&text, Timestamp::now()),
    }
}

/// Returns a message in the form of `tracing_subscriber`'s JSON lines.
fn json_line(text: &str, now: Timestamp) -> String {
    let level = match text.split(':').next() {
        Some("error") => "ERROR",
        Some("warning") => "WARN",
        _ => "INFO",
    };
    json!({"timestamp": now.to_string(), "level": level, "fields": {"message": text}, "target": TARGET}).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::Value;

    use super::*;

    #[test]
    fn messages_are_json_lines_with_a_level() {
        for (text, level) in [
            ("error: could not read x\n  denied\nhint: check it", "ERROR"),
            ("warning: x", "WARN"),
            ("running greeter", "INFO"),
        ] {
            let line = json_line(text, Timestamp::UNIX_EPOCH);
            assert!(!line.contains('\n'), "{line}");
            let value: Value = serde_json::from_str(&line).unwrap();
            assert_eq!((&value["level"], &value["fields"]["message"]), (&level.into(), &text.into()));
        }
    }
}
