//! `switchboard operator`: a native operator with the commands of the multi-operator contract.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use serde_json::Value;
use switchboard_gather::DumpedObject;
use switchboard_gather::contract::{ControllerStatus, ResourceType};
use switchboard_gather::must_gather::MustGather;
use switchboard_gather::mutation::{Naming, OutputCluster as Folder, write_directory};
use switchboard_hosted::native::{
    ControllerSelection, RunOnceOptions, RunOutput, input_resources, output_resources, run_once, run_with_workload,
};
use switchboard_kernel::config::ClusterConfig;
use switchboard_kernel::operator::{Declaration, Units};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::ClusterType;
use switchboard_object::kind::GroupVersionKind;
use switchboard_runtime::cluster_access::ClusterAccess;
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;
use crate::gather::live_cluster::LiveCluster;
use crate::gather::name_key::NameKeyArg;
use crate::operator_name;
use crate::own_operators::families;

/// Run a native operator once, from an input directory to an output directory
#[derive(Args)]
pub struct OperatorCommand {
    /// Operator name
    #[arg(value_name = "OPERATOR", value_parser = operator_name::name_parser())]
    operator: String,
    #[command(subcommand)]
    command: ContractCommand,
}

/// Commands of the contract.
#[derive(Subcommand)]
enum ContractCommand {
    /// Print the types that the operator reads
    InputResources,
    /// Print the types that the operator writes, by cluster
    OutputResources,
    /// Write the operator's mutations for an input directory; needs no network
    ApplyConfiguration(ApplyArgs),
    /// Like apply-configuration, for operators that access systems outside Kubernetes; read the live user workload
    /// cluster
    ApplyConfigurationLive(ApplyLiveArgs),
}

#[derive(Args)]
struct ApplyArgs {
    /// Input directory in must-gather layout; a missing directory is an empty cluster
    #[arg(long, value_name = "DIR")]
    input_dir: PathBuf,
    /// Output directory for mutations; must be empty, nothing is removed
    #[arg(long, value_name = "DIR")]
    output_dir: PathBuf,
    /// Time that the operator sees, as RFC 3339 [default: the current time]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    now: Option<Timestamp>,
    /// Controllers to run: NAME, -NAME or *
    #[arg(long, value_name = "NAMES", value_delimiter = ',', allow_hyphen_values = true)]
    controllers: Vec<String>,
    /// Metadata key for object names: libraries of 2024 read `mame`, all libraries read `both`
    #[arg(long, value_name = "KEY", default_value = "name")]
    name_key: NameKeyArg,
}

#[derive(Args)]
struct ApplyLiveArgs {
    #[command(flatten)]
    apply: ApplyArgs,
    /// Kubeconfig of the user workload cluster
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let time: jiff::Timestamp = text.parse().map_err(|_| "expected a time such as 2026-01-02T03:04:05Z".to_string())?;
    u64::try_from(time.as_millisecond()).map(Timestamp).map_err(|_| "the time is before 1970".to_string())
}

impl OperatorCommand {
    /// Prints or writes the result. Returns whether the operator succeeded and declared all its writes.
    pub async fn run(self) -> Result<bool, CommandError> {
        let operator = families().operator(&self.operator).expect("the command line takes known operators only");
        let declaration = operator.declaration();
        let (apply, workload) = match self.command {
            ContractCommand::InputResources => return print(&input_resources(&declaration).to_yaml()),
            ContractCommand::OutputResources => return print(&output_resources(&declaration).to_yaml()),
            ContractCommand::ApplyConfiguration(apply) => (apply, None),
            ContractCommand::ApplyConfigurationLive(live) => {
                (live.apply, Some(workload(&declaration, &live.kubeconfig).await?))
            }
        };
        let once = RunOnceOptions {
            now: apply.now.unwrap_or_else(now),
            controllers: apply.chosen(),
            live: workload.is_some(),
        };
        // An operator may block, and its panic must not end the runtime.
        let ran = tokio::task::spawn_blocking(move || -> Result<RunOutput, CommandError> {
            let input_dump = apply.input()?;
            let ran = match workload {
                Some(workload) => run_with_workload(&*operator, input_dump, workload, &once)?,
                None => run_once(&*operator, input_dump, &once)?,
            };
            let naming = Naming { key: apply.name_key.into(), ..Naming::default() };
            write_directory(&apply.output_dir, &ran.mutations, Some(&ran.results), naming)?;
            Ok(ran)
        });
        Ok(report_failures(&ran.await??))
    }
}

/// Reads the inputs on the user workload cluster live. Other inputs come from the directory.
async fn workload(declaration: &Declaration, kubeconfig: &Path) -> Result<MustGather, CommandError> {
    let cluster = ClusterConfig { kubeconfig: Some(kubeconfig.to_path_buf()), context: None };
    let live = LiveCluster::connect(&ClusterAccess(cluster)).await?;
    let inputs =
        declaration.readable().into_iter().filter(|input| input.cluster_type == ClusterType::UserWorkload).collect();
    let declared = Declaration { inputs, outputs: BTreeSet::new(), units: Units::Whole, ..declaration.clone() };
    let found = live.gather(&input_resources(&declared).apply_configuration_resources).await?;
    found.problems.iter().for_each(|problem| print_stderr(format_args!("warning: {problem}")));
    let object = |(of, value): (ResourceType, Value)| DumpedObject {
        kind: GroupVersionKind::new(&of.group, &of.version, value["kind"].as_str().unwrap_or_default()),
        plural: of.resource,
        namespaced: value["metadata"]["namespace"].is_string(),
        inferred: false,
        value,
    };
    Ok(MustGather::from_objects(found.objects.into_iter().map(object), live.discovery))
}

impl ApplyArgs {
    fn chosen(&self) -> ControllerSelection {
        ControllerSelection::named(self.controllers.iter().filter(|name| !name.is_empty()).cloned())
    }

    fn input(&self) -> Result<MustGather, CommandError> {
        if !self.input_dir.exists() {
            return Ok(MustGather::default());
        }
        let input_dump = MustGather::open(&self.input_dir)?;
        for problem in input_dump.problems() {
            print_stderr(format_args!("warning: {}: {}", problem.file, problem.message));
        }
        Ok(input_dump)
    }
}

fn print(text: &str) -> Result<bool, CommandError> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())?;
    Ok(true)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Prints failures. Returns whether there are none.
fn report_failures(ran: &RunOutput) -> bool {
    let mut well = true;
    for result in ran.results.failures() {
        well = false;
        if result.status == ControllerStatus::Panicked {
            print_stderr(format_args!(
                "error: controller `{}` panicked: {}",
                result.controller_name, result.panic_stack
            ));
        }
        for error in &result.errors {
            print_stderr(format_args!("error: controller `{}` failed: {}", result.controller_name, error.message));
        }
    }
    for mutation in ran.mutations.iter().filter(|mutation| mutation.cluster == Folder::Unspecified) {
        well = false;
        print_stderr(format_args!("error: `{mutation}` is not among the declared outputs"));
    }
    well
}
