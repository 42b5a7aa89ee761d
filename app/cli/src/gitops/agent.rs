//! `switchboard gitops agent`: writes Argo CD objects from database rows, and the status of Argo CD back to rows.

use std::process::ExitCode;

use clap::Args;

use super::role::RoleArgs;
use crate::failure::CommandError;

/// Run the agent, which reconciles the objects of Argo CD
#[derive(Args)]
pub struct Agent {
    /// Flags of both roles.
    #[command(flatten)]
    pub role: RoleArgs,
}

impl Agent {
    /// Runs until a signal arrives.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        self.role.run(None, "gitops-agent").await
    }
}
