//! `switchboard integrations`: workloads of integrations, from data alone or against live clusters.

mod compare;
mod lint;
mod list;
mod plan;
mod render;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use switchboard_integrations::desired::{DesiredBuilder, DesiredObjects};
use switchboard_integrations::model::DataScope;
use switchboard_integrations::settings::{self, DEFAULT_UPSTREAM, RenderSettings};
use switchboard_integrations::source::Bundle;
use switchboard_runtime::integrations::{chart, check_environment, meta, variables};
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;

/// Render and compare the workloads of integrations
#[derive(Args)]
pub struct IntegrationsArgs {
    #[command(subcommand)]
    command: IntegrationsCommand,
}

#[derive(Subcommand)]
enum IntegrationsCommand {
    /// Render the desired objects by cluster and namespace, with their input values
    Render(render::IntegrationsRender),
    /// Compare two directories, bundles or commits; exit with 2 if something changes
    Diff(compare::IntegrationsDiff),
    /// Check the data and print problems with file, line and field; exit with 1 if there are errors
    Lint(lint::IntegrationsLint),
    /// Show what would be written on the live clusters of a configuration; write nothing
    Plan(plan::IntegrationsPlan),
    /// List the shards of integrations with their clusters and overrides
    List(list::IntegrationsList),
}

impl IntegrationsArgs {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        match self.command {
            IntegrationsCommand::Render(render) => render.run(),
            IntegrationsCommand::Diff(diff) => diff.run(),
            IntegrationsCommand::Lint(lint) => lint.run(),
            IntegrationsCommand::Plan(plan) => plan.run().await,
            IntegrationsCommand::List(list) => list.run(),
        }
    }
}

/// Arguments that select a part of the data, and inputs besides the data.
#[derive(Args, Clone)]
pub struct BuildArgs {
    /// Environment to limit the output to [default: all]
    #[arg(long, alias = "environment-name", value_name = "NAME", env = "ENVIRONMENT_NAME")]
    environment: Option<String>,
    /// Upstream URL to limit the integrations to
    #[arg(short, long, value_name = "URL", env = "INTEGRATIONS_MANAGER_UPSTREAM")]
    upstream: Option<String>,
    /// Image of all integrations
    #[arg(short, long, value_name = "IMAGE", env = "INTEGRATIONS_MANAGER_IMAGE")]
    image: Option<String>,
    /// In environment ENV, use the image tag of the commit of REF; may be repeated
    #[arg(short = 'r', long, value_name = "ENV=REF", env = "INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF", value_delimiter = ' ', value_parser = reference)]
    image_tag_from_ref: Vec<(String, String)>,
    /// Commit of REF, if REF is not a commit; may be repeated
    #[arg(long, value_name = "REF=COMMIT", value_parser = settings::parse_reference)]
    commit: Vec<(String, String)>,
    /// Chart folder or archive [default: the built-in chart]
    #[arg(long, value_name = "CHART")]
    chart: Option<PathBuf>,
    /// File with options of integrations outside qontract-reconcile: JSON, lists of options by name
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    /// Ignore the environment variables of this process as parameters
    #[arg(long)]
    no_variables: bool,
    /// Match qontract-reconcile byte for byte
    #[arg(long)]
    compat: bool,
}

/// Parses a reference. An empty text is an empty reference: a variable may be empty or have extra spaces.
fn reference(text: &str) -> Result<(String, String), String> {
    if text.is_empty() { Ok((String::new(), String::new())) } else { settings::parse_reference(text) }
}

impl BuildArgs {
    /// Checks that one of the bundles has the selected environment.
    fn check(&self, bundles: &[&Bundle]) -> Result<(), CommandError> {
        check_environment(self.environment.as_deref(), bundles)
    }

    /// Creates the builder of objects.
    fn builder(&self) -> Result<DesiredBuilder, CommandError> {
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let scope =
            DataScope { environment: some(&self.environment), upstream: some(&self.upstream), compat: self.compat };
        let upstream = scope.upstream.clone().unwrap_or_else(|| DEFAULT_UPSTREAM.to_string());
        let commit = |(reference, commit): &(String, String)| ((upstream.clone(), reference.clone()), commit.clone());
        let references = self.image_tag_from_ref.iter().filter(|(environment, _)| !environment.is_empty());
        let settings = RenderSettings {
            scope,
            image: some(&self.image),
            image_tag_from_ref: references.cloned().collect(),
            variables: if self.no_variables { BTreeMap::new() } else { variables() },
            commits: self.commit.iter().map(commit).collect(),
            meta: meta(self.options.as_deref())?,
        };
        Ok(DesiredBuilder::new(chart(self.chart.as_deref())?, settings))
    }
}

/// Prints the problems of the data. Returns whether there are any.
fn report_problems(desired: &DesiredObjects) -> bool {
    let problems = desired.problems();
    for problem in &problems {
        print_stderr(format_args!("error: {problem}"));
        if let Some(hint) = &problem.hint {
            print_stderr(format_args!("hint: {hint}"));
        }
    }
    !problems.is_empty()
}
