//! Which database, and which cluster hosts the Argo CD instances: for verbs of whoever runs the service.

use clap::Args;
use switchboard_ledger::Ledger;

use super::database::Database;
use crate::failure::Failure;
use crate::form::Form;
use crate::reach::Reach;

/// Which database and which cluster are meant, and how it is told.
#[derive(Args)]
#[command(mut_arg("kubeconfig", |arg| arg.help("The cluster of the instances [default: as kubectl does]")))]
pub struct Engines {
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    reach: Reach,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

impl Engines {
    /// The database, which must be there.
    pub async fn ledger(&self) -> Result<Ledger, Failure> {
        self.database.open_there().await
    }

    /// The database; a file that is not there is made.
    pub async fn ledger_or_new(&self) -> Result<Ledger, Failure> {
        Ok(self.database.open(false).await?.0)
    }

    /// The cluster.
    pub async fn client(&self) -> Result<kube::Client, Failure> {
        Ok(self.reach.clone().or_own().client().await?)
    }
}
