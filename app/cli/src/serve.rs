//! `switchboard serve`: serves a dump as a read-only cluster until a signal arrives.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use switchboard_cluster::Cluster;
use switchboard_cluster::auth::authentication::Authenticator;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::filters::AuthKeys;
use switchboard_cluster::auth::kubeconfig::{self, KubeconfigContext};
use switchboard_cluster::auth::token::TokenKey;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::dump::{ContainerLog, DumpLogs, DumpObject};
use switchboard_cluster::listener::BoundPort;
use switchboard_gather::{Dump, ReadProblem};
use switchboard_runtime::contexts::{ADMIN, DEFAULT_CONTEXT};
use switchboard_runtime::listen_address;
use switchboard_runtime::stderr::print_stderr;
use switchboard_runtime::temporary_dir::TemporaryDir;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::CommandError;
use crate::gather::recording::{self, RecordingArgs};
use crate::log::LogArgs;
use crate::progress::ProgressLine;
use crate::startup_message;

/// Maximum number of problems printed in full; the rest is counted.
const MAX_PROBLEMS_SHOWN: usize = 50;

/// Maximum number of problems printed with the error of an empty dump.
const MAX_CAUSES_SHOWN: usize = 3;

/// The dump is empty.
#[derive(Debug, thiserror::Error)]
#[error(
    "the dump `{}` holds no objects and no logs{causes}\nhint: check the path: a dump has folders `namespaces` or `cluster-scoped-resources`",
    path.display()
)]
struct EmptyDumpError {
    path: PathBuf,
    /// First problems, one a line.
    causes: String,
}

impl EmptyDumpError {
    fn new(path: &Path, dump: &Dump) -> Self {
        let mut causes: String = dump
            .problems
            .iter()
            .take(MAX_CAUSES_SHOWN)
            .map(|problem| format!("\n  {}", description(problem)))
            .collect();
        if let Some(more) = dump.problems.len().checked_sub(MAX_CAUSES_SHOWN).filter(|more| *more > 0) {
            causes.push_str(&format!("\n  and {more} more that could not be read"));
        }
        Self { path: path.into(), causes }
    }
}

/// Serve a must-gather dump read-only
#[derive(Args)]
pub struct Serve {
    /// Dump: the directory that `oc adm must-gather` or `oc adm inspect` wrote, or a .tar.gz of it
    #[arg(value_name = "DUMP")]
    dump: PathBuf,
    /// Listen address; port 0 selects a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = listen_address::DEFAULT, value_parser = listen_address::parse)]
    listen: SocketAddr,
    /// File to write the kubeconfig to [default: a temporary file, removed at the end]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    recording: RecordingArgs,
    /// Format of the log.
    #[command(flatten)]
    pub log: LogArgs,
}

impl Serve {
    /// Runs until a signal arrives.
    pub async fn run(self) -> Result<(), CommandError> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let recorder = self.recording.recorder()?;
        let temporary = if self.kubeconfig.is_none() { Some(TemporaryDir::create()?) } else { None };
        let file = self.kubeconfig.or_else(|| temporary.as_ref().map(TemporaryDir::kubeconfig)).unwrap_or_default();
        let port = BoundPort::bind(self.listen).await?;
        let address = port.address();
        let path = self.dump.clone();
        // Reading takes long and blocks; a signal must end it nevertheless.
        let reading = tokio::task::spawn_blocking(move || read(&path));
        let mut dump = tokio::select! {
            dump = reading => dump??,
            _ = interrupt.recv() => stop_at_once(temporary),
            _ = terminate.recv() => stop_at_once(temporary),
        };
        let ambient = ClockAndRng::system();
        let certificates = Certificates::ephemeral(&[address.ip()], ambient.now())?;
        let keys = AuthKeys {
            authenticator: Authenticator::new(TokenKey::ephemeral()?, None),
            authority: certificates.authority.certificate.clone(),
        };
        let discovery = std::mem::take(&mut dump.discovery);
        let (objects, logs) = contents(dump);
        let cluster = match &recorder {
            None => Cluster::from_dump(keys, ambient, objects, logs).await,
            Some(recorder) => {
                let kinds = recording::kinds(&discovery);
                let keeper = self.recording.write_handler(recorder.clone());
                Cluster::from_dump_with_recorder(keys, ambient, objects, logs, (kinds, keeper)).await
            }
        };
        let listener = cluster.listen(port, &certificates)?;
        let context = KubeconfigContext {
            name: DEFAULT_CONTEXT.into(),
            server: format!("https://{}", listen_address::reachable(address)),
        };
        kubeconfig::write(&file, ADMIN, &certificates, &[context])?;
        startup_message::print(&file, &listener)?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        print_stderr("stopping");
        listener.stop().await;
        if let Some(recorder) = recorder {
            print_stderr(format_args!("recorded {} mutations", recorder.count()));
        }
        Ok(())
    }
}

/// Ends the process even if a thread is still reading.
fn stop_at_once(temporary: Option<TemporaryDir>) -> ! {
    drop(temporary);
    std::process::exit(0)
}

fn read(path: &Path) -> Result<Dump, CommandError> {
    let mut line = ProgressLine::begin();
    let dump = switchboard_gather::read(path, |progress| {
        line.show(|| {
            let mebibytes = progress.bytes >> 20;
            format!("reading: {} files, {} objects, {mebibytes} MiB", progress.files, progress.objects)
        });
    });
    line.end();
    let dump = dump?;
    if dump.objects.is_empty() && dump.logs.is_empty() {
        return Err(EmptyDumpError::new(path, &dump).into());
    }
    report(&dump);
    Ok(dump)
}

fn description(ReadProblem { file, line, message }: &ReadProblem) -> String {
    match line {
        Some(line) => format!("{file}:{line}: {message}"),
        None => format!("{file}: {message}"),
    }
}

fn report(dump: &Dump) {
    for problem in dump.problems.iter().take(MAX_PROBLEMS_SHOWN) {
        print_stderr(format_args!("warning: {}", description(problem)));
    }
    if let Some(more) = dump.problems.len().checked_sub(MAX_PROBLEMS_SHOWN).filter(|more| *more > 0) {
        print_stderr(format_args!("warning: and {more} more that could not be read"));
    }
    let inferred = dump.objects.iter().filter(|o| o.inferred).count();
    print_stderr(format_args!("read {} objects and {} logs", dump.objects.len(), dump.logs.len()));
    if inferred > 0 {
        print_stderr(format_args!(
            "inferred the resource names and scope of kinds the dump does not define: {inferred} objects"
        ));
    }
}

fn contents(dump: Dump) -> (Vec<DumpObject>, DumpLogs) {
    let objects = dump.objects.into_iter().map(|o| DumpObject {
        kind: o.kind,
        plural: o.plural,
        namespaced: o.namespaced,
        value: o.value,
    });
    let logs = dump.logs.into_iter().map(|l| ContainerLog {
        namespace: l.namespace,
        pod: l.pod,
        container: l.container,
        previous: l.previous,
        text: l.text.into(),
    });
    (objects.collect(), logs.collect())
}
