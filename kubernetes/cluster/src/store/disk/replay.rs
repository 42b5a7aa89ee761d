//! From the bytes of files back to the state. Reads, never writes.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use super::frame::{
    Entry, FileKind, FrameError, FrameKind, FrameWriter, Header, entries, holds_frame, read_frame, read_header,
};
use crate::store::state::State;
use crate::store::{Bounds, Change, Record};

/// What is wrong with a file, and where.
#[derive(Debug, thiserror::Error)]
#[error("{what} (byte {offset})")]
pub(super) struct Broken {
    pub(super) offset: u64,
    #[source]
    pub(super) what: Wrong,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Wrong {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("revision {found} follows {after}")]
    Gap { found: u64, after: u64 },
    #[error("it begins after revision {found}, the files before it end at {expected}")]
    Start { found: u64, expected: u64 },
    #[error("it does not end as a complete snapshot")]
    Unfinished,
    #[error("it is another kind of file than its name says")]
    Kind,
}

/// A log that was read to its end.
#[derive(Debug)]
pub(super) struct LogEnd {
    pub(super) header: Header,
    /// Bytes that hold acknowledged writes.
    pub(super) good: u64,
    /// Bytes after them: a write that was never acknowledged.
    pub(super) torn: u64,
}

/// Applies a log to the state. Where a frame is broken the log ends, if it is the newest and no frame follows: only the last
/// flush can be incomplete, and nobody was told that it succeeded. Anything else is damage.
pub(super) fn log(from: &mut impl Read, newest: bool, state: &mut State, bounds: &Bounds) -> Result<LogEnd, Broken> {
    let mut from = Counted { from, read: 0 };
    let header = read_header(&mut from).map_err(|error| broken(0, error))?;
    if header.kind != FileKind::Log {
        return Err(broken(0, Wrong::Kind));
    }
    if header.revision != state.revision {
        return Err(broken(0, Wrong::Start { found: header.revision, expected: state.revision }));
    }
    loop {
        let good = from.read;
        let mut kept = Vec::new();
        let mut teed = Tee { from: &mut from, kept: &mut kept };
        match read_frame(&header, &mut teed) {
            Ok(None) => return Ok(LogEnd { header, good, torn: 0 }),
            Ok(Some(frame)) => {
                let changes = if frame.kind == FrameKind::Changes { &frame.payload[..] } else { &[] };
                for entry in entries(changes) {
                    let entry = entry.map_err(|error| broken(good, error))?;
                    follow(state, entry, bounds).map_err(|wrong| broken(good, wrong))?;
                }
            }
            Err(error @ FrameError::Io(_)) => return Err(broken(good, error)),
            Err(error) => {
                from.read_to_end(&mut kept).map_err(|error| broken(good, FrameError::Io(error)))?;
                // From the second byte on: the broken frame's own header proves nothing.
                if !newest || holds_frame(&header, &kept[1..]) {
                    return Err(broken(good, error));
                }
                return Ok(LogEnd { header, good, torn: kept.len() as u64 });
            }
        }
    }
}

/// Reads a snapshot: objects at one revision and the changes after it. Complete or damaged, since it got its name when complete.
pub(super) fn snapshot(from: &mut impl Read, bounds: &Bounds) -> Result<State, Broken> {
    let mut from = Counted { from, read: 0 };
    let header = read_header(&mut from).map_err(|error| broken(0, error))?;
    if header.kind != FileKind::Snapshot {
        return Err(broken(0, Wrong::Kind));
    }
    let mut state = State::at(BTreeMap::new(), header.revision, header.revision);
    let mut sealed = false;
    loop {
        let at = from.read;
        let frame = match read_frame(&header, &mut from).map_err(|error| broken(at, error))? {
            Some(frame) if !sealed => frame,
            None if sealed => return Ok(state),
            _ => return Err(broken(at, Wrong::Unfinished)),
        };
        match frame.kind {
            FrameKind::Seal if frame.revision == state.revision => sealed = true,
            FrameKind::Seal => return Err(broken(at, Wrong::Unfinished)),
            kind => {
                for entry in entries(&frame.payload) {
                    let entry = entry.map_err(|error| broken(at, error))?;
                    if kind == FrameKind::Objects {
                        let record = Record { revision: entry.revision, bytes: entry.value };
                        state.objects.insert(entry.key, record);
                    } else {
                        follow(&mut state, entry, bounds).map_err(|wrong| broken(at, wrong))?;
                    }
                }
            }
        }
    }
}

/// Applies the next change.
fn follow(state: &mut State, entry: Entry, bounds: &Bounds) -> Result<(), Wrong> {
    if state.revision.checked_add(1) != Some(entry.revision) {
        return Err(Wrong::Gap { found: entry.revision, after: state.revision });
    }
    let Entry { key, revision, deleted, value } = entry;
    let before = state.objects.get(&key).cloned();
    let (after, last) = match deleted {
        true => (None, value),
        false => (Some(Record { revision, bytes: value }), bytes::Bytes::new()),
    };
    state.publish(&[Arc::new(Change { revision, key, before, after, last })], bounds);
    Ok(())
}

fn broken(offset: u64, what: impl Into<Wrong>) -> Broken {
    Broken { offset, what: what.into() }
}

/// Knows how far it has read.
struct Counted<R> {
    from: R,
    read: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// Keeps what a broken frame consisted of, so that it can be searched for later frames.
struct Tee<'a, R> {
    from: &'a mut R,
    kept: &'a mut Vec<u8>,
}

impl<R: Read> Read for Tee<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.kept.extend_from_slice(&into[..read]);
        Ok(read)
    }
}

/// Reads arbitrary bytes as files and as the payload of a sound frame, for the fuzzer.
pub(super) fn fuzz(bytes: &[u8]) {
    let bounds = Bounds::default();
    let read = |mut bytes: &[u8]| {
        let revision = read_header(&mut { bytes }).map_or(1, |header| header.revision);
        let _ = log(&mut { bytes }, true, &mut State::at(BTreeMap::new(), revision, revision), &bounds);
        let _ = snapshot(&mut bytes, &bounds);
    };
    read(bytes);
    for (file, frame) in [(FileKind::Log, FrameKind::Changes), (FileKind::Snapshot, FrameKind::Objects)] {
        let header = Header { kind: file, salt: 7, revision: 1 };
        let mut sound = header.encode().to_vec();
        sound.extend_from_slice(FrameWriter::around(header, bytes).finish(frame, 2));
        read(&sound);
        sound.extend_from_slice(bytes);
        read(&sound);
    }
}
