//! `switchboard plugs graph`.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use switchboard_plugs::graph::{dot, svg};

use super::cluster::PlugsClusterArgs;
use crate::failure::CommandError;
use crate::output_format;

/// Draw plugs and sockets
#[derive(Args)]
pub struct PlugsGraph {
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: GraphFormat,
    #[command(flatten)]
    place: PlugsClusterArgs,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum GraphFormat {
    /// SVG image
    #[default]
    Svg,
    /// Graphviz
    Dot,
}

/// SVG is not readable on a terminal.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not print the image: stdout is a terminal\nhint: write it to a file with `switchboard plugs graph > plugs.svg`, or pass `-o dot`"
)]
struct SvgOnTerminal;

impl PlugsGraph {
    /// Prints the drawing.
    pub async fn run(self) -> Result<(), CommandError> {
        if matches!(self.output, GraphFormat::Svg) && std::io::stdout().is_terminal() {
            return Err(SvgOnTerminal.into());
        }
        let board = self.place.board().await?;
        output_format::write(&match self.output {
            GraphFormat::Svg => svg(&board),
            GraphFormat::Dot => dot(&board),
        })
    }
}
