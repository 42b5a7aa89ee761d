//! `switchboard plugs graph`.

use clap::{Args, ValueEnum};
use switchboard_plugs::picture::{dot, svg};

use super::cluster::Where;
use crate::failure::Failure;
use crate::form;

/// Draws plugs and sockets.
#[derive(Args)]
pub struct Graph {
    /// How to draw it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    place: Where,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Form {
    /// A drawing that browsers show
    #[default]
    Svg,
    /// For Graphviz
    Dot,
}

impl Graph {
    /// Prints it.
    pub async fn run(self) -> Result<(), Failure> {
        let board = self.place.board().await?;
        form::write(&match self.output {
            Form::Svg => svg(&board),
            Form::Dot => dot(&board),
        })
    }
}
