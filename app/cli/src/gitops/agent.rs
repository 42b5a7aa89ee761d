//! `switchboard gitops agent`: rows become objects of Argo CD, and what Argo CD says becomes rows.

use std::process::ExitCode;

use clap::Args;

use super::role::Role;
use crate::failure::Failure;

/// Looks after Argo CD's objects.
#[derive(Args)]
pub struct Agent {
    #[command(flatten)]
    role: Role,
}

impl Agent {
    /// Runs until a signal comes.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        self.role.run(None, "gitops-agent").await
    }
}
