//! `switchboard plugs`: status of plugs and sockets, and previews.

mod cluster;
mod graph;
mod render;
mod status;

use clap::{Args, Subcommand};
use switchboard_object::yaml;

use crate::failure::CommandError;
use crate::output_format;

/// Show plugs and sockets, and preview their objects
#[derive(Args)]
pub struct PlugsArgs {
    #[command(subcommand)]
    command: PlugsCommand,
}

#[derive(Subcommand)]
enum PlugsCommand {
    /// Show plugs and sockets with their status, similar to `juju status`
    Status(status::PlugsStatus),
    /// Render a plug and a socket from files, without a cluster: configs, results and the objects of every event
    Render(render::PlugsRender),
    /// Draw plugs and sockets
    Graph(graph::PlugsGraph),
    /// Print the CustomResourceDefinitions of Plug, Socket and DeferredResource
    Crds,
}

impl PlugsArgs {
    /// Runs the command.
    pub async fn run(self) -> Result<(), CommandError> {
        match self.command {
            PlugsCommand::Status(status) => status.run().await,
            PlugsCommand::Render(render) => render.run(),
            PlugsCommand::Graph(graph) => graph.run().await,
            PlugsCommand::Crds => output_format::write(&crds()),
        }
    }
}

fn crds() -> String {
    let documents: Vec<String> = switchboard_plugs::crds::crds().iter().map(yaml::to_string).collect();
    documents.join("---\n")
}

#[cfg(test)]
mod tests;
