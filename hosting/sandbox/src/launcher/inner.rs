//! Process 1 of the sandbox: builds the root, starts the program, and kills it at the end.

use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, set_dumpable_behavior, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities};

use super::{SEARCH_PATH, filter, loopback, root, try_step, watcher};
use crate::egress;
use crate::job::{OUTPUT, PROXY, SCRATCH, SandboxLimits};
use crate::wire::{self, HostMessage, LaunchSpec, LauncherMessage};

/// Additional mapping of one process beyond twice the memory limit: stops memory growth between two checks.
const SLACK_BYTES: u64 = 256 << 20;
/// Maximum number of open files of one process. The same number of pipes may be in transit through sockets, where
/// memory accounting does not see them: 64 MiB.
const OPEN_FILES: u64 = 1024;
/// Host name in the sandbox, so that the real one is not exposed.
const HOST_NAME: &[u8] = b"switchboard";

pub(super) fn run() -> Result<i32, LauncherMessage> {
    try_step("set the parent death signal", set_parent_process_death_signal(Some(Signal::KILL)))?;
    let line = std::io::stdin();
    let Some((HostMessage::Make(spec), _)) = try_step("receive from the host", wire::receive(&line))? else {
        return Ok(1);
    };
    try_step("set the host name", rustix::system::sethostname(HOST_NAME))?;
    let listener = match spec.proxy {
        true => Some(listener()?),
        false => None,
    };
    root::enter(&spec)?;
    set_limits(&spec.bounds)?;
    try_step("hide itself", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    if spec.user.is_none() {
        drop_privileges()?;
    }
    filter::install()?;
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let output = try_step("open the output folder", open(OUTPUT, folder, Mode::empty()))?;
    let mut files = vec![output.as_fd()];
    files.extend(listener.as_ref().map(AsFd::as_fd));
    try_step("send to the host", wire::send(&line, &LauncherMessage::Ready, &files))?;
    drop(files);
    // Only the host may accept connections.
    drop((output, listener));
    let Some((HostMessage::Start, _)) = try_step("receive from the host", wire::receive(&line))? else { return Ok(1) };
    let began = std::time::Instant::now();
    let program =
        command(&spec).spawn().map_err(|error| LauncherMessage::NoProgram { error: reason(&spec, &error) })?;
    if spec.user.is_some() {
        drop_privileges()?;
    }
    let message = watcher::watch(&program, &spec.bounds, began);
    try_step("send to the host", wire::send(&line, &message, &[]))?;
    // When process 1 exits, the kernel kills all other processes first.
    Ok(0)
}

fn command(spec: &LaunchSpec) -> Command {
    let mut command = Command::new(&spec.program);
    command.args(&spec.arguments).env_clear().current_dir(SCRATCH);
    command.env("PATH", SEARCH_PATH).env("HOME", SCRATCH).env("TMPDIR", SCRATCH);
    command.envs(spec.env.iter().map(|(name, value)| (name, value)));
    // Set last, so that the job cannot override the proxy.
    if spec.proxy {
        command.envs(egress::variables(PROXY));
    }
    command.stdin(Stdio::null()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    if let Some(user) = spec.user {
        command.uid(user).gid(user);
    }
    command
}

/// Creates the listener that the host serves, the only way out.
fn listener() -> Result<TcpListener, LauncherMessage> {
    try_step("enable the loopback interface", loopback::raise())?;
    try_step("listen for the proxy", TcpListener::bind(PROXY))
}

fn set_limits(limits: &SandboxLimits) -> Result<(), LauncherMessage> {
    let resources = [
        (Resource::Core, 0),
        (Resource::Fsize, limits.disk_bytes),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Nproc, u64::from(limits.processes)),
        // Not the address space: the Go runtime reserves much more than it uses.
        (Resource::Data, limits.memory_bytes.saturating_mul(2).saturating_add(SLACK_BYTES)),
    ];
    for (resource, most) in resources {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        try_step("set a resource limit", setrlimit(resource, limit))?;
    }
    Ok(())
}

fn drop_privileges() -> Result<(), LauncherMessage> {
    for capability in CapabilitySet::all().iter() {
        // Capabilities unknown to this kernel cannot be held either.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    try_step("drop privileges", set_capabilities(None, sets))
}

/// Formats a start error. A missing interpreter or library looks like a missing program.
fn reason(spec: &LaunchSpec, error: &std::io::Error) -> String {
    let there = Path::new(&spec.program).exists();
    match error.kind() {
        std::io::ErrorKind::NotFound if there => {
            format!("its interpreter or loader is not in the sandbox ({error})")
        }
        _ => error.to_string(),
    }
}
