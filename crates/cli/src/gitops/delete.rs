//! `switchboard gitops delete`, `env delete`, `repo delete`: one of a kind, and what follows from it.

use std::process::ExitCode;

use clap::Args;

use super::get::What;
use super::wait::Aim;
use super::written::{Writing, Written};
use crate::failure::Failure;

/// Deletes one of a kind.
#[derive(Args)]
#[command(mut_arg("wait", |arg| arg.help("Wait until it is gone")))]
pub struct Delete {
    /// Its name
    name: String,
    #[command(flatten)]
    writing: Writing,
}

impl Delete {
    /// Deletes it, and tells what it was.
    pub async fn run(self, what: What) -> Result<ExitCode, Failure> {
        let (side, kind) = (self.writing.side().await?, what.kind());
        let object = side.get(&kind, &self.name).await?;
        side.delete(&kind, &self.name).await?;
        self.writing.tell(&side, &Written { kind, act: "deleted", object }, Aim::Deleted).await
    }
}
