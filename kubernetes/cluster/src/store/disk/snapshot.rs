//! Snapshots of the state, which replace old logs. Written concurrently with new writes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::frame::{FileHeader, FileKind, FrameKind, FrameWriter, HEADER_BYTES};
use super::log::{create_named, salt};
use super::recover::{StoreFile, names};
use super::{snapshot_path, sync_directory};
use crate::store::state::StoreState;
use crate::store::{StoreChange, StoreKey, StoredObject};

/// State at one revision; its objects are shared with the current state.
#[derive(Debug)]
pub(super) struct CapturedState {
    objects: BTreeMap<StoreKey, StoredObject>,
    history: Vec<Arc<StoreChange>>,
    revision: u64,
}

impl CapturedState {
    pub(super) fn of(state: &StoreState) -> CapturedState {
        CapturedState {
            objects: state.objects.clone(),
            history: state.history().iter().cloned().collect(),
            revision: state.revision,
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the revision before the history. Objects are reverted to it, so that each change is written once,
    /// without its `before`.
    fn base(&self) -> u64 {
        self.history.first().map_or(self.revision, |oldest| oldest.revision - 1)
    }

    fn rewind(&mut self) {
        for change in self.history.iter().rev() {
            match &change.before {
                Some(before) => self.objects.insert(change.key.clone(), before.clone()),
                None => self.objects.remove(&change.key),
            };
        }
    }
}

/// Writes the snapshot, then removes the files it replaces. Returns its size, or `None` if it could not be written: in
/// that case the logs still hold everything, and the next rotation retries.
pub(super) fn write(dir: &Path, mut capture: CapturedState) -> Option<u64> {
    let path = snapshot_path(dir, capture.revision);
    capture.rewind();
    let mut bytes = 0;
    match create_named(&path, |file| fill(file, &capture).map(|written| bytes = written)) {
        Ok(_) => remove_replaced(dir, capture.revision),
        Err(error) => {
            tracing::error!(path = %path.display(), %error, "could not write a snapshot; the logs are kept");
            return None;
        }
    }
    Some(bytes)
}

fn fill(file: &mut File, capture: &CapturedState) -> io::Result<u64> {
    let header = FileHeader { kind: FileKind::Snapshot, salt: salt(), revision: capture.base() };
    let mut frames = FrameWriter::new(header);
    file.write_all(&header.encode())?;
    let mut written = HEADER_BYTES as u64;
    let mut finish = |frames: &mut FrameWriter, kind, revision| {
        let frame = frames.finish(kind, revision);
        written += frame.len() as u64;
        let result = file.write_all(frame);
        frames.begin();
        result
    };
    frames.begin();
    for (key, record) in &capture.objects {
        frames.object(key, record);
        if frames.is_full() {
            finish(&mut frames, FrameKind::Objects, capture.base())?;
        }
    }
    if !frames.is_empty() {
        finish(&mut frames, FrameKind::Objects, capture.base())?;
    }
    for change in &capture.history {
        frames.change(change);
        if frames.is_full() {
            finish(&mut frames, FrameKind::Changes, change.revision)?;
        }
    }
    if !frames.is_empty() {
        finish(&mut frames, FrameKind::Changes, capture.revision)?;
    }
    finish(&mut frames, FrameKind::Seal, capture.revision)?;
    Ok(written)
}

/// Removes the files that a snapshot at `revision` replaces. Files that cannot be removed are removed at the next open.
pub(super) fn remove_replaced(dir: &Path, revision: u64) {
    let Ok(found) = names(dir) else { return };
    for (path, name) in found {
        let replaced = match name {
            StoreFile::Log(after) => after < revision,
            StoreFile::Snapshot(at) => at < revision,
            StoreFile::Unfinished => false,
        };
        if replaced && let Err(error) = std::fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "could not remove a replaced file");
        }
    }
    let _ = sync_directory(dir);
}
