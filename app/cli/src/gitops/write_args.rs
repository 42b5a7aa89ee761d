//! Arguments and output of commands that write: a line as text, the object as JSON or YAML.

use std::fmt;
use std::process::ExitCode;

use clap::Args;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::tenant::{TenantArgs, TenantClient, TenantKind};
use super::wait::{TimeoutArgs, WaitGoal};
use crate::failure::CommandError;
use crate::output_format::{self, OutputFormat};

/// Arguments of commands that write; each command sets the help of --wait.
#[derive(Args)]
pub struct WriteArgs {
    /// Wait until the operation is finished
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    timeout: TimeoutArgs,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    tenant: TenantArgs,
}

/// Object that was written.
pub struct WrittenObject {
    /// Kind of the object.
    pub kind: TenantKind,
    /// Action as a participle: `created`, `deleted`.
    pub action: &'static str,
    /// The object.
    pub object: Value,
}

impl WriteArgs {
    /// Builds the client for the tenant.
    pub async fn client(&self) -> Result<TenantClient, CommandError> {
        self.tenant.client().await
    }

    /// Whether the command waits for the result.
    pub fn waits(&self) -> bool {
        self.wait
    }

    /// Prints the written object, and waits for the result if requested. Text is printed before the wait; JSON and YAML
    /// after it, with the final state.
    pub async fn finish(
        &self,
        side: &TenantClient,
        written: &WrittenObject,
        aim: WaitGoal,
    ) -> Result<ExitCode, CommandError> {
        let is_told_after = self.wait && !self.output.is_table();
        if !is_told_after {
            output_format::print(written, self.output)?;
        }
        if !self.wait {
            return Ok(ExitCode::SUCCESS);
        }
        let (ended, last) = self.timeout.wait(side, &written.kind, written.name(), aim).await;
        if is_told_after {
            // The object is printed after a failure as well.
            let object = last.unwrap_or_else(|| written.object.clone());
            output_format::print(&WrittenObject { object, ..*written }, self.output)?;
        }
        ended
    }
}

impl WrittenObject {
    fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }
}

impl fmt::Display for WrittenObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {}", self.kind.noun, self.name(), self.action)
    }
}

impl Serialize for WrittenObject {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.object.serialize(to)
    }
}
