//! The `switchboard` command: the command line and its output.

mod cluster_args;
mod color;
mod completion;
mod contexts;
mod control;
mod doctor;
mod example;
mod explain;
mod failure;
mod fault_test;
mod gather;
mod gitops;
mod hosted;
mod init;
mod integrations;
mod kernel;
mod limits;
mod listen_address;
mod local_ca;
mod local_pods;
mod operator;
mod operators;
mod output_format;
mod plan;
mod plugs;
mod progress;
mod run;
mod serve;
mod single_operator;
mod startup_message;
mod stderr;
mod storage_location;
mod template;
mod temporary_dir;
mod test;
mod up;
mod usage;
mod watch_loop;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

const EXIT_CODES: &str = "Exit codes:
  0   done, or stopped by a signal; everything in order
  1   could not start, or could not go on; `probe`: a fault was not borne; `test`: a case failed;
      `operator`: a controller failed, or something undeclared was wanted;
      `doctor`: something is to be fixed; `replay`: cannot be told, as masked values were read
  2   `plan`: something would be written; `replay`: something else is decided now;
      `integrations diff` and `integrations plan`: something changes;
      `gitops migrate --dry-run`: something would be migrated
  3   `gitops wait`, and --wait elsewhere: not reached within --timeout
  64  the command line or SWITCHBOARD_LOG is not understood

Data goes to stdout, all else to stderr. Colours are for terminals; NO_COLOR does without.
As `kubectl-switchboard` in PATH, the same binary is `kubectl switchboard`.
Logs go to stderr; SWITCHBOARD_LOG sets what is logged, for example `info` or `switchboard_cluster=debug`.";

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
    /// Run one operator: of this binary, of a configuration, or a program
    Individual(single_operator::SingleOperator),
    /// Show what the operators would write now, as a diff; write nothing
    Plan(plan::PlanCommand),
    /// Explain why an object is as it is: who wrote it, from which inputs, and what triggered the write
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
    Wake(control::Reconcile),
    /// Repeat a decision with the inputs it was made from, and compare the result
    Replay(explain::Replay),
    /// Test an operator under crashes, stale reads, missed events and lost responses, on a cluster of its own
    Probe(fault_test::FaultTestCommand),
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

/// Default log filter.
///
/// Log lines of the client are excluded: the caller reports each error once.
const DEFAULT_LOG: &str = "warn,kube_client=off,switchboard_console::audit=info";

/// Exit code if something would be written, or a decision differs.
const DIFFERS: u8 = 2;

/// `EX_USAGE` of sysexits.h.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    // This binary is also the sandbox's launcher, which must be the only thread of its process.
    if let Some(code) = switchboard_sandbox::launcher_main(std::env::args_os()) {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    let arguments = match usage::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return usage::report(&error),
    };
    if let Err(error) = log_to_stderr() {
        failure::report(&error);
        return ExitCode::from(USAGE);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failure::report(&error),
    };
    let done = runtime.block_on(run(arguments.command));
    // A hung operator must not keep the process from ending.
    runtime.shutdown_background();
    match done {
        Ok(code) => code,
        Err(error) => failure::report(&*error),
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
        Command::Individual(individual) => individual.run().await.map(|()| ExitCode::SUCCESS),
        Command::Plan(plan) => plan.run().await.map(differs),
        Command::Why(why) => why.run().await.map(|()| ExitCode::SUCCESS),
        Command::WhyNot(why_not) => why_not.run().await.map(|()| ExitCode::SUCCESS),
        Command::Top(top) => top.run().await.map(|()| ExitCode::SUCCESS),
        Command::Pause(pause) => pause.run().await.map(|()| ExitCode::SUCCESS),
        Command::Resume(resume) => resume.run().await.map(|()| ExitCode::SUCCESS),
        Command::Wake(wake) => wake.run().await.map(|()| ExitCode::SUCCESS),
        Command::Replay(replay) => replay.run().await,
        Command::Probe(probe) => probe.run().await.map(well),
        Command::Test(test) => test.run().await.map(well),
        Command::Operator(operator) => operator.run().await.map(well),
        Command::Template(template) => template.run().await,
        Command::Integrations(integrations) => integrations.run().await,
        Command::Plugs(plugs) => plugs.run().await.map(|()| ExitCode::SUCCESS),
    }
}

/// `SWITCHBOARD_LOG` is invalid. The command ends, since the user would miss the requested logs.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not read SWITCHBOARD_LOG\nhint: it is a level (error, warn, info, debug, trace), or levels of parts, such as `warn,switchboard_cluster=debug`"
)]
struct LogError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Logs as JSON to stderr; by default only what needs attention.
fn log_to_stderr() -> Result<(), LogError> {
    let asked = match std::env::var("SWITCHBOARD_LOG") {
        Ok(asked) => asked,
        Err(std::env::VarError::NotPresent) => String::new(),
        Err(error) => return Err(LogError(error.into())),
    };
    let asked = if asked.trim().is_empty() { DEFAULT_LOG } else { &asked };
    let filter = tracing_subscriber::EnvFilter::try_new(asked).map_err(|error| LogError(error.into()))?;
    // A log line that cannot be written is dropped; reporting the error on the same stderr would end the process.
    let log = tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr);
    log.log_internal_errors(false).init();
    Ok(())
}
