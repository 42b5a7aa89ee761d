//! `switchboard plugs status`.

use std::fmt;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde::Serialize;
use switchboard_plugs::board::Board;
use switchboard_plugs::picture::dot;
use switchboard_plugs::status_table::{Shown, status_table};

use super::cluster::Where;
use crate::again::Watch;
use crate::failure::Failure;
use crate::form::{self, Form};
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
    output: Output,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    place: Where,
}

/// The forms of every report, and one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Report(Form),
    Dot,
}

impl Default for Output {
    fn default() -> Self {
        Output::Report(Form::default())
    }
}

impl ValueEnum for Output {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Output::Report(Form::Table),
            Output::Report(Form::Wide),
            Output::Report(Form::Json),
            Output::Report(Form::Yaml),
            Output::Dot,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Output::Report(form) => form.to_possible_value(),
            Output::Dot => Some(PossibleValue::new("dot").help("For Graphviz")),
        }
    }
}

/// The board at a moment, for people as a table.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    board: Board,
    #[serde(skip)]
    relations: bool,
    #[serde(skip)]
    now: Timestamp,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = Shown { relations: self.relations, wide: f.alternate() };
        f.write_str(&status_table(&self.board, shown, &|created| form::age(created, self.now)))
    }
}

impl Status {
    /// Prints it.
    pub async fn run(self) -> Result<(), Failure> {
        self.watch.show(|| self.look()).await
    }

    async fn look(&self) -> Result<String, Failure> {
        let board = self.place.board().await?;
        let form = match self.output {
            Output::Dot => return Ok(dot(&board)),
            Output::Report(form) => form,
        };
        if form.is_for_people() && board.plugs.is_empty() && board.sockets.is_empty() {
            say("no plugs and no sockets");
            return Ok(String::new());
        }
        let text = form.text(&Report { board, relations: self.relations, now: Timestamp::now() })?;
        Ok(if form.is_for_people() { paint::on_stdout(&text) } else { text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_are_those_of_every_report_and_a_drawing() {
        let names = |all: Vec<PossibleValue>| all.iter().map(|one| one.get_name().to_string()).collect::<Vec<_>>();
        let known = Form::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
        let own = Output::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
        assert_eq!(names(own), [names(known), vec!["dot".to_string()]].concat());
        assert_eq!(Output::from_str("text", false), Ok(Output::Report(Form::Table)), "the older name is understood");
    }
}
