//! `switchboard integrations`: what integrations become, offline and against live clusters.

mod compare;
mod connect;
mod door;
mod from;
pub mod hosting;
mod lint;
mod plan;
mod render;
mod told;
mod who;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use switchboard_integrations::chart::Chart;
use switchboard_integrations::desired::{Builder, Desired};
use switchboard_integrations::meta::Meta;
use switchboard_integrations::model::{Model, Scope};
use switchboard_integrations::settings::{self, DEFAULT_UPSTREAM, Settings};
use switchboard_integrations::source::Bundle;

use crate::failure::Failure;
use crate::talk::say;

/// What integrations become: workloads on clusters, shard by shard.
#[derive(Args)]
pub struct Integrations {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes the wanted objects with their marks, by cluster and namespace, and the values they are made of.
    Render(render::Render),
    /// Tells what changes between two directories, bundles or commits; exits with 2 when something does.
    Diff(compare::Diff),
    /// Tells what is wrong or questionable in the data, with file, line and field; exits with 1 when something is wrong.
    Lint(lint::Lint),
    /// Shows what would be written on the live clusters of a configuration; writes nothing.
    Plan(plan::Plan),
    /// Tells what runs where, and in which shards something is different.
    Who(who::Who),
}

impl Integrations {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Render(render) => render.run(),
            Command::Diff(diff) => diff.run(),
            Command::Lint(lint) => lint.run(),
            Command::Plan(plan) => plan.run().await,
            Command::Who(who) => who.run(),
        }
    }
}

/// Which part of the data, and with what.
#[derive(Args, Clone)]
pub struct What {
    /// Only this environment; all when it is not given or empty
    #[arg(long, alias = "environment-name", value_name = "NAME", env = "ENVIRONMENT_NAME")]
    environment: Option<String>,
    /// Only integrations of this upstream
    #[arg(short, long, value_name = "URL", env = "INTEGRATIONS_MANAGER_UPSTREAM")]
    upstream: Option<String>,
    /// The image of all integrations
    #[arg(short, long, value_name = "IMAGE", env = "INTEGRATIONS_MANAGER_IMAGE")]
    image: Option<String>,
    /// In this environment, the image whose tag is the commit of REF; may be repeated
    #[arg(short = 'r', long, value_name = "ENV=REF", env = "INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF", value_delimiter = ' ', value_parser = reference)]
    image_tag_from_ref: Vec<(String, String)>,
    /// The commit that REF is, when it is not one itself; may be repeated
    #[arg(long, value_name = "REF=COMMIT", value_parser = settings::reference)]
    commit: Vec<(String, String)>,
    /// The chart: a folder or an archive [default: the built-in one]
    #[arg(long, value_name = "CHART")]
    chart: Option<PathBuf>,
    /// Options of integrations that are not qontract-reconcile's: JSON, lists of options by name
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    /// Take no parameters from the environment variables of this process
    #[arg(long)]
    no_variables: bool,
    /// Everything as the original does it, bit by bit
    #[arg(long)]
    compat: bool,
}

/// A reference; nothing at all where a variable is empty or has spaces to spare.
fn reference(text: &str) -> Result<(String, String), String> {
    if text.is_empty() { Ok((String::new(), String::new())) } else { settings::reference(text) }
}

impl What {
    /// Whether there is what is asked for in one of the bundles.
    fn check(&self, bundles: &[&Bundle]) -> Result<(), Failure> {
        check_environment(self.environment.as_deref(), bundles)
    }

    /// Who makes objects of bundles.
    fn builder(&self) -> Result<Builder, Failure> {
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let scope = Scope { environment: some(&self.environment), upstream: some(&self.upstream), compat: self.compat };
        let upstream = scope.upstream.clone().unwrap_or_else(|| DEFAULT_UPSTREAM.to_string());
        let commit = |(reference, commit): &(String, String)| ((upstream.clone(), reference.clone()), commit.clone());
        let references = self.image_tag_from_ref.iter().filter(|(environment, _)| !environment.is_empty());
        let settings = Settings {
            scope,
            image: some(&self.image),
            image_tag_from_ref: references.cloned().collect(),
            variables: if self.no_variables { BTreeMap::new() } else { variables() },
            commits: self.commit.iter().map(commit).collect(),
            meta: meta(self.options.as_deref())?,
        };
        Ok(Builder::new(chart(self.chart.as_deref())?, settings))
    }
}

/// Refuses an environment that none of the bundles knows: nothing at all would come of it, without a word.
fn check_environment(environment: Option<&str>, bundles: &[&Bundle]) -> Result<(), Failure> {
    let Some(wanted) = environment.filter(|name| !name.is_empty()) else { return Ok(()) };
    let known: BTreeSet<String> = bundles.iter().flat_map(|bundle| Model::environments(bundle)).collect();
    if known.contains(wanted) {
        return Ok(());
    }
    let known: Vec<String> = known.into_iter().collect();
    Err(format!("the data knows no environment `{wanted}`\nhint: it knows {}", known.join(", ")).into())
}

/// Variables of this process, those that are text.
fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn meta(file: Option<&std::path::Path>) -> Result<Meta, Failure> {
    let mut meta = Meta::default();
    if let Some(file) = file {
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("could not read {}: {error}", file.display()))?;
        meta.extend(Meta::parse(&text)?);
    }
    Ok(meta)
}

fn chart(path: Option<&std::path::Path>) -> Result<Chart, Failure> {
    Ok(match path {
        Some(path) => Chart::load(path)?,
        None => Chart::own(),
    })
}

/// Says what is wrong with the data. True when something is.
fn tell_problems(desired: &Desired) -> bool {
    let problems = desired.problems();
    for problem in &problems {
        say(format_args!("error: {problem}"));
        if let Some(hint) = &problem.hint {
            say(format_args!("hint: {hint}"));
        }
    }
    !problems.is_empty()
}
