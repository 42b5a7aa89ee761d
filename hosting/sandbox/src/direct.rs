//! Runs without a sandbox, if configured: only the time is limited, and the process group is killed at the end.

mod run_folder;
mod running_groups;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::egress::EgressProxy;
use crate::job::{
    INPUT, JobOutcome, KUBECONFIG, OUTPUT, OutputFolder, PROXY, ProgramEnd, RunUsage, SCRATCH, SandboxJob,
};
use crate::run::SandboxError;
use crate::stream::{self, STDERR_BYTES, StoppableReader};
use crate::wire;

pub use run_folder::RunFolder;
pub(crate) use run_folder::clean_up;
pub(crate) use running_groups::RunningGroups;

pub(crate) fn run(folder: &Path, running: &RunningGroups, job: &SandboxJob) -> Result<JobOutcome, SandboxError> {
    let began = Instant::now();
    // The program has another working directory.
    let folder = &std::path::absolute(folder).map_err(|error| SandboxError::Folder(folder.to_path_buf(), error))?;
    let input = job.input.as_ref().map(|input| std::path::absolute(input).unwrap_or_else(|_| input.clone()));
    let made = RunFolder::create(folder).map_err(|error| SandboxError::Folder(folder.to_path_buf(), error))?;
    let work = made.path();
    let proxy = proxy(job).map_err(SandboxError::Launcher)?;
    let kubeconfig = work.join("kubeconfig");
    if let Some(text) = &job.kubeconfig {
        let text = proxy.as_ref().map_or(text.clone(), |proxy| text.replace(PROXY, &proxy.address().to_string()));
        write_private(&kubeconfig, &text).map_err(|error| SandboxError::Folder(kubeconfig.clone(), error))?;
    }
    let inside = [
        (OUTPUT, work.join("output")),
        (SCRATCH, work.join("tmp")),
        (INPUT, input.unwrap_or_default()),
        (KUBECONFIG, kubeconfig),
    ];
    let outside = |text: &str| {
        let hit = inside.iter().find(|(name, _)| text == *name || text.ends_with(&format!("={name}")));
        hit.map_or(text.to_string(), |(name, path)| text.replace(name, &path.display().to_string()))
    };
    let mut command = Command::new(&job.program);
    command.args(job.arguments.iter().map(|argument| outside(argument))).env_clear();
    command.env("PATH", crate::launcher::SEARCH_PATH).env("HOME", work.join("tmp")).env("TMPDIR", work.join("tmp"));
    if let Some(proxy) = &proxy {
        command.envs(crate::egress::variables(&proxy.address().to_string()));
    }
    command.envs(&job.env).current_dir(work.join("tmp")).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = running.start(&mut command, &made)?;
    let stdout = group.child.stdout.take().expect("stdout is a pipe");
    let stderr = group.child.stderr.take().expect("stderr is a pipe");
    let (listens, until) = wire::socket_pair().map_err(SandboxError::Launcher)?;
    let also = listens.try_clone().map_err(SandboxError::Launcher)?;
    let stdout = stream::head(StoppableReader::new(stdout, listens), job.limits.stdout_bytes);
    let stderr = stream::tail(StoppableReader::new(stderr, also), STDERR_BYTES);
    let in_time = ends_within(group.id, job.limits.wall);
    // Also kills processes that the program left in its group.
    let status = group.end().map_err(SandboxError::Launcher)?;
    // A process that left the group may hold the pipes open: read their contents, but do not wait.
    drop(until);
    let (stdout, stdout_cut) = stdout.join().unwrap_or_default();
    let stderr = stderr.join().unwrap_or_default();
    let end = if in_time { end(status) } else { ProgramEnd::Deadline };
    let usage = RunUsage { wall: began.elapsed(), ..RunUsage::default() };
    let attempts = proxy.map(EgressProxy::stop).unwrap_or_default();
    Ok(JobOutcome {
        end,
        usage,
        stdout,
        stdout_truncated: stdout_cut,
        stderr,
        output: OutputFolder::Disk(made),
        attempts,
    })
}

/// Starts the proxy on a free port, because the port of the sandbox may be in use on the host.
fn proxy(job: &SandboxJob) -> std::io::Result<Option<EgressProxy>> {
    let Some(rules) = &job.egress else { return Ok(None) };
    EgressProxy::start(std::net::TcpListener::bind("127.0.0.1:0")?, rules.clone()).map(Some)
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

fn ends_within(process: Pid, wall: Duration) -> bool {
    match pidfd_open(process, PidfdFlags::empty()) {
        Ok(ended) => {
            let end = Instant::now() + wall;
            loop {
                let left = end.saturating_duration_since(Instant::now());
                match wire::readable(&ended, left) {
                    Ok(true) => return true,
                    Ok(false) if left.is_zero() => return false,
                    Ok(false) => {}
                    Err(_) => return false,
                }
            }
        }
        Err(_) => false,
    }
}

fn end(status: ExitStatus) -> ProgramEnd {
    use std::os::unix::process::ExitStatusExt;
    status.code().map_or_else(|| ProgramEnd::Signalled(status.signal().unwrap_or_default()), ProgramEnd::Exited)
}
