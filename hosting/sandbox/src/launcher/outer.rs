//! Outer launcher, which enters new namespaces.

use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use rustix::process::{Signal, getegid, geteuid, set_parent_process_death_signal};

use super::{LAUNCH_ARGUMENT, try_step};
use crate::wire::{self, HostMessage, LauncherMessage};

pub(super) fn run() -> Result<i32, LauncherMessage> {
    let (user, group) = (geteuid(), getegid());
    let namespaces = [
        (CloneFlags::CLONE_NEWUSER, "user namespaces"),
        (CloneFlags::CLONE_NEWNS, "mount namespaces"),
        (CloneFlags::CLONE_NEWNET, "network namespaces"),
        (CloneFlags::CLONE_NEWPID, "process namespaces"),
        (CloneFlags::CLONE_NEWIPC, "IPC namespaces"),
        (CloneFlags::CLONE_NEWUTS, "host name namespaces"),
    ];
    // The user namespace grants the rights for the others. Separate calls show which one is missing.
    for (namespace, name) in namespaces {
        unshare(namespace).map_err(|error| LauncherMessage::Unsupported { what: missing_feature(name, error) })?;
    }
    // A change of credentials resets this setting, so it follows the user namespace.
    try_step("set the parent death signal", set_parent_process_death_signal(Some(Signal::KILL)))?;
    if !user.is_root() {
        map_self(user.as_raw(), group.as_raw())?;
    }
    let line = std::io::stdin();
    try_step("send to the host", wire::send(&line, &LauncherMessage::Unshared, &[]))?;
    let Some((HostMessage::Mapped, _)) = try_step("receive from the host", wire::receive(&line))? else { return Ok(1) };
    let mut inner = Command::new("/proc/self/exe");
    inner.args([LAUNCH_ARGUMENT, "inner"]).env_clear();
    inner.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let status = try_step("start the inner launcher", inner.status())?;
    Ok(status.code().unwrap_or(1))
}

/// Maps the current user to root. An unprivileged user may map only itself.
fn map_self(user: u32, group: u32) -> Result<(), LauncherMessage> {
    // The kernel requires `setgroups` to be denied first, so that denied group permissions cannot be bypassed.
    for (file, text) in
        [("setgroups", "deny".to_string()), ("uid_map", format!("0 {user} 1\n")), ("gid_map", format!("0 {group} 1\n"))]
    {
        std::fs::write(format!("/proc/self/{file}"), text).map_err(|error| LauncherMessage::Unsupported {
            what: format!("the user mapping of a user namespace cannot be set ({file}: {error})"),
        })?;
    }
    Ok(())
}

fn missing_feature(name: &str, error: nix::errno::Errno) -> String {
    let hint = match error {
        nix::errno::Errno::EPERM | nix::errno::Errno::EACCES => {
            "the system forbids them; see kernel.unprivileged_userns_clone, \
             kernel.apparmor_restrict_unprivileged_userns and the container's seccomp profile"
        }
        nix::errno::Errno::ENOSPC => {
            "their number is exhausted; see user.max_user_namespaces and the limits of other namespaces"
        }
        nix::errno::Errno::EINVAL => "the kernel does not support them",
        _ => "the kernel provides none",
    };
    format!("{name} are not available: {hint} ({error})")
}
