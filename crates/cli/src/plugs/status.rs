//! `switchboard plugs status`.

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use switchboard_object::yaml;
use switchboard_plugs::picture::dot;
use switchboard_plugs::status_table::{Shown, status_table};

use super::cluster::Where;
use crate::again::Watch;
use crate::failure::Failure;
use crate::form;
use crate::paint;
use crate::talk::say;

/// Shows plugs and sockets and how they stand.
#[derive(Args)]
pub struct Status {
    /// Every integration as well: who provides it, who requires it, by which interface
    #[arg(long)]
    relations: bool,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    place: Where,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Form {
    /// For people
    #[default]
    #[value(alias = "text")]
    Table,
    /// For people with wide screens
    Wide,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
    /// For Graphviz
    Dot,
}

impl Status {
    /// Prints it.
    pub async fn run(self) -> Result<(), Failure> {
        self.watch.show(|| self.look()).await
    }

    async fn look(&self) -> Result<String, Failure> {
        let board = self.place.board().await?;
        let now = Timestamp::now();
        let shown = Shown { relations: self.relations, wide: matches!(self.output, Form::Wide) };
        Ok(match self.output {
            Form::Json => format!("{}\n", serde_json::to_string_pretty(&board)?),
            Form::Yaml => yaml::to_string(&serde_json::to_value(&board)?),
            Form::Dot => dot(&board),
            Form::Table | Form::Wide if board.plugs.is_empty() && board.sockets.is_empty() => {
                say("no plugs and no sockets");
                String::new()
            }
            Form::Table | Form::Wide => {
                paint::on_stdout(&status_table(&board, shown, &|created| form::age(created, now)))
            }
        })
    }
}
