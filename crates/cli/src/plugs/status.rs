//! `switchboard plugs status`.

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use switchboard_object::yaml;
use switchboard_plugs::picture::dot;
use switchboard_plugs::status_table::{Shown, status_table};

use super::cluster::Where;
use crate::again::Watch;
use crate::failure::Failure;
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
            Form::Table | Form::Wide => paint::on_stdout(&status_table(&board, shown, &|created| age(created, now))),
        })
    }
}

/// As kubectl has it, in the largest unit that fits twice.
fn age(created: &str, now: Timestamp) -> String {
    let Ok(created) = created.parse::<Timestamp>() else { return "-".to_string() };
    let seconds = now.duration_since(created).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_kubectl() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().expect("it is a time");
        assert_eq!(age("2026-01-09T23:59:00Z", now), "60s");
        assert_eq!(age("2026-01-09T23:00:00Z", now), "60m");
        assert_eq!(age("2026-01-09T00:00:00Z", now), "24h");
        assert_eq!(age("2026-01-01T00:00:00Z", now), "9d");
        assert_eq!(age("", now), "-");
    }
}
