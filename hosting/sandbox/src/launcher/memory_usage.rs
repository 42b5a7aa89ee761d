//! What a program, and all that it started, hold in memory.

use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use rustix::param::page_size;

use crate::job::OUTPUT;

/// What a socket can hold of what nobody has read: twice the most that a program may ask for.
const SOCKET_BYTES: u64 = 416 << 10;
/// How many sockets are not counted: those of a client with some connections hold little.
const UNCOUNTED_SOCKETS: u64 = 64;
/// What a pipe can hold of what nobody has read: as many pages as it is made with, for the filter lets nobody ask for more.
const PIPE_PAGES: u64 = 16;
/// How many open files are not counted, over all processes. Those of an ordinary program are few, and few of them are pipes.
const UNCOUNTED_FILES: u64 = 128;

/// Memory that the processes here hold, alone or shared, their files, which are in memory as well, and what may lie in their
/// sockets and pipes. Pages of programs and libraries are the system's, which can take them back.
///
/// Which of a process's open files are pipes it can keep to itself, but not how many it has: each counts as a pipe.
pub(super) fn held_bytes() -> u64 {
    let processes = numbered(Path::new("/proc")).filter(|process| !process.ends_with("1"));
    let all = processes.filter_map(|process| status_thread(&process));
    let (held, files) = all.fold((0, 0), |(held, files), (thread, status)| {
        (held + resident_bytes(&status), files + open_files(&thread, &status))
    });
    let pipes = files.saturating_sub(UNCOUNTED_FILES) * PIPE_PAGES * page_size() as u64;
    held + pipes + disk().map_or(0, |(used, _)| used) + sockets().saturating_sub(UNCOUNTED_SOCKETS) * SOCKET_BYTES
}

/// What its files take, and whether there is room for another.
pub(super) fn disk() -> Option<(u64, bool)> {
    let facts = statvfs(OUTPUT).ok()?;
    let used = facts.f_blocks.saturating_sub(facts.f_bfree) * facts.f_frsize;
    Some((used, facts.f_bfree == 0 || facts.f_ffree == 0))
}

/// The processes of a `/proc`, or the threads of a process.
fn numbered(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let numbers = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
    numbers.map(|entry| entry.path())
}

/// Who speaks for a process, and what is said there; nobody for one that is gone. Its first thread does, and may end before the
/// others: then all that they hold is said of them alone. They share it all, open files included: the filter sees to it.
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

/// How many files a process has open. Kernels before 6.2 do not say; then as many as it has had room for, 64 at least.
fn open_files(thread: &Path, status: &str) -> u64 {
    let open = std::fs::metadata(thread.join("fd")).map_or(0, |facts| facts.len());
    if open > 0 { open } else { number(status, "FDSize") }
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
    ["RssAnon", "RssShmem", "VmSwap", "HugetlbPages", "VmPTE"].iter().map(|name| number(status, name)).sum::<u64>()
        << 10
}

/// A number of a status, by its name.
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
