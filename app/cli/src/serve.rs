//! `switchboard serve`: a dump as a read-only cluster, until a signal.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use switchboard_cluster::Cluster;
use switchboard_cluster::ambient::Ambient;
use switchboard_cluster::auth::authentication::Authenticator;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::gate::Gate;
use switchboard_cluster::auth::kubeconfig::{self, Context};
use switchboard_cluster::auth::token::TokenKey;
use switchboard_cluster::frozen::{Log, Logs, Object};
use switchboard_cluster::listener::Port;
use switchboard_gather::{Dump, Problem};
use tokio::signal::unix::{SignalKind, signal};

use crate::announce::announce;
use crate::contexts::DEFAULT_CONTEXT;
use crate::failure::Failure;
use crate::gather::recording::{self, Recording};
use crate::listen;
use crate::progress::ProgressLine;
use crate::talk::say;
use crate::temporary::Temporary;

/// How many problems are printed; the rest is counted.
const MAX_PROBLEMS_SHOWN: usize = 50;

/// Nothing is in the dump.
#[derive(Debug, thiserror::Error)]
#[error(
    "the dump `{}` holds no objects and no logs\nhint: a dump has `namespaces` or `cluster-scoped-resources` folders; is this the right path?",
    path.display()
)]
struct EmptyError {
    path: PathBuf,
}

/// Serves a dump.
#[derive(Args)]
pub struct Serve {
    /// What `oc adm must-gather` or `oc adm inspect` wrote: the directory, or a .tar.gz of it
    #[arg(value_name = "DUMP")]
    dump: PathBuf,
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = listen::DEFAULT, value_parser = listen::parse)]
    listen: SocketAddr,
    /// Where to write the kubeconfig [default: a temporary file, removed at the end]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
}

impl Serve {
    /// Runs until a signal comes.
    pub async fn run(self) -> Result<(), Failure> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let recorder = self.recording.begin()?;
        let temporary = if self.kubeconfig.is_none() { Some(Temporary::make()?) } else { None };
        let file = self.kubeconfig.or_else(|| temporary.as_ref().map(Temporary::kubeconfig)).unwrap_or_default();
        let port = Port::take(self.listen).await?;
        let address = port.address();
        let path = self.dump.clone();
        // Reading is long and blocks; a signal must end it all the same.
        let reading = tokio::task::spawn_blocking(move || read(&path));
        let mut dump = tokio::select! {
            dump = reading => dump??,
            _ = interrupt.recv() => stop_at_once(temporary),
            _ = terminate.recv() => stop_at_once(temporary),
        };
        let ambient = Ambient::system();
        let certificates = Certificates::ephemeral(&[address.ip()], ambient.now())?;
        let gate = Gate {
            authenticator: Authenticator::new(TokenKey::ephemeral()?, None),
            authority: certificates.authority.certificate.clone(),
        };
        let discovery = std::mem::take(&mut dump.discovery);
        let (objects, logs) = contents(dump);
        let cluster = match &recorder {
            None => Cluster::frozen(gate, ambient, objects, logs).await,
            Some(recorder) => {
                let kinds = recording::kinds(&discovery);
                let keeper = self.recording.keeper(recorder.clone());
                Cluster::recording(gate, ambient, objects, logs, (kinds, keeper)).await
            }
        };
        let listener = cluster.listen(port, &certificates)?;
        let context =
            Context { name: DEFAULT_CONTEXT.into(), server: format!("https://{}", listen::reachable(address)) };
        kubeconfig::write(&file, &certificates, &[context])?;
        announce(&file, &listener)?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        say("stopping");
        listener.stop().await;
        if let Some(recorder) = recorder {
            say(format_args!("recorded {} mutations", recorder.recorded()));
        }
        Ok(())
    }
}

/// Ends the process although a thread still reads.
fn stop_at_once(temporary: Option<Temporary>) -> ! {
    drop(temporary);
    std::process::exit(0)
}

fn read(path: &Path) -> Result<Dump, Failure> {
    let mut line = ProgressLine::begin();
    let dump = switchboard_gather::read(path, |progress| {
        line.show(|| {
            let mebibytes = progress.bytes >> 20;
            format!("reading: {} files, {} objects, {mebibytes} MiB", progress.files, progress.objects)
        });
    });
    line.end();
    let dump = dump?;
    report(&dump);
    let empty = dump.objects.is_empty() && dump.logs.is_empty();
    if empty { Err(EmptyError { path: path.into() }.into()) } else { Ok(dump) }
}

fn report(dump: &Dump) {
    for Problem { file, line, message } in dump.problems.iter().take(MAX_PROBLEMS_SHOWN) {
        match line {
            Some(line) => say(format_args!("warning: {file}:{line}: {message}")),
            None => say(format_args!("warning: {file}: {message}")),
        }
    }
    if let Some(more) = dump.problems.len().checked_sub(MAX_PROBLEMS_SHOWN).filter(|more| *more > 0) {
        say(format_args!("warning: and {more} more that could not be read"));
    }
    let inferred = dump.objects.iter().filter(|o| o.inferred).count();
    say(format_args!("read {} objects and {} logs", dump.objects.len(), dump.logs.len()));
    if inferred > 0 {
        say(format_args!(
            "inferred the resource names and scope of kinds the dump does not define: {inferred} objects"
        ));
    }
}

fn contents(dump: Dump) -> (Vec<Object>, Logs) {
    let objects = dump.objects.into_iter().map(|o| Object {
        kind: o.kind,
        plural: o.plural,
        namespaced: o.namespaced,
        value: o.value,
    });
    let logs = dump.logs.into_iter().map(|l| Log {
        namespace: l.namespace,
        pod: l.pod,
        container: l.container,
        previous: l.previous,
        text: l.text.into(),
    });
    (objects.collect(), logs.collect())
}
