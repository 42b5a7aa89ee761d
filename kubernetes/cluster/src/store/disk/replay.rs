//! Replay of files into the state. Reads only.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use super::frame::{
    FileHeader, FileKind, FrameEntry, FrameError, FrameKind, FrameWriter, entries, holds_frame, read_frame, read_header,
};
use crate::store::state::StoreState;
use crate::store::{StoreChange, StoreLimits, StoredObject};

/// Damage of a file, with its position.
#[derive(Debug, thiserror::Error)]
#[error("{what} (byte {offset})")]
pub(super) struct ReplayError {
    pub(super) offset: u64,
    #[source]
    pub(super) what: ReplayErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ReplayErrorKind {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("revision {found} follows revision {after}")]
    Gap { found: u64, after: u64 },
    #[error("file starts after revision {found}, but the previous files end at revision {expected}")]
    Start { found: u64, expected: u64 },
    #[error("incomplete snapshot")]
    Unfinished,
    #[error("file type does not match the file name")]
    Kind,
}

/// Result of replaying a log.
#[derive(Debug)]
pub(super) struct LogEnd {
    pub(super) header: FileHeader,
    /// Number of bytes with acknowledged writes.
    pub(super) acknowledged_bytes: u64,
    /// Number of bytes after them: a write that was never acknowledged.
    pub(super) torn_bytes: u64,
}

/// Applies a log to the state. The newest log may end with a broken frame, if no frame follows: only the last flush can
/// be incomplete, and it was not acknowledged. Anything else is damage.
pub(super) fn log(
    from: &mut impl Read,
    newest: bool,
    state: &mut StoreState,
    bounds: &StoreLimits,
) -> Result<LogEnd, ReplayError> {
    let mut from = CountingReader { from, read: 0 };
    let header = read_header(&mut from).map_err(|error| broken(0, error))?;
    if header.kind != FileKind::Log {
        return Err(broken(0, ReplayErrorKind::Kind));
    }
    if header.revision != state.revision {
        return Err(broken(0, ReplayErrorKind::Start { found: header.revision, expected: state.revision }));
    }
    loop {
        let good = from.read;
        let mut kept = Vec::new();
        let mut teed = TeeReader { from: &mut from, kept: &mut kept };
        match read_frame(&header, &mut teed) {
            Ok(None) => return Ok(LogEnd { header, acknowledged_bytes: good, torn_bytes: 0 }),
            Ok(Some(frame)) => {
                let changes = if frame.kind == FrameKind::Changes { &frame.payload[..] } else { &[] };
                for entry in entries(changes) {
                    let entry = entry.map_err(|error| broken(good, error))?;
                    apply_entry(state, entry, bounds).map_err(|wrong| broken(good, wrong))?;
                }
            }
            Err(error @ FrameError::Io(_)) => return Err(broken(good, error)),
            Err(error) => {
                from.read_to_end(&mut kept).map_err(|error| broken(good, FrameError::Io(error)))?;
                // The search starts at the second byte, because the broken frame's own header proves nothing.
                if !newest || holds_frame(&header, &kept[1..]) {
                    return Err(broken(good, error));
                }
                return Ok(LogEnd { header, acknowledged_bytes: good, torn_bytes: kept.len() as u64 });
            }
        }
    }
}

/// Reads a snapshot: objects at one revision and the changes after it. It is complete or damaged, because it gets its
/// name when it is complete.
pub(super) fn snapshot(from: &mut impl Read, bounds: &StoreLimits) -> Result<StoreState, ReplayError> {
    let mut from = CountingReader { from, read: 0 };
    let header = read_header(&mut from).map_err(|error| broken(0, error))?;
    if header.kind != FileKind::Snapshot {
        return Err(broken(0, ReplayErrorKind::Kind));
    }
    let mut state = StoreState::at(BTreeMap::new(), header.revision, header.revision);
    let mut sealed = false;
    loop {
        let at = from.read;
        let frame = match read_frame(&header, &mut from).map_err(|error| broken(at, error))? {
            Some(frame) if !sealed => frame,
            None if sealed => return Ok(state),
            _ => return Err(broken(at, ReplayErrorKind::Unfinished)),
        };
        match frame.kind {
            FrameKind::Seal if frame.revision == state.revision => sealed = true,
            FrameKind::Seal => return Err(broken(at, ReplayErrorKind::Unfinished)),
            kind => {
                for entry in entries(&frame.payload) {
                    let entry = entry.map_err(|error| broken(at, error))?;
                    if kind == FrameKind::Objects {
                        let record = StoredObject { revision: entry.revision, bytes: entry.value };
                        state.objects.insert(entry.key, record);
                    } else {
                        apply_entry(&mut state, entry, bounds).map_err(|wrong| broken(at, wrong))?;
                    }
                }
            }
        }
    }
}

/// Applies the next change.
fn apply_entry(state: &mut StoreState, entry: FrameEntry, bounds: &StoreLimits) -> Result<(), ReplayErrorKind> {
    if state.revision.checked_add(1) != Some(entry.revision) {
        return Err(ReplayErrorKind::Gap { found: entry.revision, after: state.revision });
    }
    let FrameEntry { key, revision, deleted, value } = entry;
    let before = state.objects.get(&key).cloned();
    let (after, last) = match deleted {
        true => (None, value),
        false => (Some(StoredObject { revision, bytes: value }), bytes::Bytes::new()),
    };
    state.publish(&[Arc::new(StoreChange { revision, key, before, after, last })], bounds);
    Ok(())
}

fn broken(offset: u64, what: impl Into<ReplayErrorKind>) -> ReplayError {
    ReplayError { offset, what: what.into() }
}

/// Reader that counts bytes.
struct CountingReader<R> {
    from: R,
    read: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// Reader that keeps the bytes of a broken frame, so that they can be searched for later frames.
struct TeeReader<'a, R> {
    from: &'a mut R,
    kept: &'a mut Vec<u8>,
}

impl<R: Read> Read for TeeReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.kept.extend_from_slice(&into[..read]);
        Ok(read)
    }
}

/// Reads arbitrary bytes as files and as the payload of a valid frame, for the fuzzer.
pub(super) fn fuzz(bytes: &[u8]) {
    let bounds = StoreLimits::default();
    let read = |mut bytes: &[u8]| {
        let revision = read_header(&mut { bytes }).map_or(1, |header| header.revision);
        let _ = log(&mut { bytes }, true, &mut StoreState::at(BTreeMap::new(), revision, revision), &bounds);
        let _ = snapshot(&mut bytes, &bounds);
    };
    read(bytes);
    for (file, frame) in [(FileKind::Log, FrameKind::Changes), (FileKind::Snapshot, FrameKind::Objects)] {
        let header = FileHeader { kind: file, salt: 7, revision: 1 };
        let mut sound = header.encode().to_vec();
        sound.extend_from_slice(FrameWriter::with_payload(header, bytes).finish(frame, 2));
        read(&sound);
        sound.extend_from_slice(bytes);
        read(&sound);
    }
}
