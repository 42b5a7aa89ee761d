//! `switchboard gitops delete`, `env delete`, `repo delete`: one of a kind, and what follows from it.

use std::process::ExitCode;

use clap::Args;

use serde_json::{Value, json};
use switchboard_gitops::kinds::deployment::FINALIZER;

use super::get::What;
use super::tenant::{Kind, Side, SideError};
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
        if self.writing.is_waited_for() && what == What::Applications {
            keep(&side, &kind, &object).await?;
        }
        side.delete(&kind, &self.name).await?;
        self.writing.tell(&side, &Written { kind, act: "deleted", object }, Aim::Deleted).await
    }
}

/// How often somebody else's change may come between a look and a write.
const TRIES: usize = 10;

/// Lets an application stay until all that it deployed is gone: without, it goes at once, and nobody could see when the rest does.
async fn keep(side: &Side, kind: &Kind, object: &Value) -> Result<(), SideError> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let mut seen = object.clone();
    for tries_left in (0..TRIES).rev() {
        let meta = &seen["metadata"];
        let mut finalizers = meta["finalizers"].as_array().cloned().unwrap_or_default();
        // One that goes already takes no more of them.
        if meta["deletionTimestamp"].is_string() || finalizers.iter().any(|one| one == FINALIZER) {
            return Ok(());
        }
        finalizers.push(json!(FINALIZER));
        let patch = json!({ "metadata": { "resourceVersion": meta["resourceVersion"], "finalizers": finalizers } });
        match side.patch(kind, name, &patch).await {
            Err(SideError::Refused { code: 409, .. }) if tries_left > 0 => seen = side.get(kind, name).await?,
            other => return other.map(drop),
        }
    }
    Ok(())
}
