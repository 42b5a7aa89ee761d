//! `switchboard gather collect`.

use std::path::PathBuf;

use clap::Args;
use switchboard_gather::contract::Rules;

use super::declared::Inputs;
use super::fresh;
use super::live::Live;
use super::prune::Target;
use crate::failure::Failure;

/// Gathers the inputs an operator declares from a live cluster.
#[derive(Args)]
pub struct Collect {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    target: Target,
    /// Whom to ask [default: as kubectl does]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

impl Collect {
    /// Writes the inputs.
    pub async fn run(self) -> Result<(), Failure> {
        let inputs = self.inputs.read(Rules::Native)?;
        fresh(self.target.path())?;
        let live = Live::connect(self.kubeconfig.as_deref()).await?;
        let list = &inputs.apply_configuration_resources;
        self.target.write(live.gather(list).await?, list, &live.discovery, Rules::Native)
    }
}
