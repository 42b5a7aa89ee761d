//! `switchboard gitops migrate`: the database becomes what this version needs.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use switchboard_ledger::migration::{Found, ORIGINAL_VERSION, Plan};
use switchboard_object::yaml;

use super::database::Database;
use crate::failure::Failure;
use crate::form::{self, Form};

/// Something would be done.
const DIFFERS: u8 = 2;

/// Makes the database's tables, or takes over the original's.
#[derive(Args)]
pub struct Migrate {
    #[command(flatten)]
    database: Database,

    /// Only say what would be done; exits with 2 if that is anything
    #[arg(long)]
    dry_run: bool,

    /// How it is told
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

impl Migrate {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let (ledger, database) = self.database.open(self.dry_run).await?;
        let plan = if self.dry_run { ledger.plan_migration().await? } else { ledger.migrate().await? };
        form::write(&match self.output {
            Form::Table | Form::Wide => text(&database, &plan, !self.dry_run),
            Form::Json => format!("{:#}\n", value(&database, &plan, !self.dry_run)),
            Form::Yaml => yaml::to_string(&value(&database, &plan, !self.dry_run)),
        })?;
        ledger.close().await;
        let would = self.dry_run && !plan.is_empty();
        Ok(if would { ExitCode::from(DIFFERS) } else { ExitCode::SUCCESS })
    }
}

fn found(plan: &Plan) -> String {
    match plan.found {
        Found::Nothing => "nothing".to_string(),
        Found::Original => format!("the original's tables, version {ORIGINAL_VERSION}"),
        Found::Ours { version } => format!("version {version}"),
    }
}

/// Line by line, for people.
pub fn text(database: &str, plan: &Plan, done: bool) -> String {
    let mut lines = vec![format!("database     {database}"), format!("found        {}", found(plan))];
    for (version, name) in &plan.steps {
        lines.push(format!("{}         {version}: {name}", if done { "made" } else { "make" }));
    }
    if plan.credentials > 0 {
        lines.push(format!("credentials  {} {}", plan.credentials, if done { "stored anew" } else { "to store anew" }));
    }
    if plan.is_empty() {
        lines.push("nothing to do".to_string());
    }
    lines.join("\n") + "\n"
}

fn value(database: &str, plan: &Plan, done: bool) -> Value {
    let steps: Vec<_> = plan.steps.iter().map(|(version, name)| json!({ "version": version, "name": name })).collect();
    let (found, version) = match plan.found {
        Found::Nothing => ("nothing", None),
        Found::Original => ("original", Some(ORIGINAL_VERSION)),
        Found::Ours { version } => ("switchboard", Some(version)),
    };
    json!({
        "database": database,
        "found": { "what": found, "version": version },
        "steps": steps,
        "credentials": plan.credentials,
        "done": done,
    })
}
