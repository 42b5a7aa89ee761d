//! `switchboard plugs`: who is plugged in where, and what a plug and a socket would do.

mod cluster;
mod graph;
mod render;
mod status;

use clap::{Args, Subcommand};
use switchboard_object::yaml;

use crate::failure::Failure;
use crate::form;

/// Looks at plugs and sockets.
#[derive(Args)]
pub struct Plugs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows plugs and sockets and how they stand, in the manner of `juju status`.
    Status(status::Status),
    /// Renders a plug and a socket from files: configs, results and the objects of every event. Asks no cluster.
    Render(render::Render),
    /// Draws plugs and sockets.
    Graph(graph::Graph),
    /// Prints the CustomResourceDefinitions of Plug, Socket and DeferredResource.
    Crds,
}

impl Plugs {
    /// Runs the command.
    pub async fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Status(status) => status.run().await,
            Command::Render(render) => render.run(),
            Command::Graph(graph) => graph.run().await,
            Command::Crds => form::write(&crds()),
        }
    }
}

fn crds() -> String {
    let documents: Vec<String> = switchboard_plugs::crds::crds().iter().map(yaml::to_string).collect();
    documents.join("---\n")
}

#[cfg(test)]
mod tests;
