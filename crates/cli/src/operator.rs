//! `switchboard operator`: a native operator as one command of the multi-operator contract.

use std::io::Write;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use switchboard_gather::contract::ControllerStatus;
use switchboard_gather::must_gather::MustGather;
use switchboard_gather::mutation::{Naming, Place, write_directory};
use switchboard_kernel::contract::{Controllers, Once, Ran, input_resources, output_resources, run_once};
use switchboard_kernel::moment::Moment;

use crate::failure::Failure;
use crate::operators;
use crate::talk::say;

/// Runs a native operator once: on a directory, into a directory.
#[derive(Args)]
pub struct Operator {
    /// Which operator
    #[arg(value_name = "OPERATOR", value_parser = PossibleValuesParser::new(operators::KNOWN))]
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
    /// The same for an operator that must reach outside Kubernetes
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
        let (apply, live) = match self.command {
            Contract::InputResources => return print(&input_resources(&declaration).to_yaml()),
            Contract::OutputResources => return print(&output_resources(&declaration).to_yaml()),
            Contract::ApplyConfiguration(apply) => (apply, false),
            Contract::ApplyConfigurationLive(live) => {
                // An operator without a word to that cluster would only find out later.
                kube::config::Kubeconfig::read_from(&live.kubeconfig)?;
                (live.apply, true)
            }
        };
        let once = Once { now: apply.now.unwrap_or_else(now), controllers: apply.chosen(), live };
        // An operator may block, and its own panics must not end the runtime.
        let ran = tokio::task::spawn_blocking(move || -> Result<Ran, Failure> {
            let ran = run_once(&*operator, apply.given()?, &once)?;
            write_directory(&apply.output_dir, &ran.mutations, Some(&ran.results), Naming::default())?;
            Ok(ran)
        });
        Ok(told(&ran.await??))
    }
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
    for mutation in ran.mutations.iter().filter(|mutation| mutation.place == Place::Unspecified) {
        well = false;
        say(format_args!("error: `{mutation}` is not among the declared outputs"));
    }
    well
}
