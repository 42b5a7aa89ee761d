//! `switchboard gather collect`.

use std::path::PathBuf;

use clap::Args;
use switchboard_gather::contract::Rules;
use switchboard_gather::prune::Pruning;

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
        let mut pruning = Pruning::new(list, Rules::Native);
        loop {
            let questions = pruning.questions();
            if questions.is_empty() {
                break;
            }
            for question in questions {
                let answer = live.answer(&question).await;
                pruning.answer(question, answer);
            }
        }
        self.target.write(pruning.finish()?, list, &live.discovery, Rules::Native)
    }
}
