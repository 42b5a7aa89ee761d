//! The bytes of log and snapshot files. Pure: no file is touched here.
//!
//! ```text
//! file    = header frame*
//! header  = magic[8] version u32 salt u64 revision u64 crc u32          never changes, so that every version can read it
//! frame   = marker u32 kind u32 length u32 payload-crc u32 revision u64 header-crc u32 payload
//! payload = (tag u8 revision u64 key-length u32 value-length u32 key value)*
//! ```
//!
//! A frame is what one flush made durable. Both checksums and the marker are salted per file: stored objects are written by
//! strangers, and none of them can look like a frame. All numbers are little-endian.

use std::io::{self, Read};

use bytes::Bytes;

use crate::store::{Change, Key, MAX_OBJECT_BYTES, Record};

/// The version this program writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

pub(super) const HEADER_BYTES: usize = 32;
pub(super) const FRAME_HEADER_BYTES: usize = 28;
/// A frame is closed when it reaches this; one object more may be in it.
pub(super) const FRAME_FILL_BYTES: usize = 8 << 20;
const MAX_FRAME_BYTES: usize = FRAME_FILL_BYTES + MAX_OBJECT_BYTES + (1 << 20);

const LOG_MAGIC: [u8; 8] = *b"swblog\r\n";
const SNAPSHOT_MAGIC: [u8; 8] = *b"swbsnap\n";
const TAG_PUT: u8 = 1;
const TAG_DELETE: u8 = 2;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Log,
    Snapshot,
}

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: FileKind,
    pub(super) salt: u64,
    /// Log: the revision before its first change. Snapshot: the revision of its objects, before its changes.
    pub(super) revision: u64,
}

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Writes with dense revisions from the frame's on.
    Changes = 1,
    /// Objects of a snapshot.
    Objects = 2,
    /// Nothing: everything before it was flushed. The end of a snapshot.
    Seal = 3,
}

/// A frame that passed its checksums.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    pub(super) revision: u64,
    pub(super) payload: Vec<u8>,
}

/// One entry of a payload. A put's value is the object, a delete's its final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) revision: u64,
    pub(super) deleted: bool,
    pub(super) value: Bytes,
}

/// Why bytes are not what this module writes.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("it does not begin as one of this program's files")]
    NotOurs,
    #[error("its header fails the checksum")]
    Header,
    #[error("format version {0} is newer than this program reads")]
    Newer(u32),
    #[error("a frame fails its checksum")]
    Checksum,
    #[error("a frame is cut short")]
    Short,
    #[error("a frame holds something unknown")]
    Content,
    #[error("could not read")]
    Io(#[from] io::Error),
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        self.encode_as(FORMAT_VERSION)
    }

    pub(super) fn encode_as(&self, version: u32) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(if self.kind == FileKind::Log { &LOG_MAGIC } else { &SNAPSHOT_MAGIC });
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.salt.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.revision.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Header, FrameError> {
        let kind = match &bytes[..8] {
            magic if magic == LOG_MAGIC => FileKind::Log,
            magic if magic == SNAPSHOT_MAGIC => FileKind::Snapshot,
            _ => return Err(FrameError::NotOurs),
        };
        if crc32fast::hash(&bytes[..28]) != u32_at(bytes, 28) {
            return Err(FrameError::Header);
        }
        match u32_at(bytes, 8) {
            version if version > FORMAT_VERSION => Err(FrameError::Newer(version)),
            _ => Ok(Header { kind, salt: u64_at(bytes, 12), revision: u64_at(bytes, 20) }),
        }
    }

    fn marker(&self) -> u32 {
        // Never zero: a hole in a file must not look like a frame.
        (self.salt ^ (self.salt >> 32)) as u32 | 1
    }

    fn crc(&self, bytes: &[u8]) -> u32 {
        let mut crc = crc32fast::Hasher::new_with_initial(self.salt as u32);
        crc.update(&self.salt.to_le_bytes());
        crc.update(bytes);
        crc.finalize()
    }
}

/// Builds one frame in a buffer that is used again.
#[derive(Debug)]
pub(super) struct FrameWriter {
    header: Header,
    buffer: Vec<u8>,
}

impl FrameWriter {
    pub(super) fn new(header: Header) -> FrameWriter {
        FrameWriter { header, buffer: Vec::new() }
    }

    /// A frame with this payload.
    pub(super) fn around(header: Header, payload: &[u8]) -> FrameWriter {
        let mut writer = FrameWriter::new(header);
        writer.begin();
        writer.buffer.extend_from_slice(payload);
        writer
    }

    /// Begins the next frame.
    pub(super) fn begin(&mut self) {
        self.buffer.clear();
        self.buffer.resize(FRAME_HEADER_BYTES, 0);
    }

    pub(super) fn is_full(&self) -> bool {
        self.buffer.len() >= FRAME_FILL_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buffer.len() <= FRAME_HEADER_BYTES
    }

