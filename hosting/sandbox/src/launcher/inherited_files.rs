//! Lets go of what the host had open when it was started itself.
//!
//! What this process opens is closed when a program is started; what a shell or a service manager handed to the host is
//! not, and a folder among it would lead a program out of its root.

use super::try_step;
use crate::wire::LauncherMessage;

/// The line to the host, and what the program says.
const LAST_KEPT: i32 = 2;

/// Closes every open file but the first three. To be called before this process opens any of its own.
pub(super) fn close_inherited() -> Result<(), LauncherMessage> {
    let listed = std::fs::read_dir("/proc/self/fd").and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = try_step("list what is open", listed)?;
    let numbers: Vec<i32> = entries.iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // Its entries keep the folder open.
    drop(entries);
    for file in numbers.into_iter().filter(|file| *file > LAST_KEPT) {
        // The folder that was just read is among them, and is closed already.
        let _ = nix::unistd::close(file);
    }
    Ok(())
}
