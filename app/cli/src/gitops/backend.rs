//! `switchboard gitops backend`: writes database rows from the tenants' resources, and the status of rows back to the
//! resources.

use std::process::ExitCode;

use clap::Args;

use super::role::{RoleArgs, TenantClusterArgs};
use crate::failure::CommandError;

/// Run the backend, which reconciles the tenants' resources
#[derive(Args)]
pub struct Backend {
    #[command(flatten)]
    tenants: TenantClusterArgs,
    /// Flags of both roles.
    #[command(flatten)]
    pub role: RoleArgs,
}

impl Backend {
    /// Runs until a signal arrives.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        self.role.run(Some(self.tenants), "gitops-backend").await
    }
}
