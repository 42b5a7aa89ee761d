//! Directory of a journal.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ring::rand::SecureRandom;

use super::index::JournalIndex;
use super::record::{FORMAT, JournalRecord};
use super::segment::{Segment, SegmentStore};
use super::{Damage, JournalError, line};

pub(super) const KEY_BYTES: usize = 32;
pub(super) type KeyBytes = [u8; KEY_BYTES];

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Locked directory that only this process writes to.
pub(super) struct JournalDirectory {
    dir: PathBuf,
    _lock: File,
}

impl JournalDirectory {
    pub(super) fn lock(dir: &Path) -> Result<Self, JournalError> {
        let failed = |operation| file_error(operation, dir);
        DirBuilder::new().recursive(true).mode(DIR_MODE).create(dir).map_err(failed("create the directory"))?;
        fs::set_permissions(dir, fs::Permissions::from_mode(DIR_MODE))
            .map_err(failed("restrict the permissions of"))?;
        let path = dir.join("lock");
        let lock = options().write(true).create(true).truncate(false).open(&path).map_err(file_error("open", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { dir: dir.to_path_buf(), _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(JournalError::Busy(dir.to_path_buf())),
            Err(fs::TryLockError::Error(source)) => Err(file_error("lock", &path)(source)),
        }
    }

    /// Creates a segment.
    pub(super) fn begin(&self, number: u64) -> Result<SegmentStore, JournalError> {
        let path = self.dir.join(format!("{number:08}.seg"));
        let opened = options().read(true).write(true).create(true).truncate(true).open(&path);
        Ok(SegmentStore::File { file: opened.map_err(file_error("create", &path))?, path })
    }

    /// Syncs the directory entries to the disk.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(file_error("sync", &self.dir))
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

fn file_error(operation: &'static str, path: &Path) -> impl Fn(std::io::Error) -> JournalError + use<> {
    let path = path.to_path_buf();
    move |source| JournalError::File { operation, path: path.clone(), source }
}

/// Reads or creates the key of a journal. Without a key file, and with `make` unset, returns zeros: no digest was
/// written yet.
pub(super) fn key(dir: &Path, make: bool) -> Result<KeyBytes, JournalError> {
    let path = dir.join("key");
    match fs::read(&path) {
        Ok(bytes) => bytes.try_into().map_err(|_| JournalError::Key(path)),
        Err(error) if error.kind() == ErrorKind::NotFound && !make => Ok([0; KEY_BYTES]),
        Err(error) if error.kind() == ErrorKind::NotFound => make_key(&path),
        Err(source) => Err(file_error("read", &path)(source)),
    }
}

fn make_key(path: &Path) -> Result<KeyBytes, JournalError> {
    let mut key = [0; KEY_BYTES];
    let filled = ring::rand::SystemRandom::new().fill(&mut key);
    filled.map_err(|_| file_error("generate a key for", path)(std::io::Error::other("no randomness available")))?;
    // Written to a temporary file first: a partial key would make the journal unusable.
    let aside = path.with_extension("new");
    let written = options().write(true).create(true).truncate(true).open(&aside).and_then(|mut file| {
        file.write_all(&key)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&aside, path)).map_err(file_error("write", path))?;
    Ok(key)
}

/// Reads all segments; with `write`, truncates a torn line at the end, so that lines can be appended.
pub(super) fn load(dir: &Path, index: &mut JournalIndex, write: bool) -> Result<(), JournalError> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir).map_err(file_error("read", dir))? {
        let path = entry.map_err(file_error("read", dir))?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok());
        if let Some(number) = stem.filter(|_| path.extension().is_some_and(|e| e == "seg")) {
            numbers.push((number, path));
        }
    }
    numbers.sort();
    for (number, path) in numbers {
        let opened = options().read(true).write(write).open(&path);
        match opened {
            Ok(file) => load_segment(number, path, file, index)?,
            // The writer has removed it since.
            Err(error) if error.kind() == ErrorKind::NotFound && !write => {}
            Err(source) => return Err(file_error("open", &path)(source)),
        }
    }
    index.finish_load();
    index.segments.back().filter(|_| write).map_or(Ok(()), Segment::truncate)
}

fn load_segment(number: u64, path: PathBuf, mut file: File, index: &mut JournalIndex) -> Result<(), JournalError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(file_error("read", &path))?;
    if let Some(before) = index.segments.back_mut() {
        before.written_objects.clear();
    }
    index.segments.push_back(Segment::new(number, SegmentStore::File { file, path: path.clone() }));
    for piece in line::lines(&bytes) {
        let record = piece.json.and_then(|json| serde_json::from_slice::<JournalRecord>(json).ok());
        if let Some(found) = piece.json.and_then(other_format) {
            return Err(JournalError::Format { path, found });
        }
        let (offset, length) = (piece.offset as u64, piece.length);
        if let Some(record) = &record {
            index.add_record(record, offset, length);
        } else {
            index.damage.push(Damage { segment: number, offset, bytes: length as u64, torn: piece.torn });
        }
        if let Some(segment) = index.segments.back_mut().filter(|_| !piece.torn) {
            // A torn line is not counted, so the next line replaces it.
            segment.bytes = offset + length as u64;
        }
    }
    Ok(())
}

/// Returns the format of a segment head if another version wrote it.
fn other_format(json: &[u8]) -> Option<u32> {
    if !json.starts_with(b"{\"head\"") {
        return None;
    }
    let head: serde_json::Value = serde_json::from_slice(json).ok()?;
    let format = u32::try_from(head.pointer("/head/format")?.as_u64()?).ok()?;
    (format != FORMAT).then_some(format)
}
