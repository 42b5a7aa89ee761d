//! `switchboard gitops delete`: an application and what it deployed.

use std::process::ExitCode;

use clap::Args;

use super::get::What;
use super::tenant::{APPLICATIONS, Tenant};
use super::wait::{Aim, Patience};
use crate::failure::Failure;
use crate::form;

/// Deletes one of a kind.
#[derive(Args)]
pub struct Remove {
    /// Its name
    name: String,
    #[command(flatten)]
    tenant: Tenant,
}

impl Remove {
    /// Deletes it.
    pub async fn run(self, what: What) -> Result<ExitCode, Failure> {
        let (side, kind) = (self.tenant.side().await?, what.kind());
        side.delete(&kind, &self.name).await?;
        form::write(&format!("{} {} deleted\n", kind.told, self.name))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Deletes an application and what it deployed.
#[derive(Args)]
pub struct Delete {
    /// Its name
    name: String,
    /// Wait until the application is gone
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    patience: Patience,
    #[command(flatten)]
    tenant: Tenant,
}

impl Delete {
    /// Deletes it.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let (side, kind) = (self.tenant.side().await?, APPLICATIONS);
        side.delete(&kind, &self.name).await?;
        form::write(&format!("{} {} deleted\n", kind.told, self.name))?;
        if self.wait {
            return self.patience.wait(&side, &self.name, Aim::Deleted).await;
        }
        Ok(ExitCode::SUCCESS)
    }
}
