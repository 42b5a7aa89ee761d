//! Change detection for a directory or bundle file with inotify and periodic polling.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

/// Time without further changes before a change is reported, because editors and checkouts write many files.
pub const QUIET: Duration = Duration::from_millis(150);
/// Maximum number of watched directories; changes in others are found by polling.
pub const MAX_WATCHED: usize = 8192;

/// Watcher of a path with its own thread.
pub struct PathWatcher {
    changed: Receiver<()>,
}

impl PathWatcher {
    /// Starts to watch a path.
    pub fn start(path: &Path) -> Self {
        let (sender, changed) = std::sync::mpsc::channel();
        let path = path.to_path_buf();
        let thread = std::thread::Builder::new().name("integrations-follow".to_string());
        // Without a thread or inotify, polling still finds every change.
        if let Err(error) = thread.spawn(move || watch(&path, &sender)) {
            tracing::warn!(%error, "could not watch the source; changes are found by polling");
        }
        Self { changed }
    }

    /// Waits until a change has settled or the polling interval has passed.
    pub fn wait(&self, interval: Duration) {
        match self.changed.recv_timeout(interval) {
            Ok(()) => while self.changed.recv_timeout(QUIET).is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(interval),
        }
    }
}

fn watch(path: &Path, changed: &Sender<()>) {
    let Ok(inotify) = inotify::init(CreateFlags::CLOEXEC) else { return };
    let flags = WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MODIFY
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::DELETE_SELF;
    loop {
        // Adding an existing watch has no effect, and changes may create new directories.
        let mut watched = 0;
        for dir in directories(path) {
            watched += usize::from(inotify::add_watch(&inotify, &dir, flags).is_ok());
        }
        if watched == 0 {
            return;
        }
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&inotify, &mut buffer);
        if reader.next().is_err() {
            return;
        }
        while !reader.is_buffer_empty() && reader.next().is_ok() {}
        if changed.send(()).is_err() {
            return;
        }
    }
}

/// Returns a directory and its subdirectories, or the parent directory of a file, which may be replaced.
fn directories(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return path.parent().map(Path::to_path_buf).into_iter().collect();
    }
    let mut found = vec![path.to_path_buf()];
    let mut next = 0;
    while next < found.len() && found.len() < MAX_WATCHED {
        let entries = fs::read_dir(&found[next]).into_iter().flatten().flatten();
        let below = entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()));
        found.extend(below.filter(|e| !e.file_name().to_string_lossy().starts_with('.')).map(|e| e.path()));
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Instant;

    use super::*;

    #[test]
    fn a_change_is_detected_before_the_polling_interval() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        let follow = PathWatcher::start(dir.path());
        let path = dir.path().join("sub/a.yml");
        let begun = Instant::now();
        let writer = std::thread::spawn(move || {
            // The file is written repeatedly, because the watcher may not have started.
            for number in 0..100 {
                fs::write(&path, number.to_string()).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        follow.wait(Duration::from_secs(120));
        assert!(begun.elapsed() < Duration::from_secs(60));
        writer.join().unwrap();
    }
}
