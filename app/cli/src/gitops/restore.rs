//! `switchboard gitops restore`: replaces the rows of the database with those of a backup.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use http::Request;
use serde::Serialize;
use serde_json::Value;
use switchboard_gitops::argocd;
use switchboard_gitops::backup;
use switchboard_gitops::instance::fleet::EngineClient;
use switchboard_runtime::stderr::print_stderr;

use super::admin_args::AdminArgs;
use crate::failure::CommandError;
use crate::output_format;

/// Restore the rows of a backup; stop backends and agents first
#[derive(Args)]
#[command(mut_arg("kubeconfig", |arg| arg.help("Kubeconfig of the cluster with the Argo CD instances, to detect moves since the backup [default: as kubectl does]")))]
pub struct Restore {
    /// Backup file
    file: PathBuf,

    #[command(flatten)]
    pub engines: AdminArgs,
}

/// The backup could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("could not open `{}`\nhint: pass the path of a file that `switchboard gitops backup` wrote", path.display())]
struct BackupOpenError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// The Applications of the cluster could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("could not list the Applications of the cluster of the Argo CD instances")]
struct ListApplicationsError(#[source] Box<kube::Error>);

/// Result of a restore.
#[derive(Serialize)]
struct RestoreReport {
    rows: usize,
    instances: usize,
    moved: usize,
    /// Namespaces with Applications of a GitOps Service that may use another database.
    unproven: Vec<String>,
}

impl fmt::Display for RestoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rows       {}", self.rows)?;
        writeln!(f, "instances  {} newer than the backup, registered again", self.instances)?;
        writeln!(f, "moved      {} Applications had moved and keep their instance", self.moved)
    }
}

impl Restore {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        let file = File::open(&self.file).map_err(|source| BackupOpenError { path: self.file.clone(), source })?;
        let client = self.engines.client().await?;
        // Everything is read and checked before anything is created: an invalid backup or an unreachable cluster must
        // not leave a database behind.
        let kept = backup::open(&mut BufReader::new(file))?;
        check_cluster(&client).await?;
        let engine = EngineClient::new(client);
        let ledger = self.engines.open_or_create_ledger().await?;
        // The database may be new.
        ledger.migrate().await?;
        let replaced = ledger.export().await?.len();
        let (rows, adopted) = backup::restore(&ledger, &engine, &kept).await?;
        ledger.close().await;
        if replaced > 0 {
            // A running backend or agent cannot be detected.
            print_stderr(format_args!(
                "warning: {replaced} rows were replaced\nhint: restart backends and agents of this database that ran meanwhile"
            ));
        }
        for namespace in &adopted.unproven {
            print_stderr(format_args!(
                "warning: namespace `{namespace}` has Applications of a GitOps Service that may use another database; they were not changed\nhint: if they belong to this database, run `switchboard gitops fleet add {namespace}`, and restore again before backends and agents start"
            ));
        }
        let not_registered = RestoreReport {
            rows,
            instances: adopted.instances,
            moved: adopted.applications,
            unproven: adopted.unproven,
        };
        output_format::print(&not_registered, self.engines.output)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Lists Applications once to check the connection. A cluster without the kind has no Applications.
async fn check_cluster(client: &kube::Client) -> Result<(), CommandError> {
    let path = format!("/apis/{}/applications?limit=1", argocd::API_VERSION);
    match client.request::<Value>(Request::get(path).body(Vec::new())?).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(ListApplicationsError(Box::new(error)).into()),
    }
}
