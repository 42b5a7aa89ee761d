//! Flag for the format of the log.

use std::io::IsTerminal;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use switchboard_runtime::log::{self, LogError, LogFormat};

use crate::color;

/// Flag of commands that run until a signal.
#[derive(Args, Clone, Copy)]
pub struct LogArgs {
    /// Format of log lines and messages on stderr
    #[arg(long, value_name = "FORMAT", env = "SWITCHBOARD_LOG_FORMAT", default_value = "text", value_parser = format_parser())]
    log_format: LogFormat,
}

impl LogArgs {
    /// Format of the lines.
    pub fn format(self) -> LogFormat {
        self.log_format
    }
}

fn format_parser() -> impl TypedValueParser<Value = LogFormat> {
    let text = PossibleValue::new("text").help("Readable text");
    let json = PossibleValue::new("json").help("JSON, an object per line");
    PossibleValuesParser::new([text, json]).map(|word| if word == "json" { LogFormat::Json } else { LogFormat::Text })
}

/// Starts the log, with colors on a terminal.
///
/// # Errors
/// Fails if `SWITCHBOARD_LOG` cannot be parsed.
pub fn init(format: LogFormat) -> Result<(), LogError> {
    let variable = |name: &str| std::env::var(name).ok();
    log::init(format, color::enabled(std::io::stderr().is_terminal(), &variable))
}
