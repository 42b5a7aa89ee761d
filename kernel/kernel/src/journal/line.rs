//! Line of a segment: eight hex digits of CRC-32, a space, JSON, a line end.

use serde::{Deserialize, Serialize};

const PREFIX: usize = 9;

/// Unreadable part of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// Number of the segment.
    pub segment: u64,
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Whether it is an incomplete line at the end of the segment, as a crash leaves it.
    pub torn: bool,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if self.torn { "was not written to its end" } else { "is damaged" };
        write!(f, "segment {} {what}: {} bytes at {} are left out", self.segment, self.bytes, self.offset)
    }
}

/// Damage in one file of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DamagedSegment {
    /// Number of the segment.
    pub segment: u64,
    /// Number of damaged places.
    pub places: usize,
    /// Number of damaged bytes.
    pub bytes: u64,
    /// Whether only the last line is incomplete.
    pub torn: bool,
}

impl DamagedSegment {
    /// Groups damaged places by segment.
    pub fn of(damages: &[Damage]) -> Vec<Self> {
        let mut segments = std::collections::BTreeMap::<u64, Self>::new();
        for damage in damages {
            let new = || Self { segment: damage.segment, torn: true, ..Self::default() };
            let segment = segments.entry(damage.segment).or_insert_with(new);
            segment.places += 1;
            segment.bytes += damage.bytes;
            segment.torn &= damage.torn;
        }
        segments.into_values().collect()
    }
}

impl std::fmt::Display for DamagedSegment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { segment, places, bytes, torn } = self;
        match (torn, places) {
            (true, _) => write!(f, "segment {segment} was not written to its end: {bytes} bytes are left out"),
            (false, 1) => write!(f, "segment {segment} is damaged: {bytes} bytes are left out"),
            (false, _) => write!(f, "segment {segment} is damaged in {places} places: {bytes} bytes are left out"),
        }
    }
}

/// Appends a line.
pub(super) fn push(out: &mut Vec<u8>, json: &[u8]) {
    out.extend_from_slice(format!("{:08x} ", crc32fast::hash(json)).as_bytes());
    out.extend_from_slice(json);
    out.push(b'\n');
}

/// Returns the JSON of a line without its line end; `None` if the checksum does not match.
pub(super) fn json(line: &[u8]) -> Option<&[u8]> {
    let (prefix, json) = line.split_at_checked(PREFIX)?;
    let digits = prefix.strip_suffix(b" ")?;
    let crc = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (crc == crc32fast::hash(json)).then_some(json)
}

/// Line of a segment, with its JSON if it is intact.
pub(super) struct SegmentLine<'a> {
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) json: Option<&'a [u8]>,
    pub(super) torn: bool,
}

/// Returns the lines of a segment.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = SegmentLine<'_>> {
    let mut offset = 0;
    bytes.split_inclusive(|byte| *byte == b'\n').map(move |raw| {
        let whole = raw.strip_suffix(b"\n");
        let piece = SegmentLine { offset, length: raw.len(), json: whole.and_then(json), torn: whole.is_none() };
        offset += raw.len();
        piece
    })
}
