//! `switchboard up`: serves the embedded cluster until a signal arrives.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use switchboard_runtime::contexts::DEFAULT_CONTEXT;
use switchboard_runtime::listen_address;
use switchboard_runtime::up::{DataLocation, ReadyCluster, UpConfig, UpOptions, up};

use crate::example::Example;
use crate::failure::CommandError;
use crate::log::LogArgs;
use crate::own_operators::{families, with_own};
use crate::startup_message;
use crate::state_args::StateArgs;

/// Start the embedded cluster
#[derive(Args)]
pub struct Up {
    /// Directory for all data [default: switchboard in the user's data directory]
    #[arg(long, value_name = "DIR", conflicts_with = "ephemeral")]
    data_dir: Option<PathBuf>,
    /// Keep all data in memory; it is lost when the process ends
    #[arg(long)]
    ephemeral: bool,
    /// Listen address; port 0 selects a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = listen_address::DEFAULT, value_parser = listen_address::parse)]
    listen: SocketAddr,
    /// File to write the kubeconfig to [default: kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Additional logical cluster, with its own context in the kubeconfig; may be repeated
    #[arg(long, value_name = "NAME", value_parser = cluster_name)]
    cluster: Vec<String>,
    /// Configuration file with operators and limits [default: own operators, or the sample operator]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Example to apply once the cluster is ready; may be repeated
    #[arg(long, value_name = "NAME", value_enum)]
    example: Vec<Example>,
    #[command(flatten)]
    state: StateArgs,
    /// Format of the log.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Default configuration.
const SAMPLE: &str = "operators:\n  greeter: {}\n";
/// Default configuration for an example.
const WITH_EXAMPLE: &str = "operators:\n  greeter: {}\n  plugs: {}\n";
/// Default configuration for an example that deploys from git.
const WITH_ENGINE: &str = "operators:\n  greeter: {}\n  plugs: {}\n  engine: {}\n";
/// Default configuration for an example that uses the GitOps Service.
const WITH_SERVICE: &str = "operators:\n  greeter: {}\n  plugs: {}\n  engine: {}\ngitops: {}\n";

fn built_in(configuration: &str) -> UpConfig {
    UpConfig::BuiltIn(with_own(configuration, SAMPLE))
}

fn cluster_name(text: &str) -> Result<String, String> {
    match switchboard_object::name::dns1123_label(text).first() {
        None if text == DEFAULT_CONTEXT => Err("the name is used by the context of the default cluster".into()),
        None => Ok(text.to_string()),
        Some(why) => Err(why.clone()),
    }
}

impl Up {
    /// Runs until a signal arrives.
    pub async fn run(self) -> Result<(), CommandError> {
        let options = UpOptions {
            families: families(),
            data: if self.ephemeral { DataLocation::Memory } else { DataLocation::Directory(self.data_dir) },
            listen: self.listen,
            kubeconfig: self.kubeconfig,
            clusters: self.cluster,
            config: match (self.config, &self.example[..]) {
                (Some(file), _) => UpConfig::File(file),
                (None, []) => built_in(SAMPLE),
                (None, some) if some.contains(&Example::Deployments) => built_in(WITH_SERVICE),
                (None, some) if some.contains(&Example::Gitops) => built_in(WITH_ENGINE),
                (None, _) => built_in(WITH_EXAMPLE),
            },
            state: self.state.dir(),
        };
        let examples = self.example;
        let on_ready = async |ready: ReadyCluster<'_>| {
            for example in &examples {
                example.apply(&ready.client, ready.home).await?;
            }
            Ok(startup_message::print(ready.kubeconfig, ready.listener)?)
        };
        up(options, on_ready).await
    }
}
