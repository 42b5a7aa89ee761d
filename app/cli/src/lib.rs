//! The command line of `switchboard` and its output, for the `switchboard` binary and for binaries with operators of
//! their own.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use switchboard_kernel::operator::Operator;
//! fn run_with(operator: Arc<dyn Operator>) -> std::process::ExitCode {
//!     switchboard_cli::main(vec![operator])
//! }
//! ```

mod cluster_args;
mod color;
mod completion;
mod control;
mod doctor;
mod example;
mod explain;
mod failure;
mod fault_test;
mod flag_duration;
mod gather;
mod gitops;
mod init;
mod integrations;
mod log;
mod operator;
mod operator_name;
mod output_format;
mod own_operators;
mod plan;
mod plugs;
mod progress;
mod run;
mod serve;
mod startup_message;
mod state_args;
mod template;
mod test;
mod up;
mod usage;
mod watch_loop;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser, Subcommand};
use log::LogArgs;
use switchboard_kernel::operator::Operator;
use switchboard_runtime::log::LogFormat;
use switchboard_runtime::state_dir::StateDir;

const EXIT_CODES: &str = "Exit codes:
  0   success, or stopped by a signal
  1   error; `fault-test`: a fault broke the operator; `test`: a case failed;
      `operator`: a controller failed, or a write was not declared;
      `doctor`: a check failed; `why`: the object does not exist and no decision mentions it; `replay`: not comparable, as redacted values were read
  2   `plan`: something would be written; `replay`: the decision differs now;
      `integrations diff` and `integrations plan`: something changes;
      `gitops migrate --dry-run`: something would be migrated
  3   `gitops wait`, and --wait of other commands: the timeout expired
  64  invalid command line or SWITCHBOARD_LOG

Data is printed to stdout, everything else to stderr. Terminals get colors unless NO_COLOR is set.
Named `kubectl-switchboard` in PATH, the binary is a kubectl plugin: `kubectl switchboard`.
Set the log filter with SWITCHBOARD_LOG, for example `info` or `switchboard_cluster=debug`, and the format
of `up`, `run`, `serve` and the roles of `gitops` with --log-format.";

/// Host every Kubernetes operator of a platform in one process
#[derive(Parser)]
#[command(name = "switchboard", version, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write a commented switchboard.yaml to start from
    Init(init::Init),
    /// Check configuration, clusters, permissions, database and machine, with a hint for each problem
    Doctor(doctor::Doctor),
    /// Start the embedded cluster and print the path of its kubeconfig
    Up(up::Up),
    /// Serve a must-gather dump read-only to kubectl
    Serve(serve::Serve),
    /// Work with directories of inputs and mutations: prune, collect, apply
    Gather(gather::Gather),
    /// Run and use the GitOps Service: applications, environments, repositories, database
    Gitops(gitops::Gitops),
    /// Run the operators of a configuration
    Run(run::RunCommand),
    /// Show what the operators would write now, as a diff; write nothing
    Plan(plan::PlanCommand),
    /// Explain the state of an object: its last writer, the inputs and the trigger of the write
    Why(explain::WhyObject),
    /// Explain why an operator does nothing right now
    WhyNot(explain::WhyNot),
    /// Show the activity of every operator: state, runs, durations, writes, share of the cache
    Top(explain::Top),
    /// Stop starting units of an operator; running units finish
    Pause(control::Pause),
    /// Resume a paused operator
    Resume(control::Resume),
    /// Run the units of an operator soon, even if nothing changed
    Reconcile(control::Reconcile),
    /// Repeat a decision with its recorded inputs, and compare the result
    Replay(explain::Replay),
    /// Test an operator under crashes, stale reads, missed events and lost responses, on a cluster of its own
    FaultTest(fault_test::FaultTestCommand),
    /// Run declarative test cases of operators: inputs and expected writes
    Test(test::TestArgs),
    /// Run a native operator once on a directory, with the commands of the multi-operator contract
    Operator(operator::OperatorCommand),
    /// Render a chart with the output of `helm template`
    Template(Box<template::TemplateCommand>),
    /// Render and compare the workloads of integrations: render, diff, lint, plan, list
    Integrations(Box<integrations::IntegrationsArgs>),
    /// Show plugs and sockets, and preview the objects of a plug and a socket
    Plugs(plugs::PlugsArgs),
    /// Print a completion script for a shell
    Completion(completion::Completion),
}

