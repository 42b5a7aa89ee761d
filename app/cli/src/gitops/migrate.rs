//! `switchboard gitops migrate`: migrates the database to the schema of this version.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use switchboard_object::yaml;
use switchboard_sql::migration::{MigrationPlan, SchemaState};

use super::database::DatabaseArgs;
use crate::failure::CommandError;
use crate::output_format::{self, OutputFormat};

/// Exit code if a dry run finds something to migrate.
const DIFFERS: u8 = 2;

/// Create the database tables, or adopt those of managed-gitops
#[derive(Args)]
pub struct Migrate {
    #[command(flatten)]
    database: DatabaseArgs,

    /// Print the pending steps without applying them; exit with 2 if there are any
    #[arg(long)]
    dry_run: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

impl Migrate {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        let (ledger, database) = self.database.settings().open(self.dry_run).await?;
        let plan = if self.dry_run { ledger.plan_migration().await? } else { ledger.migrate().await? };
        output_format::write(&match self.output {
            OutputFormat::Table | OutputFormat::Wide => text(&database, &plan, !self.dry_run),
            OutputFormat::Json => format!("{:#}\n", value(&database, &plan, !self.dry_run)),
            OutputFormat::Yaml => yaml::to_string(&value(&database, &plan, !self.dry_run)),
        })?;
        ledger.close().await;
        let would = self.dry_run && !plan.is_empty();
        Ok(if would { ExitCode::from(DIFFERS) } else { ExitCode::SUCCESS })
    }
}

fn schema(plan: &MigrationPlan) -> String {
    match plan.schema {
        SchemaState::Empty => "empty".to_string(),
        SchemaState::Adoptable { version } => format!("tables of managed-gitops, version {version}"),
        SchemaState::Switchboard { version } => format!("version {version}"),
    }
}

/// Formats the plan as text.
pub fn text(database: &str, plan: &MigrationPlan, done: bool) -> String {
    let mut lines = vec![format!("database     {database}"), format!("schema       {}", schema(plan))];
    for (version, name) in &plan.steps {
        lines.push(format!("{}     {version}: {name}", if done { "applied " } else { "to apply" }));
    }
    if plan.credentials > 0 {
        lines.push(format!("credentials  {} {}", plan.credentials, if done { "rewritten" } else { "to rewrite" }));
    }
    if plan.is_empty() {
        lines.push("nothing to do".to_string());
    }
    lines.join("\n") + "\n"
}

fn value(database: &str, plan: &MigrationPlan, done: bool) -> Value {
    let steps: Vec<_> = plan.steps.iter().map(|(version, name)| json!({ "version": version, "name": name })).collect();
    let (kind, version) = match plan.schema {
        SchemaState::Empty => ("empty", None),
        SchemaState::Adoptable { version } => ("managed-gitops", Some(version)),
        SchemaState::Switchboard { version } => ("switchboard", Some(version)),
    };
    json!({
        "database": database,
        "schema": { "kind": kind, "version": version },
        "steps": steps,
        "credentials": plan.credentials,
        "applied": done,
    })
}
