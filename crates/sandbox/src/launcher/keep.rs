//! Watches a program until it ends, or ends it.

use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use rustix::fs::statvfs;
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, pidfd_open, wait};

use crate::job::{Bounds, End, OUTPUT, Usage};
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

/// What a socket can hold of what nobody has read: twice the most that a program may ask for.
const SOCKET_BYTES: u64 = 416 << 10;
/// How many sockets are not counted: those of a client with some connections hold little.
const FREE_SOCKETS: u64 = 64;

/// Memory that the processes here hold, alone or shared, their files, which are in memory as well, and what may lie in their
/// sockets. Pages of programs and libraries are the system's, which can take them back.
fn held_bytes() -> u64 {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter(|entry| entry.file_name().to_str().is_some_and(|n| n.parse::<u32>().is_ok()));
    let held: u64 = processes
        .filter(|entry| entry.file_name() != "1")
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok())
        .map(|status| resident_bytes(&status))
        .sum();
    held + disk().map_or(0, |(used, _)| used) + sockets().saturating_sub(FREE_SOCKETS) * SOCKET_BYTES
}

/// How many sockets there are in this network.
fn sockets() -> u64 {
    let facts = std::fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
    let used = facts.lines().find_map(|line| line.strip_prefix("sockets: used "));
    used.and_then(|used| used.trim().parse().ok()).unwrap_or_default()
}

/// What is neither a file's nor a program's, in the words of `/proc/PID/status`: also what was swapped out, what stands in huge
/// pages, and the tables that lead to memory. Shared memory counts for each that maps it.
fn resident_bytes(status: &str) -> u64 {
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
    };
    ["RssAnon", "RssShmem", "VmSwap", "HugetlbPages", "VmPTE"].iter().map(|name| kib(name)).sum::<u64>() << 10
}

/// What its files take, and whether there is room for another.
fn disk() -> Option<(u64, bool)> {
    let facts = statvfs(OUTPUT).ok()?;
    let used = facts.f_blocks.saturating_sub(facts.f_bfree) * facts.f_frsize;
    Some((used, facts.f_bfree == 0 || facts.f_ffree == 0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_held_and_files_are_not() {
        let status =
            "Name:\tx\nVmRSS:\t    1000 kB\nRssAnon:\t     100 kB\nRssFile:\t     600 kB\nRssShmem:\t     300 kB\n";
        assert_eq!(resident_bytes(status), 400 << 10);
        let more = format!("{status}VmPTE:\t      10 kB\nVmSwap:\t      20 kB\nHugetlbPages:\t    2048 kB\n");
        assert_eq!(resident_bytes(&more), 2478 << 10);
        assert_eq!(resident_bytes("Name:\tkernel thread\n"), 0);
    }
}
