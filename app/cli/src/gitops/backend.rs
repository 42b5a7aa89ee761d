//! `switchboard gitops backend`: tenants' resources become rows, and rows what tenants are told.

use std::process::ExitCode;

use clap::Args;

use super::role::{Role, Tenants};
use crate::failure::Failure;

/// Looks after tenants' resources.
#[derive(Args)]
pub struct Backend {
    #[command(flatten)]
    tenants: Tenants,
    #[command(flatten)]
    role: Role,
}

impl Backend {
    /// Runs until a signal comes.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        self.role.run(Some(self.tenants), "gitops-backend").await
    }
}
