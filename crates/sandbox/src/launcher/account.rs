//! What a program, and all that it started, hold in memory.

use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

use crate::job::OUTPUT;

/// What a socket can hold of what nobody has read: twice the most that a program may ask for.
const SOCKET_BYTES: u64 = 416 << 10;
/// How many sockets are not counted: those of a client with some connections hold little.
const FREE_SOCKETS: u64 = 64;

/// Memory that the processes here hold, alone or shared, their files, which are in memory as well, and what may lie in their
/// sockets. Pages of programs and libraries are the system's, which can take them back.
pub(super) fn held_bytes() -> u64 {
    let processes = numbered(Path::new("/proc")).filter(|process| !process.ends_with("1"));
    let held: u64 = processes.filter_map(|process| status(&process)).map(|status| resident_bytes(&status)).sum();
    held + disk().map_or(0, |(used, _)| used) + sockets().saturating_sub(FREE_SOCKETS) * SOCKET_BYTES
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

/// What is said of a process; nothing of one that is gone. Its first thread speaks for it, and may end before the others: then all
/// that they hold is said of them alone.
fn status(process: &Path) -> Option<String> {
    let told = |of: PathBuf| {
        let status = std::fs::read_to_string(of.join("status")).ok()?;
        has_memory(&status).then_some(status)
    };
    told(process.to_path_buf()).or_else(|| numbered(&process.join("task")).find_map(told))
}

fn has_memory(status: &str) -> bool {
    status.lines().any(|line| line.starts_with("VmSize:"))
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
