//! `switchboard gitops restore`: the rows of a backup in place of those there are.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use http::Request;
use serde::Serialize;
use serde_json::Value;
use switchboard_gitops::argo;
use switchboard_service::backup;
use switchboard_service::fleet::Engine;

use super::engines::Engines;
use crate::failure::Failure;
use crate::form;
use crate::talk::say;

/// Puts the rows of a backup in place of those there are. Stop backends and agents first.
#[derive(Args)]
#[command(mut_arg("kubeconfig", |arg| arg.help("The cluster of the Argo CD instances, where is looked what has moved since [default: as kubectl does]")))]
pub struct Restore {
    /// The backup
    file: PathBuf,

    #[command(flatten)]
    engines: Engines,
}

/// A backup cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("could not open `{}`\nhint: give the path of a file that `switchboard gitops backup` wrote", path.display())]
struct Unopened {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// The cluster does not say which Applications it has.
#[derive(Debug, thiserror::Error)]
#[error("could not list the Applications of the cluster of the Argo CD instances")]
struct Unlisted(#[source] Box<kube::Error>);

/// What was put back.
#[derive(Serialize)]
struct Restored {
    rows: usize,
    instances: usize,
    moved: usize,
    /// Namespaces with Applications of a service, which may be of another database.
    unproven: Vec<String>,
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rows       {}", self.rows)?;
        writeln!(f, "instances  {} newer than the backup, known again", self.instances)?;
        writeln!(f, "moved      {} Applications were elsewhere, and are there", self.moved)
    }
}

impl Restore {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let file = File::open(&self.file).map_err(|source| Unopened { path: self.file.clone(), source })?;
        let client = self.engines.client().await?;
        // Whole, before anything is made: what is no backup leaves no database behind, nor does a cluster that is away.
        let kept = backup::open(&mut BufReader::new(file))?;
        asked(&client).await?;
        let engine = Engine::new(client);
        let ledger = self.engines.ledger_or_new().await?;
        // Into a new database as well.
        ledger.migrate().await?;
        let replaced = ledger.export().await?.len();
        let (rows, adopted) = backup::restore(&ledger, &engine, &kept).await?;
        ledger.close().await;
        if replaced > 0 {
            // Nothing tells whether somebody is at work on them.
            say(format_args!(
                "warning: {replaced} rows were replaced\nhint: start backends and agents of this database anew if any ran meanwhile"
            ));
        }
        for namespace in &adopted.unproven {
            say(format_args!(
                "warning: namespace `{namespace}` has Applications of a GitOps Service, and nothing says that they are of this database: nothing there was touched\nhint: if they are, `switchboard gitops fleet add {namespace}`, and restore once more before backends and agents start"
            ));
        }
        let told =
            Restored { rows, instances: adopted.instances, moved: adopted.applications, unproven: adopted.unproven };
        form::print(&told, self.engines.output)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Asks the cluster for what is looked at later; one without such a kind has none of them.
async fn asked(client: &kube::Client) -> Result<(), Failure> {
    let path = format!("/apis/{}/applications?limit=1", argo::API_VERSION);
    match client.request::<Value>(Request::get(path).body(Vec::new())?).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(Unlisted(Box::new(error)).into()),
    }
}
