//! Notices that a directory or a bundle file has changed: at once where the file system tells, and by looking now and then.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

/// How long the file system must be quiet before a change is told: an editor or a checkout writes many files.
pub const QUIET: Duration = Duration::from_millis(150);
/// How many directories are watched; the rest is found by looking.
pub const MAX_WATCHED: usize = 8192;

/// Follows a path on a thread of its own.
pub struct Follow {
    changed: Receiver<()>,
}

impl Follow {
    /// Begins to follow a path.
    pub fn start(path: &Path) -> Self {
        let (sender, changed) = std::sync::mpsc::channel();
        let path = path.to_path_buf();
        let thread = std::thread::Builder::new().name("integrations-follow".to_string());
        // Without a thread or without the kernel's help, looking now and then still finds every change.
        if let Err(error) = thread.spawn(move || watch(&path, &sender)) {
            tracing::warn!(%error, "changes of the source are found by looking alone");
        }
        Self { changed }
    }

    /// Waits until something has changed and is quiet again, or until it is time to look anyway.
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
        // Watching a directory again is free, and new ones come with changes.
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

/// A directory and all below it; of a file, the directory it is in, since it may be replaced.
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
    fn a_change_is_noticed_long_before_the_interval() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        let follow = Follow::start(dir.path());
        let path = dir.path().join("sub/a.yml");
        let begun = Instant::now();
        let writer = std::thread::spawn(move || {
            // Until it is noticed: the thread that watches may not have begun.
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
