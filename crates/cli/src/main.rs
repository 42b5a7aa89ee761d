//! The `switchboard` command: words a user types, nothing else.

mod failure;
mod progress;
mod serve;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXIT_CODES: &str = "Exit codes:
  0   stopped by a signal, everything in order
  1   could not start, or could not go on
  64  the command line is not understood

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
    /// Starts the embedded cluster and prints where its kubeconfig is.
    Up(up::Up),
    /// Serves a must-gather dump, read-only, so that kubectl works on it.
    Serve(serve::Serve),
}

/// `EX_USAGE` of sysexits.h.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    log_to_stderr();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failure::report(&error),
    };
    let done = match arguments.command {
        Command::Up(up) => runtime.block_on(up.run()),
        Command::Serve(serve) => runtime.block_on(serve.run()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&*error),
    }
}

/// Structured, on stderr, and only what somebody should look at unless more is asked for.
fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("SWITCHBOARD_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr).init();
}
