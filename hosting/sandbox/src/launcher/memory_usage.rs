//! Memory usage of a program and its descendants.

use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use rustix::param::page_size;

use crate::job::OUTPUT;

/// Maximum unread data in a socket: twice the largest buffer that a program can request.
const SOCKET_BYTES: u64 = 416 << 10;
/// Number of sockets that are not counted: a client with few connections holds little.
const UNCOUNTED_SOCKETS: u64 = 64;
/// Maximum unread data in a pipe, in pages. The filter prevents larger pipes.
const PIPE_PAGES: u64 = 16;
/// Number of open files that are not counted, over all processes. Ordinary programs have few, and few of them are
/// pipes.
const UNCOUNTED_FILES: u64 = 128;

/// Returns the memory of all processes: private and shared memory, files in memory, and unread data in sockets and
/// pipes. Pages of executables are excluded, because the system can reclaim them.
///
/// A process can hide which of its open files are pipes, but not their number, so each counts as a pipe.
pub(super) fn held_bytes() -> u64 {
    let processes = numbered(Path::new("/proc")).filter(|process| !process.ends_with("1"));
    let all = processes.filter_map(|process| status_thread(&process));
    let (held, files) = all.fold((0, 0), |(held, files), (thread, status)| {
        (held + resident_bytes(&status), files + open_files(&thread, &status))
    });
    let pipes = files.saturating_sub(UNCOUNTED_FILES) * PIPE_PAGES * page_size() as u64;
    held + pipes + disk().map_or(0, |(used, _)| used) + sockets().saturating_sub(UNCOUNTED_SOCKETS) * SOCKET_BYTES
}

/// Returns the size of the files, and whether the disk is full.
pub(super) fn disk() -> Option<(u64, bool)> {
    let facts = statvfs(OUTPUT).ok()?;
    let used = facts.f_blocks.saturating_sub(facts.f_bfree) * facts.f_frsize;
    Some((used, facts.f_bfree == 0 || facts.f_ffree == 0))
}

/// Returns the processes in `/proc`, or the threads of a process.
fn numbered(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let numbers = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
    numbers.map(|entry| entry.path())
}

/// Returns the thread that reports memory for a process, and its `status` file; `None` if the process has exited.
/// Usually this is the first thread. If it ends before the others, only they report. All threads share memory and open
/// files: the filter ensures that.
fn status_thread(process: &Path) -> Option<(PathBuf, String)> {
    let read_status = |thread: PathBuf| {
        let status = std::fs::read_to_string(thread.join("status")).ok()?;
        has_memory(&status).then_some((thread, status))
    };
    read_status(process.to_path_buf()).or_else(|| numbered(&process.join("task")).find_map(read_status))
}

fn has_memory(status: &str) -> bool {
    status.lines().any(|line| line.starts_with("VmSize:"))
}

/// Returns the number of open files of a process. Kernels before 6.2 do not report it; the fallback is the table size,
/// at least 64.
fn open_files(thread: &Path, status: &str) -> u64 {
    let open = std::fs::metadata(thread.join("fd")).map_or(0, |facts| facts.len());
    if open > 0 { open } else { number(status, "FDSize") }
}

/// Returns the number of sockets in this network namespace.
fn sockets() -> u64 {
    let facts = std::fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
    let used = facts.lines().find_map(|line| line.strip_prefix("sockets: used "));
    used.and_then(|used| used.trim().parse().ok()).unwrap_or_default()
}

/// Returns anonymous and shared memory from `/proc/PID/status`, including swap, huge pages and page tables. Shared
/// memory counts for each process that maps it.
fn resident_bytes(status: &str) -> u64 {
    ["RssAnon", "RssShmem", "VmSwap", "HugetlbPages", "VmPTE"].iter().map(|name| number(status, name)).sum::<u64>()
        << 10
}

/// Returns a number from a status file by name.
fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
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
