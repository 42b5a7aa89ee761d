//! Append-only log of writes.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::frame::{FileHeader, FileKind, FrameKind, FrameWriter, HEADER_BYTES};
use super::{log_path, sync_directory};
use crate::store::StoreChange;

/// Stored objects include secrets.
const FILE_MODE: u32 = 0o600;

/// Medium of a log: a file, or a failing disk in tests.
pub(super) trait LogMedium: Send + std::fmt::Debug {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    fn flush(&mut self) -> io::Result<()>;
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl LogMedium for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.sync_data()
    }
}

/// Open log.
#[derive(Debug)]
pub(super) struct WriteAheadLog {
    path: PathBuf,
    medium: Box<dyn LogMedium>,
    frames: FrameWriter,
    length: u64,
}

impl WriteAheadLog {
    pub(super) fn new(path: PathBuf, medium: Box<dyn LogMedium>, header: FileHeader, length: u64) -> WriteAheadLog {
        WriteAheadLog { path, medium, frames: FrameWriter::new(header), length }
    }

    /// Creates an empty log after `revision`. The file gets its name only when its header is durable.
    pub(super) fn create(dir: &Path, revision: u64) -> io::Result<WriteAheadLog> {
        let header = FileHeader { kind: FileKind::Log, salt: salt(), revision };
        let path = log_path(dir, revision);
        let file = create_named(&path, |file| file.write_all(&header.encode()))?;
        Ok(WriteAheadLog::new(path, Box::new(file), header, HEADER_BYTES as u64))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends the changes as one frame and flushes it. On an error, the frame is removed as far as the disk allows.
    pub(super) fn append(&mut self, changes: &[Arc<StoreChange>]) -> io::Result<()> {
        let Some(first) = changes.first() else { return Ok(()) };
        self.frames.begin();
        changes.iter().for_each(|change| self.frames.change(change));
        let frame = self.frames.finish(FrameKind::Changes, first.revision);
        let appended = self.medium.append(frame).and_then(|()| self.medium.flush());
        if let Err(error) = appended {
            // A refused write should not reappear after a restart. If even this fails, the outcome is decided at the
            // restart.
            let _ = self.medium.cut(self.length);
            return Err(error);
        }
        self.length += frame.len() as u64;
        self.seal(first.revision + changes.len() as u64 - 1);
        Ok(())
    }

    /// Records that the previous frame was flushed, so that damage to it cannot be taken for an unacknowledged write.
    /// The seal is not flushed itself: it survives the process at once, and a power failure soon.
    fn seal(&mut self, revision: u64) {
        self.frames.begin();
        let seal = self.frames.finish(FrameKind::Seal, revision);
        match self.medium.append(seal) {
            Ok(()) => self.length += seal.len() as u64,
            // The next append fails in the same way and reports the error.
            Err(_) => drop(self.medium.cut(self.length)),
        }
    }
}

/// Creates a file that appears under its name complete and durable, or not at all. The file stays open for appending.
pub(super) fn create_named(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<File> {
    let unfinished = path.with_extension("tmp");
    let create = || {
        // A leftover of a crash may have the name.
        let _ = std::fs::remove_file(&unfinished);
        let mut file = OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(&unfinished)?;
        fill(&mut file)?;
        file.sync_all()?;
        std::fs::rename(&unfinished, path)?;
        sync_directory(path.parent().unwrap_or(Path::new(".")))?;
        Ok(file)
    };
    create().inspect_err(|_| drop(std::fs::remove_file(&unfinished)))
}

/// Returns a salt from the standard library's random hash seeds, which suffice for it.
pub(super) fn salt() -> u64 {
    RandomState::new().hash_one(0u8)
}
