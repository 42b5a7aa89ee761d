//! Format of log and snapshot files. Pure functions without file access.
//!
//! ```text
//! file    = header frame*
//! header  = magic[8] version u32 salt u64 revision u64 crc u32          never changes, so that every version can read it
//! frame   = marker u32 kind u32 length u32 payload-crc u32 revision u64 header-crc u32 payload
//! payload = (tag u8 revision u64 key-length u32 value-length u32 key value)*
//! ```
//!
//! A frame is the content of one flush. Both checksums and the marker are salted per file: stored objects are
//! untrusted, and none of them can imitate a frame. All numbers are little-endian.

use std::io::{self, Read};

use bytes::Bytes;

use crate::store::{MAX_OBJECT_BYTES, StoreChange, StoreKey, StoredObject};

/// Format version of written files, and the newest readable one.
pub const FORMAT_VERSION: u32 = 1;

pub(super) const HEADER_BYTES: usize = 32;
pub(super) const FRAME_HEADER_BYTES: usize = 28;
/// Size at which a frame is closed; it may exceed this by one object.
pub(super) const FRAME_FILL_BYTES: usize = 8 << 20;
const MAX_FRAME_BYTES: usize = FRAME_FILL_BYTES + MAX_OBJECT_BYTES + (1 << 20);

const LOG_MAGIC: [u8; 8] = *b"swblog\r\n";
const SNAPSHOT_MAGIC: [u8; 8] = *b"swbsnap\n";
const TAG_PUT: u8 = 1;
const TAG_DELETE: u8 = 2;

/// Type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Log,
    Snapshot,
}

/// Header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    pub(super) kind: FileKind,
    pub(super) salt: u64,
    /// Log: the revision before its first change. Snapshot: the revision of its objects, before its changes.
    pub(super) revision: u64,
}

/// Type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Writes with consecutive revisions, starting with the frame's.
    Changes = 1,
    /// Objects of a snapshot.
    Objects = 2,
    /// Empty: everything before it was flushed. The end of a snapshot.
    Seal = 3,
}

/// Frame with valid checksums.
#[derive(Debug)]
pub(super) struct LogFrame {
    pub(super) kind: FrameKind,
    pub(super) revision: u64,
    pub(super) payload: Vec<u8>,
}

/// Entry of a payload. The value of a put is the object, that of a delete the final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FrameEntry {
    pub(super) key: StoreKey,
    pub(super) revision: u64,
    pub(super) deleted: bool,
    pub(super) value: Bytes,
}

/// Format error.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("invalid file header")]
    NotOurs,
    #[error("header checksum mismatch")]
    Header,
    #[error("unsupported format version {0}")]
    Newer(u32),
    #[error("frame checksum mismatch")]
    Checksum,
    #[error("truncated frame")]
    Short,
    #[error("unknown frame content")]
    Content,
    #[error("could not read the file")]
    Io(#[from] io::Error),
}

impl FileHeader {
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

    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<FileHeader, FrameError> {
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
            _ => Ok(FileHeader { kind, salt: u64_at(bytes, 12), revision: u64_at(bytes, 20) }),
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

/// Encoder of frames with a reused buffer.
#[derive(Debug)]
pub(super) struct FrameWriter {
    header: FileHeader,
    buffer: Vec<u8>,
}

impl FrameWriter {
    pub(super) fn new(header: FileHeader) -> FrameWriter {
        FrameWriter { header, buffer: Vec::new() }
    }

    /// Creates a frame with this payload.
    pub(super) fn with_payload(header: FileHeader, payload: &[u8]) -> FrameWriter {
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

    pub(super) fn change(&mut self, change: &StoreChange) {
        let tag = if change.after.is_some() { TAG_PUT } else { TAG_DELETE };
        self.entry(tag, change.revision, change.key.as_str(), change.object());
    }

    pub(super) fn object(&mut self, key: &StoreKey, record: &StoredObject) {
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

    /// Completes the current frame.
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

/// Returns the verified header of a frame: kind, length and checksum of its payload, revision.
fn frame_header(header: &FileHeader, bytes: &[u8]) -> Option<(FrameKind, usize, u32, u64)> {
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
pub(super) fn read_frame(header: &FileHeader, from: &mut impl Read) -> Result<Option<LogFrame>, FrameError> {
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
    Ok(Some(LogFrame { kind, revision, payload }))
}

/// Whether a frame begins anywhere in `bytes`, which proves that the bytes before it were flushed.
pub(super) fn holds_frame(header: &FileHeader, bytes: &[u8]) -> bool {
    let marker = header.marker().to_le_bytes();
    bytes.windows(4).enumerate().any(|(at, window)| window == marker && frame_header(header, &bytes[at..]).is_some())
}

/// Reads the header of a file.
pub(super) fn read_header(from: &mut impl Read) -> Result<FileHeader, FrameError> {
    let mut bytes = [0; HEADER_BYTES];
    match fill(from, &mut bytes)? {
        HEADER_BYTES => FileHeader::decode(&bytes),
        _ => Err(FrameError::NotOurs),
    }
}

/// Returns the entries of a payload.
pub(super) fn entries(payload: &[u8]) -> impl Iterator<Item = Result<FrameEntry, FrameError>> {
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

fn entry(bytes: &[u8]) -> Option<(FrameEntry, &[u8])> {
    let (head, rest) = bytes.split_at_checked(17)?;
    let deleted = match head[0] {
        TAG_PUT => false,
        TAG_DELETE => true,
        _ => return None,
    };
    let (key, rest) = rest.split_at_checked(u32_at(head, 9) as usize)?;
    let (value, rest) = rest.split_at_checked(u32_at(head, 13) as usize)?;
    let key = StoreKey::from(std::str::from_utf8(key).ok()?);
    // Copied, so that one object does not keep its whole frame in memory.
    let value = Bytes::copy_from_slice(value);
    Some((FrameEntry { key, revision: u64_at(head, 1), deleted, value }, rest))
}

/// Reads until `into` is full or the source ends; returns the number of bytes read.
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
