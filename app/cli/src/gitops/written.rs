//! Verbs that write: what all of them take, and what is said of what was written: a line for people, the object for programs.

use std::fmt;
use std::process::ExitCode;

use clap::Args;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::tenant::{Kind, Side, Tenant};
use super::wait::{Aim, Patience};
use crate::failure::Failure;
use crate::form::{self, Form};

/// What every verb that writes takes. Each says in its help what it is that is waited for.
#[derive(Args)]
pub struct Writing {
    /// Wait until it is done
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    patience: Patience,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    tenant: Tenant,
}

/// Something was written.
pub struct Written {
    /// Of which kind it is.
    pub kind: Kind,
    /// What was done: `created`, `deleted`.
    pub act: &'static str,
    /// The object.
    pub object: Value,
}

impl Writing {
    /// Where it is written.
    pub async fn side(&self) -> Result<Side, Failure> {
        self.tenant.side().await
    }

    /// Whether what comes of it is waited for.
    pub fn is_waited_for(&self) -> bool {
        self.wait
    }

    /// Tells what was written, and waits for what comes of it when that is asked for. People are told before, programs after: they
    /// want the object as it has become.
    pub async fn tell(&self, side: &Side, written: &Written, aim: Aim) -> Result<ExitCode, Failure> {
        let is_told_after = self.wait && !self.output.is_for_people();
        if !is_told_after {
            form::print(written, self.output)?;
        }
        if !self.wait {
            return Ok(ExitCode::SUCCESS);
        }
        let (ended, last) = self.patience.wait(side, &written.kind, written.name(), aim).await;
        if is_told_after {
            // However it ended: what was written is there.
            let object = last.unwrap_or_else(|| written.object.clone());
            form::print(&Written { object, ..*written }, self.output)?;
        }
        ended
    }
}

impl Written {
    fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {}", self.kind.told, self.name(), self.act)
    }
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.object.serialize(to)
    }
}
