//! `switchboard gather collect`.

use clap::Args;
use switchboard_gather::contract::ContractRules;

use super::check_empty;
use super::declared_inputs::InputsArgs;
use super::live_cluster::LiveCluster;
use super::prune::OutputArgs;
use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;

/// Collect the inputs that an operator declares from a live cluster
#[derive(Args)]
pub struct Collect {
    #[command(flatten)]
    inputs: InputsArgs,
    #[command(flatten)]
    target: OutputArgs,
    #[command(flatten)]
    cluster_args: ClusterArgs,
}

impl Collect {
    /// Writes the inputs.
    pub async fn run(self) -> Result<(), CommandError> {
        let inputs = self.inputs.read(ContractRules::Native)?;
        check_empty(self.target.path())?;
        let live = LiveCluster::connect(&self.cluster_args.access()).await?;
        let list = &inputs.apply_configuration_resources;
        self.target.write(live.gather(list).await?, list, &live.discovery, ContractRules::Native)
    }
}
