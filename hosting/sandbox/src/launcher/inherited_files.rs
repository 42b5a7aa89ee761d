//! Closing of files that the host inherited.
//!
//! Files opened by this process are closed on exec, but files inherited from a shell or a service manager are not. A
//! folder among them would lead a program out of its root.

use super::try_step;
use crate::wire::LauncherMessage;

/// Last file descriptor to keep: the socket to the host, stdout and stderr.
const LAST_KEPT: i32 = 2;

/// Closes all inherited files but the first three. Must be called before this process opens files.
pub(super) fn close_inherited() -> Result<(), LauncherMessage> {
    let listed = std::fs::read_dir("/proc/self/fd").and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = try_step("list the open files", listed)?;
    let numbers: Vec<i32> = entries.iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // The entries keep the folder open.
    drop(entries);
    for file in numbers.into_iter().filter(|file| *file > LAST_KEPT) {
        // The folder just read is in the list, and is already closed.
        let _ = nix::unistd::close(file);
    }
    Ok(())
}