/// Exit code if something would be written, or a decision differs.
const DIFFERS: u8 = 2;

/// `EX_USAGE` of sysexits.h.
const USAGE: u8 = 64;

/// Runs the command that the arguments of the process name, with these operators beside the built-in ones.
///
/// Without a configuration, `up` hosts exactly these operators. A name that another operator has is an error.
pub fn main(operators: Vec<Arc<dyn Operator>>) -> ExitCode {
    // This binary is also the sandbox's launcher, which must be the only thread of its process.
    if let Some(code) = switchboard_sandbox::launcher_main(std::env::args_os()) {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    if let Err(error) = own_operators::register(operators, &std::env::args_os().next().unwrap_or_default()) {
        return failure::report(&error);
    }
    let arguments = match usage::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return usage::report(&error),
    };
    if let Err(error) = log::init(arguments.command.log_format()) {
        failure::report(&error);
        return ExitCode::from(USAGE);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failure::report(&error),
    };
    let state = arguments.command.state();
    let done = runtime.block_on(run(arguments.command));
    // A hung operator must not keep the process from ending.
    runtime.shutdown_background();
    match done {
        Ok(code) => code,
        Err(error) => failure::report_for(&*error, &state),
    }
}

impl Command {
    /// State directory of the commands that find a kernel or its database by it.
    fn state(&self) -> StateDir {
        match self {
            Command::Plan(plan) => plan.state.dir(),
            Command::Why(why) => why.state.dir(),
            Command::WhyNot(why_not) => why_not.state.dir(),
            Command::Top(top) => top.state.dir(),
            Command::Pause(pause) => pause.state.dir(),
            Command::Resume(resume) => resume.state.dir(),
            Command::Reconcile(reconcile) => reconcile.state.dir(),
            Command::Replay(replay) => replay.state.dir(),
            Command::Gitops(gitops) => gitops.state(),
            _ => StateDir::default(),
        }
    }

    /// Format of the log: chosen for commands that run until a signal, text for all others.
    fn log_format(&self) -> LogFormat {
        let chosen = match self {
            Command::Up(up) => Some(up.log),
            Command::Run(run) => Some(run.log),
            Command::Serve(serve) => Some(serve.log),
            Command::Gitops(gitops) => gitops.log(),
            _ => None,
        };
        chosen.map(LogArgs::format).unwrap_or_default()
    }
}

async fn run(command: Command) -> Result<ExitCode, failure::CommandError> {
    let differs = |differs: bool| if differs { ExitCode::from(DIFFERS) } else { ExitCode::SUCCESS };
    let well = |well: bool| if well { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    match command {
        Command::Init(init) => init.run().map(|()| ExitCode::SUCCESS),
        Command::Doctor(doctor) => doctor.run().await.map(well),
        Command::Completion(completion) => completion.run(Arguments::command()).map(|()| ExitCode::SUCCESS),
        Command::Up(up) => up.run().await.map(|()| ExitCode::SUCCESS),
        Command::Serve(serve) => serve.run().await.map(|()| ExitCode::SUCCESS),
        Command::Gather(gather) => gather.run().await.map(well),
        Command::Gitops(gitops) => gitops.run().await,
        Command::Run(run) => run.run().await.map(|()| ExitCode::SUCCESS),
        Command::Plan(plan) => plan.run().await.map(differs),
        Command::Why(why) => why.run().await.map(|()| ExitCode::SUCCESS),
        Command::WhyNot(why_not) => why_not.run().await.map(|()| ExitCode::SUCCESS),
        Command::Top(top) => top.run().await.map(|()| ExitCode::SUCCESS),
        Command::Pause(pause) => pause.run().await.map(|()| ExitCode::SUCCESS),
        Command::Resume(resume) => resume.run().await.map(|()| ExitCode::SUCCESS),
        Command::Reconcile(reconcile) => reconcile.run().await.map(|()| ExitCode::SUCCESS),
        Command::Replay(replay) => replay.run().await,
        Command::FaultTest(fault_test) => fault_test.run().await.map(well),
        Command::Test(test) => test.run().await.map(well),
        Command::Operator(operator) => operator.run().await.map(well),
        Command::Template(template) => template.run().await,
        Command::Integrations(integrations) => integrations.run().await,
        Command::Plugs(plugs) => plugs.run().await.map(|()| ExitCode::SUCCESS),
    }
}
