//! The `switchboard` command: words a user types, nothing else.

mod again;
mod announce;
mod completion;
mod contexts;
mod control;
mod doctor;
mod example;
mod explain;
mod failure;
mod form;
mod gather;
mod gitops;
mod guests;
mod individual;
mod init;
mod integrations;
mod kernel;
mod limits;
mod listen;
mod local;
mod operator;
mod operators;
mod own;
mod paint;
mod place;
mod plan;
mod plugs;
mod probe;
mod progress;
mod reach;
mod run;
mod serve;
mod talk;
mod template;
mod temporary;
mod test;
mod up;
mod usage;

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

/// Hosts every Kubernetes operator of a platform in one process.
#[derive(Parser)]
#[command(name = "switchboard", version, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes a commented switchboard.yaml to begin with.
    Init(init::Init),
    /// Checks configuration, clusters, rights, database and machine, and says what to fix.
    Doctor(doctor::Doctor),
    /// Starts the embedded cluster and prints where its kubeconfig is.
    Up(up::Up),
    /// Serves a must-gather dump, read-only, so that kubectl works on it.
    Serve(serve::Serve),
    /// Works on directories of inputs and mutations: prune, collect, apply.
    Gather(gather::Gather),
    /// The GitOps Service: applications, environments, repositories, its database.
    Gitops(gitops::Gitops),
    /// Hosts the operators of a configuration over clusters.
    Run(run::Run),
    /// Hosts one operator alone: one of this binary, of a configuration, or a program.
    Individual(individual::Individual),
    /// Shows what the operators would write now, as a diff; writes nothing.
    Plan(plan::Plan),
    /// Says why an object is as it is: who wrote it, from what, because of what.
    Why(explain::WhyObject),
    /// Says why an operator does nothing right now.
    WhyNot(explain::WhyNot),
    /// Shows what every operator does: state, runs, times, writes, share of the cache.
    Top(explain::Top),
    /// Stops starting an operator's units; runs under way end.
    Pause(control::Pause),
    /// Lets a paused operator go on.
    Resume(control::Resume),
    /// Runs an operator's units soon, whether something changed or not.
    Wake(control::Wake),
    /// Decides again from what was read then, and says whether the same is decided.
    Replay(explain::Replay),
    /// Tries an operator under crashes, stale views, missed events and lost answers, on a cluster of its own.
    Probe(probe::Probe),
    /// Runs declarative test cases of operators: what is given, what should be written.
    Test(test::Test),
    /// Runs a native operator once, on a directory: the commands of the multi-operator contract.
    Operator(operator::Operator),
    /// Renders a chart and prints what `helm template` prints.
    Template(Box<template::Template>),
    /// What integrations become: render, diff, plan, who.
    Integrations(Box<integrations::Integrations>),
    /// Shows who is plugged in where, and what a plug and a socket would do.
    Plugs(plugs::Plugs),
    /// Prints a script that completes the command line in a shell.
    Completion(completion::Completion),
}

/// What is logged unless something else is asked for.
///
/// The client's own lines are left out: what goes wrong is said by who asked, once.
const DEFAULT_LOG: &str = "warn,kube_client=off,switchboard_console::audit=info";

/// Something would be written, or is decided differently.
const DIFFERS: u8 = 2;

/// `EX_USAGE` of sysexits.h.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    // The sandbox's launcher is this binary; it must be alone in its process to become what it is to be.
    if let Some(code) = switchboard_sandbox::launched(std::env::args_os()) {
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
    // An operator that hangs must not keep the process from ending.
    runtime.shutdown_background();
    match done {
        Ok(code) => code,
        Err(error) => failure::report(&*error),
    }
}

async fn run(command: Command) -> Result<ExitCode, failure::Failure> {
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

/// What `SWITCHBOARD_LOG` says is not understood. Going on without the logs somebody asked for helps nobody.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not read SWITCHBOARD_LOG\nhint: it is a level (error, warn, info, debug, trace), or levels of parts, such as `warn,switchboard_cluster=debug`"
)]
struct LogError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Structured, on stderr, and only what somebody should look at unless more is asked for.
fn log_to_stderr() -> Result<(), LogError> {
    let asked = match std::env::var("SWITCHBOARD_LOG") {
        Ok(asked) => asked,
        Err(std::env::VarError::NotPresent) => String::new(),
        Err(error) => return Err(LogError(error.into())),
    };
    let asked = if asked.trim().is_empty() { DEFAULT_LOG } else { &asked };
    let filter = tracing_subscriber::EnvFilter::try_new(asked).map_err(|error| LogError(error.into()))?;
    // A log line that cannot be written is lost; to complain on the same stderr would end the process.
    let log = tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr);
    log.log_internal_errors(false).init();
    Ok(())
}
