//! `switchboard plugs status`.

use std::fmt;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde::Serialize;
use switchboard_plugs::graph::dot;
use switchboard_plugs::overview::PlugOverview;
use switchboard_plugs::status_table::{TableOptions, status_table};
use switchboard_runtime::stderr::print_stderr;

use super::cluster::PlugsClusterArgs;
use crate::color;
use crate::failure::CommandError;
use crate::output_format::{self, OutputFormat};
use crate::watch_loop::WatchArgs;

/// Show plugs and sockets with their status
#[derive(Args)]
pub struct PlugsStatus {
    /// Show every integration with its provider, requirer and interface as well
    #[arg(long)]
    relations: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: StatusFormat,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    place: PlugsClusterArgs,
}

/// Output formats of reports, and Graphviz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatusFormat {
    Report(OutputFormat),
    Dot,
}

impl Default for StatusFormat {
    fn default() -> Self {
        StatusFormat::Report(OutputFormat::default())
    }
}

impl ValueEnum for StatusFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            StatusFormat::Report(OutputFormat::Table),
            StatusFormat::Report(OutputFormat::Wide),
            StatusFormat::Report(OutputFormat::Json),
            StatusFormat::Report(OutputFormat::Yaml),
            StatusFormat::Dot,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            StatusFormat::Report(form) => form.to_possible_value(),
            StatusFormat::Dot => Some(PossibleValue::new("dot").help("For Graphviz")),
        }
    }
}

/// Plugs and sockets at a time.
#[derive(Serialize)]
struct StatusReport {
    #[serde(flatten)]
    board: PlugOverview,
    #[serde(skip)]
    relations: bool,
    #[serde(skip)]
    now: Timestamp,
}

impl fmt::Display for StatusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = TableOptions { relations: self.relations, wide: f.alternate() };
        f.write_str(&status_table(&self.board, shown, &|created| output_format::age(created, self.now)))
    }
}

impl PlugsStatus {
    /// Prints the status.
    pub async fn run(self) -> Result<(), CommandError> {
        self.watch.show(|| self.report()).await
    }

    async fn report(&self) -> Result<String, CommandError> {
        let board = self.place.board().await?;
        let form = match self.output {
            StatusFormat::Dot => return Ok(dot(&board)),
            StatusFormat::Report(form) => form,
        };
        if form.is_table() && board.plugs.is_empty() && board.sockets.is_empty() {
            print_stderr("no plugs and no sockets");
            return Ok(String::new());
        }
        let text = form.text(&StatusReport { board, relations: self.relations, now: Timestamp::now() })?;
        Ok(if form.is_table() { color::on_stdout(&text) } else { text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_formats_include_a_graph() {
        let names = |all: Vec<PossibleValue>| all.iter().map(|one| one.get_name().to_string()).collect::<Vec<_>>();
        let known = OutputFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
        let own = StatusFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
        assert_eq!(names(own), [names(known), vec!["dot".to_string()]].concat());
        assert_eq!(
            StatusFormat::from_str("text", false),
            Ok(StatusFormat::Report(OutputFormat::Table)),
            "the older name is understood"
        );
    }
}
