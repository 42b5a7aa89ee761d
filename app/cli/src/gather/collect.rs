//! `switchboard gather collect`.

use clap::Args;
use switchboard_gather::contract::Rules;

use super::declared::Inputs;
use super::fresh;
use super::live::Live;
use super::prune::Target;
use crate::failure::Failure;
use crate::reach::Reach;

/// Gathers the inputs an operator declares from a live cluster.
#[derive(Args)]
pub struct Collect {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    reach: Reach,
}

impl Collect {
    /// Writes the inputs.
    pub async fn run(self) -> Result<(), Failure> {
        let inputs = self.inputs.read(Rules::Native)?;
        fresh(self.target.path())?;
        let live = Live::connect(&self.reach).await?;
        let list = &inputs.apply_configuration_resources;
        self.target.write(live.gather(list).await?, list, &live.discovery, Rules::Native)
    }
}
