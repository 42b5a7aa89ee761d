//! `switchboard operator`: a native operator as one command of the multi-operator contract.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::Value;
use switchboard_gather::Object;
use switchboard_gather::contract::{ControllerStatus, ResourceType};
use switchboard_gather::must_gather::MustGather;
use switchboard_gather::mutation::{Naming, Place as Folder, write_directory};
use switchboard_hosted::native::{Controllers, Once, Ran, input_resources, output_resources, run_beside, run_once};
use switchboard_kernel::moment::Moment;
use switchboard_kernel::operator::{Declaration, Units};
use switchboard_kernel::place::Place;
use switchboard_object::kind::GroupVersionKind;

use crate::failure::Failure;
use crate::gather::live::Live;
use crate::gather::name_key::Key;
use crate::operators;
use crate::reach::Reach;
use crate::talk::say;

/// Runs a native operator once: on a directory, into a directory.
#[derive(Args)]
pub struct Operator {
    /// Which operator
    #[arg(value_name = "OPERATOR", value_parser = PossibleValuesParser::new(operators::names()))]
    operator: String,
    #[command(subcommand)]
    command: Contract,
}

/// The four commands of the contract.
#[derive(Subcommand)]
enum Contract {
    /// Prints what the operator reads
    InputResources,
    /// Prints what the operator writes, and on which cluster
    OutputResources,
    /// Writes down what the operator wants written, given a directory of what is; needs no network
    ApplyConfiguration(Apply),
    /// The same for an operator that must reach outside Kubernetes; reads the user workload cluster as it is now
    ApplyConfigurationLive(ApplyLive),
}

#[derive(Args)]
struct Apply {
    /// What is: a must-gather-like directory. One that does not exist is an empty cluster
    #[arg(long, value_name = "DIR")]
    input_dir: PathBuf,
    /// Where to write what is wanted; give a fresh one, nothing is removed
    #[arg(long, value_name = "DIR")]
    output_dir: PathBuf,
    /// The time the operator is told, RFC 3339; the real one unless given
    #[arg(long, value_name = "TIME", value_parser = moment)]
    now: Option<Moment>,
    /// Which controllers run: NAME, -NAME or *
    #[arg(long, value_name = "NAMES", value_delimiter = ',', allow_hyphen_values = true)]
    controllers: Vec<String>,
    /// Under which key metadata files have an object's name: libraries of 2024 read `mame`, and any reads `both`
    #[arg(long, value_name = "KEY", default_value = "name")]
    name_key: Key,
}

#[derive(Args)]
struct ApplyLive {
    #[command(flatten)]
    apply: Apply,
    /// How to reach the user workload cluster
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
}

fn moment(text: &str) -> Result<Moment, String> {
    let time: jiff::Timestamp = text.parse().map_err(|_| "write it as 2026-01-02T03:04:05Z".to_string())?;
    u64::try_from(time.as_millisecond()).map(Moment).map_err(|_| "it lies before 1970".to_string())
}

impl Operator {
    /// Prints or writes what is asked for. True when the operator did well and declared what it wants.
    pub async fn run(self) -> Result<bool, Failure> {
        let operator = operators::operator(&self.operator).expect("the command line takes known operators only");
        let declaration = operator.declaration();
        let (apply, workload) = match self.command {
            Contract::InputResources => return print(&input_resources(&declaration).to_yaml()),
            Contract::OutputResources => return print(&output_resources(&declaration).to_yaml()),
            Contract::ApplyConfiguration(apply) => (apply, None),
            Contract::ApplyConfigurationLive(live) => {
                (live.apply, Some(workload(&declaration, &live.kubeconfig).await?))
            }
        };
        let once = Once { now: apply.now.unwrap_or_else(now), controllers: apply.chosen(), live: workload.is_some() };
        // An operator may block, and its own panics must not end the runtime.
        let ran = tokio::task::spawn_blocking(move || -> Result<Ran, Failure> {
            let given = apply.given()?;
            let ran = match workload {
                Some(workload) => run_beside(&*operator, given, workload, &once)?,
                None => run_once(&*operator, given, &once)?,
            };
            let naming = Naming { key: apply.name_key.into(), ..Naming::default() };
            write_directory(&apply.output_dir, &ran.mutations, Some(&ran.results), naming)?;
            Ok(ran)
        });
        Ok(told(&ran.await??))
    }
}

/// What an operator reads of the user workload cluster, as it is there now. The rest is read from the directory.
async fn workload(declaration: &Declaration, kubeconfig: &Path) -> Result<MustGather, Failure> {
    let live = Live::connect(&Reach { kubeconfig: Some(kubeconfig.to_path_buf()), context: None }).await?;
    let inputs = declaration.readable().into_iter().filter(|input| input.place == Place::UserWorkload).collect();
    let there = Declaration { inputs, outputs: BTreeSet::new(), units: Units::Whole, ..declaration.clone() };
    let found = live.gather(&input_resources(&there).apply_configuration_resources).await?;
    found.problems.iter().for_each(|problem| say(format_args!("warning: {problem}")));
    let object = |(of, value): (ResourceType, Value)| Object {
        kind: GroupVersionKind::new(&of.group, &of.version, value["kind"].as_str().unwrap_or_default()),
        plural: of.resource,
        namespaced: value["metadata"]["namespace"].is_string(),
        inferred: false,
        value,
    };
    Ok(MustGather::of(found.objects.into_iter().map(object), live.discovery))
}

impl Apply {
    fn chosen(&self) -> Controllers {
        Controllers::named(self.controllers.iter().filter(|name| !name.is_empty()).cloned())
    }

    fn given(&self) -> Result<MustGather, Failure> {
        if !self.input_dir.exists() {
            return Ok(MustGather::default());
        }
        let given = MustGather::open(&self.input_dir)?;
        for problem in given.problems() {
            say(format_args!("warning: {}: {}", problem.file, problem.message));
        }
        Ok(given)
    }
}

fn print(text: &str) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())?;
    Ok(true)
}

fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Says what went wrong. True when nothing did.
fn told(ran: &Ran) -> bool {
    let mut well = true;
    for result in ran.results.failures() {
        well = false;
        if result.status == ControllerStatus::Panicked {
            say(format_args!("error: controller `{}` panicked: {}", result.controller_name, result.panic_stack));
        }
        for error in &result.errors {
            say(format_args!("error: controller `{}` failed: {}", result.controller_name, error.message));
        }
    }
    for mutation in ran.mutations.iter().filter(|mutation| mutation.place == Folder::Unspecified) {
        well = false;
        say(format_args!("error: `{mutation}` is not among the declared outputs"));
    }
    well
}
