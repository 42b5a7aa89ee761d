//! Monitoring of a program until it exits or exceeds a limit.

use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, pidfd_open, wait};

use super::memory_usage::{disk, held_bytes};
use crate::job::{ProgramEnd, RunUsage, SandboxLimits};
use crate::wire::{LauncherMessage, readable};

/// Interval of memory checks. A limit on mappings stops faster growth.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

pub(super) fn watch(program: &Child, limits: &SandboxLimits, began: Instant) -> LauncherMessage {
    let first = Pid::from_child(program);
    let ended = pidfd_open(first, PidfdFlags::empty());
    let end = loop {
        if let Some(end) = reap(first) {
            break end;
        }
        let left = limits.wall.saturating_sub(began.elapsed());
        if left.is_zero() {
            break ProgramEnd::Deadline;
        }
        let held = held_bytes();
        if held > limits.memory_bytes {
            break ProgramEnd::Memory(held);
        }
        match &ended {
            Ok(ended) => drop(readable(ended, left.min(CHECK_INTERVAL))),
            Err(_) => std::thread::sleep(left.min(CHECK_INTERVAL)),
        }
    };
    LauncherMessage::Ended { end, usage: usage(began) }
}

/// Reaps all exited processes, including orphans, and returns the end of the program if it is among them.
fn reap(first: Pid) -> Option<ProgramEnd> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == first => return Some(end(status)),
            Ok(Some(_)) => {}
            // No child is left, although the end of the program was not observed.
            Err(rustix::io::Errno::CHILD) => return Some(ProgramEnd::Signalled(0)),
            Ok(None) | Err(_) => return None,
        }
    }
}

fn end(status: WaitStatus) -> ProgramEnd {
    let signal = || ProgramEnd::Signalled(status.terminating_signal().unwrap_or_default());
    status.exit_status().map_or_else(signal, ProgramEnd::Exited)
}

fn usage(began: Instant) -> RunUsage {
    let (disk_bytes, disk_full) = disk().unwrap_or_default();
    let mut usage = RunUsage { wall: began.elapsed(), disk_bytes, disk_full, ..RunUsage::default() };
    if let Ok(children) = getrusage(UsageWho::RUSAGE_CHILDREN) {
        let time = |value: nix::sys::time::TimeVal| {
            let micros = i128::from(value.tv_sec()) * 1_000_000 + i128::from(value.tv_usec());
            Duration::from_micros(u64::try_from(micros).unwrap_or_default())
        };
        usage.cpu = time(children.user_time()) + time(children.system_time());
        usage.peak_memory_bytes = u64::try_from(children.max_rss()).unwrap_or_default() << 10;
    }
    usage
}
