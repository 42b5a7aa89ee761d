//! `switchboard run`: runs operators until a signal arrives.

mod only;

use std::path::{Path, PathBuf};

use clap::Args;
use switchboard_kernel::config::Config;
use switchboard_runtime::run::{RunOptions, run};

use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;
use crate::log::LogArgs;
use crate::own_operators::families;
use crate::state_args::StateArgs;
use only::OnlyArgs;

/// Configuration file that `run` reads by default.
const DEFAULT_CONFIG: &str = "switchboard.yaml";

/// Run the operators of a configuration
#[derive(Args)]
pub struct RunCommand {
    /// Configuration file [default: switchboard.yaml; with --only: none]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    only: OnlyArgs,
    /// Send writes to the clusters as dry runs; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    cluster_args: ClusterArgs,
    #[command(flatten)]
    state: StateArgs,
    /// Format of the log.
    #[command(flatten)]
    pub log: LogArgs,
}

impl RunCommand {
    /// Runs until a signal arrives. The flags take precedence over the file, also after a change of it.
    pub async fn run(self) -> Result<(), CommandError> {
        let options = RunOptions {
            families: families(),
            config: self.config_file(),
            adapt: &|config| self.with_flags(config),
            state: self.state.dir(),
            is_alone: self.only.is_set(),
            dry_run: self.dry_run,
        };
        run(options).await
    }

    fn config_file(&self) -> Option<&Path> {
        let default = (!self.only.is_set()).then_some(Path::new(DEFAULT_CONFIG));
        self.config.as_deref().or(default)
    }

    /// Applies the flags of the command line to a configuration.
    fn with_flags(&self, mut config: Config) -> Result<Config, CommandError> {
        self.only.apply_to(&mut config, &self.cluster_args)?;
        self.cluster_args.access().apply_to(&mut config);
        Ok(config)
    }
}
