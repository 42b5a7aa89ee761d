//! `switchboard integrations who`.

use std::process::ExitCode;

use clap::Args;

use super::{What, from, tell_problems};
use crate::explain::{Form, print};
use crate::failure::Failure;

/// Tells what runs where.
#[derive(Args)]
pub struct Who {
    /// A directory, a bundle, or a commit as git:REV[:FOLDER]
    #[arg(long, value_name = "DIR|BUNDLE")]
    from: String,
    #[command(flatten)]
    what: What,
    /// Only integrations whose name holds this
    #[arg(long, value_name = "TEXT")]
    integration: Option<String>,
    /// Only shards in which something is different
    #[arg(long)]
    different: bool,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

impl Who {
    /// Prints the table.
    pub fn run(self) -> Result<ExitCode, Failure> {
        let bundle = from::read(&self.from)?;
        self.what.check(&[&bundle])?;
        let desired = self.what.builder()?.build(&bundle);
        let mut who = switchboard_integrations::who::Who::of(&desired);
        if let Some(text) = &self.integration {
            who.only(text);
        }
        if self.different {
            who.only_different();
        }
        print(&who, self.output)?;
        Ok(if tell_problems(&desired) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