    pub(super) fn change(&mut self, change: &Change) {
        let tag = if change.after.is_some() { TAG_PUT } else { TAG_DELETE };
        self.entry(tag, change.revision, change.key.as_str(), change.object());
    }

    pub(super) fn object(&mut self, key: &Key, record: &Record) {
        self.entry(TAG_PUT, record.revision, key.as_str(), &record.bytes);
    }

    fn entry(&mut self, tag: u8, revision: u64, key: &str, value: &[u8]) {
        self.buffer.push(tag);
        self.buffer.extend_from_slice(&revision.to_le_bytes());
        self.buffer.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(key.as_bytes());
        self.buffer.extend_from_slice(value);
    }

    /// Completes the frame begun.
    pub(super) fn finish(&mut self, kind: FrameKind, revision: u64) -> &[u8] {
        let (head, payload) = self.buffer.split_at_mut(FRAME_HEADER_BYTES);
        head[..4].copy_from_slice(&self.header.marker().to_le_bytes());
        head[4..8].copy_from_slice(&(kind as u32).to_le_bytes());
        head[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        head[12..16].copy_from_slice(&self.header.crc(payload).to_le_bytes());
        head[16..24].copy_from_slice(&revision.to_le_bytes());
        let crc = self.header.crc(&head[..24]);
        head[24..].copy_from_slice(&crc.to_le_bytes());
        &self.buffer
    }
}

/// The checked header of a frame: kind, length and checksum of its payload, revision.
fn frame_header(header: &Header, bytes: &[u8]) -> Option<(FrameKind, usize, u32, u64)> {
    let bytes = bytes.get(..FRAME_HEADER_BYTES)?;
    if u32_at(bytes, 0) != header.marker() || header.crc(&bytes[..24]) != u32_at(bytes, 24) {
        return None;
    }
    let kind = match u32_at(bytes, 4) {
        1 => FrameKind::Changes,
        2 => FrameKind::Objects,
        3 => FrameKind::Seal,
        _ => return None,
    };
    let length = u32_at(bytes, 8) as usize;
    (length <= MAX_FRAME_BYTES).then(|| (kind, length, u32_at(bytes, 12), u64_at(bytes, 16)))
}

/// Reads the next frame; `None` at the end of the file.
pub(super) fn read_frame(header: &Header, from: &mut impl Read) -> Result<Option<Frame>, FrameError> {
    let mut head = [0; FRAME_HEADER_BYTES];
    match fill(from, &mut head)? {
        0 => return Ok(None),
        FRAME_HEADER_BYTES => {}
        _ => return Err(FrameError::Short),
    }
    let (kind, length, crc, revision) = frame_header(header, &head).ok_or(FrameError::Checksum)?;
    let mut payload = vec![0; length];
    if fill(from, &mut payload)? != length {
        return Err(FrameError::Short);
    }
    if header.crc(&payload) != crc {
        return Err(FrameError::Checksum);
    }
    Ok(Some(Frame { kind, revision, payload }))
}

/// Whether a frame begins anywhere in `bytes`: then what stands before it was flushed once.
pub(super) fn holds_frame(header: &Header, bytes: &[u8]) -> bool {
    let marker = header.marker().to_le_bytes();
    bytes.windows(4).enumerate().any(|(at, window)| window == marker && frame_header(header, &bytes[at..]).is_some())
}

/// Reads the header of a file.
pub(super) fn read_header(from: &mut impl Read) -> Result<Header, FrameError> {
    let mut bytes = [0; HEADER_BYTES];
    match fill(from, &mut bytes)? {
        HEADER_BYTES => Header::decode(&bytes),
        _ => Err(FrameError::NotOurs),
    }
}

/// The entries of a payload.
pub(super) fn entries(payload: &[u8]) -> impl Iterator<Item = Result<Entry, FrameError>> {
    let mut rest = payload;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let entry = entry(rest);
        rest = entry.as_ref().map_or(&[][..], |(_, rest)| rest);
        Some(entry.map(|(entry, _)| entry).ok_or(FrameError::Content))
    })
}

fn entry(bytes: &[u8]) -> Option<(Entry, &[u8])> {
    let (head, rest) = bytes.split_at_checked(17)?;
    let deleted = match head[0] {
        TAG_PUT => false,
        TAG_DELETE => true,
        _ => return None,
    };
    let (key, rest) = rest.split_at_checked(u32_at(head, 9) as usize)?;
    let (value, rest) = rest.split_at_checked(u32_at(head, 13) as usize)?;
    let key = Key::from(std::str::from_utf8(key).ok()?);
    // Copied, so that one living object does not keep its whole frame in memory.
    let value = Bytes::copy_from_slice(value);
    Some((Entry { key, revision: u64_at(head, 1), deleted, value }, rest))
}

/// Reads until `into` is full or the source ends; how much was read.
fn fill(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match from.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
