//! Watches a program until it ends, or ends it.

use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, pidfd_open, wait};

use super::account::{disk, held_bytes};
use crate::job::{Bounds, End, Usage};
use crate::wire::{Told, readable};

/// How often memory is looked at. What grows faster is stopped by the limit on what one process maps.
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(super) fn watch(program: &Child, bounds: &Bounds, began: Instant) -> Told {
    let first = Pid::from_child(program);
    let ended = pidfd_open(first, PidfdFlags::empty());
    let end = loop {
        if let Some(end) = reap(first) {
            break end;
        }
        let left = bounds.wall.saturating_sub(began.elapsed());
        if left.is_zero() {
            break End::Deadline;
        }
        let held = held_bytes();
        if held > bounds.memory_bytes {
            break End::Memory(held);
        }
        match &ended {
            Ok(ended) => drop(readable(ended, left.min(LOOK_EVERY))),
            Err(_) => std::thread::sleep(left.min(LOOK_EVERY)),
        }
    };
    Told::Ended { end, usage: usage(began) }
}

/// Takes in what has ended, orphans included; says how the program did when it is among them.
fn reap(first: Pid) -> Option<End> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == first => return Some(end(status)),
            Ok(Some(_)) => {}
            // Nothing left to wait for, though the program was never seen to end.
            Err(rustix::io::Errno::CHILD) => return Some(End::Signalled(0)),
            Ok(None) | Err(_) => return None,
        }
    }
}

fn end(status: WaitStatus) -> End {
    let signal = || End::Signalled(status.terminating_signal().unwrap_or_default());
    status.exit_status().map_or_else(signal, End::Exited)
}

fn usage(began: Instant) -> Usage {
    let (disk_bytes, disk_full) = disk().unwrap_or_default();
    let mut usage = Usage { wall: began.elapsed(), disk_bytes, disk_full, ..Usage::default() };
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
