//! Writing the state anew, so that old logs can go. Runs beside the writers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::frame::{FileKind, FrameKind, FrameWriter, HEADER_BYTES, Header};
use super::log::{create_named, salt};
use super::recover::{Name, names};
use super::{snapshot_path, sync_directory};
use crate::store::state::State;
use crate::store::{Change, Key, Record};

/// The state at one revision; the objects are shared with the living one.
#[derive(Debug)]
pub(super) struct Capture {
    objects: BTreeMap<Key, Record>,
    history: Vec<Arc<Change>>,
    revision: u64,
}

impl Capture {
    pub(super) fn of(state: &State) -> Capture {
        Capture {
            objects: state.objects.clone(),
            history: state.history().iter().cloned().collect(),
            revision: state.revision,
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision before the history, which the objects are taken back to: then each change is written once, without its `before`.
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

/// Writes the snapshot, then removes what it replaces. Its size, or `None` when it could not be written: the logs still hold
/// everything, and the next rotation tries again.
pub(super) fn write(dir: &Path, mut capture: Capture) -> Option<u64> {
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

fn fill(file: &mut File, capture: &Capture) -> io::Result<u64> {
    let header = Header { kind: FileKind::Snapshot, salt: salt(), revision: capture.base() };
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

/// Removes the files that a snapshot at `revision` replaces. What stays behind for any reason is removed at the next open.
pub(super) fn remove_replaced(dir: &Path, revision: u64) {
    let Ok(found) = names(dir) else { return };
    for (path, name) in found {
        let replaced = match name {
            Name::Log(after) => after < revision,
            Name::Snapshot(at) => at < revision,
            Name::Unfinished => false,
        };
        if replaced && let Err(error) = std::fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "could not remove a replaced file");
        }
    }
    let _ = sync_directory(dir);
}
