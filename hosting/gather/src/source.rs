//! Sources of a dump's files: a directory, or a tar archive, gzipped or not.
//!
//! Archives are read as a stream and never unpacked to disk, so a hostile name cannot create a file.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;

/// Maximum number of files in a dump.
pub(crate) const MAX_FILES: usize = 2_000_000;
/// Maximum bytes of all files read from a dump, uncompressed.
pub(crate) const MAX_DUMP_BYTES: u64 = 16 << 30;
/// Maximum bytes of an archive before an entry: its header, long name and extended attributes. The tar reader loads all
/// of them into memory.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Alignment of the files in an archive.
const BLOCK_BYTES: u64 = 512;
/// Maximum depth of folders.
const MAX_FOLDER_DEPTH: usize = 64;

/// Error of reading a dump.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The path cannot be opened.
    #[error("could not open dump `{}`", path.display())]
    Open {
        /// Path as given.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A folder cannot be listed.
    #[error("could not list folder `{}`", path.display())]
    List {
        /// Path of the folder.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The file is damaged or not an archive.
    #[error("could not read archive `{}` after entry {entry}", path.display())]
    Archive {
        /// Path of the archive.
        path: PathBuf,
        /// Number of entries read before the error.
        entry: usize,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The dump exceeds a limit.
    #[error("dump `{}` has more than {limit}", path.display())]
    TooLarge {
        /// Path of the dump.
        path: PathBuf,
        /// Exceeded limit.
        limit: String,
    },
}

/// A file of a dump: its path in the dump, its length, and its content as a reader.
pub(crate) struct DumpEntry<'a> {
    pub path: String,
    pub bytes: u64,
    pub content: &'a mut dyn Read,
}

/// A skipped file, such as a special file or one whose name leads out of the dump.
pub(crate) struct SkippedFile {
    pub path: String,
    pub why: String,
}

impl SkippedFile {
    fn too_large(path: impl Into<String>, why: impl ToString) -> Self {
        Self { path: path.into(), why: why.to_string() }
    }
}

/// Calls `file` for every regular file, in a stable order for directories, and `refused` for skipped files.
pub(crate) fn walk(
    path: &Path,
    mut file: impl FnMut(DumpEntry<'_>) -> io::Result<()>,
    mut refused: impl FnMut(SkippedFile),
) -> Result<(), SourceError> {
    let metadata = fs::metadata(path).map_err(|source| SourceError::Open { path: path.into(), source })?;
    if metadata.is_dir() { directory(path, &mut file, &mut refused) } else { archive(path, &mut file, &mut refused) }
}

fn directory(
    root: &Path,
    file: &mut impl FnMut(DumpEntry<'_>) -> io::Result<()>,
    refused: &mut impl FnMut(SkippedFile),
) -> Result<(), SourceError> {
    let mut waiting = vec![(root.to_path_buf(), 0)];
    let (mut files, mut bytes) = (0, 0);
    while let Some((folder, depth)) = waiting.pop() {
        let listed = fs::read_dir(&folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
        let mut entries = match listed {
            Ok(entries) => entries,
            Err(source) if folder == root => return Err(SourceError::List { path: folder, source }),
            Err(error) => {
                refused(SkippedFile::too_large(
                    relative_path(root, &folder),
                    format_args!("could not list folder: {error}"),
                ));
                continue;
            }
        };
        // Folders are taken from the end of the list, so the last one comes first.
        entries.sort_by_key(|e| std::cmp::Reverse(e.file_name()));
        for entry in entries {
            let path = entry.path();
            let shown = relative_path(root, &path);
            let kind = entry.file_type();
            let is_dir = kind.as_ref().is_ok_and(fs::FileType::is_dir);
            if is_dir && depth < MAX_FOLDER_DEPTH {
                waiting.push((path, depth + 1));
            } else if is_dir {
                refused(SkippedFile::too_large(shown, "folder is nested too deeply"));
            } else if !kind.is_ok_and(|kind| kind.is_file()) {
                refused(SkippedFile::too_large(shown, "not a regular file"));
            } else if let Err(error) = open_file(root, &path, &shown, (&mut files, &mut bytes), file)? {
                refused(SkippedFile::too_large(shown, error));
            }
        }
    }
    Ok(())
}

/// Passes one file to `file`. The outer error stops reading, the inner one only affects this file.
fn open_file(
    root: &Path,
    path: &Path,
    shown: &str,
    (files, bytes): (&mut usize, &mut u64),
    file: &mut impl FnMut(DumpEntry<'_>) -> io::Result<()>,
) -> Result<io::Result<()>, SourceError> {
    let mut content = match File::open(path) {
        Ok(content) => content,
        Err(error) => return Ok(Err(error)),
    };
    let length = content.metadata().map_or(0, |m| m.len());
    check_bounds(root, files, bytes, length)?;
    Ok(file(DumpEntry { path: shown.into(), bytes: length, content: &mut content }))
}

/// Returns a path relative to the dump.
fn relative_path(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn archive(
    path: &Path,
    file: &mut impl FnMut(DumpEntry<'_>) -> io::Result<()>,
    refused: &mut impl FnMut(SkippedFile),
) -> Result<(), SourceError> {
    let broken = |entry: usize| move |source| SourceError::Archive { path: path.into(), entry, source };
    let mut raw = File::open(path).map_err(|source| SourceError::Open { path: path.into(), source })?;
    let mut magic = [0; 2];
    let gzipped = raw.read_exact(&mut magic).is_ok() && magic == [0x1f, 0x8b];
    let raw = File::open(path).map_err(|source| SourceError::Open { path: path.into(), source })?;
    let raw = BufReader::with_capacity(1 << 16, raw);
    let content: Box<dyn Read> = if gzipped { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) };
    // Skipped files are decompressed as well, so the limit applies below the tar reader.
    let allowance = Cell::new(MAX_HEADER_BYTES);
    let mut archive = tar::Archive::new(LimitedReader { content: content.take(MAX_DUMP_BYTES), left: &allowance });
    let (mut files, mut bytes) = (0, 0);
    for (number, entry) in archive.entries().map_err(broken(0))?.enumerate() {
        let mut entry = entry.map_err(broken(number))?;
        let length = entry.size();
        // The rest of an entry is skipped on the way to the next one.
        let stored = length.max(entry.header().entry_size().unwrap_or_default());
        allowance.set(stored.saturating_add(BLOCK_BYTES + MAX_HEADER_BYTES));
        let kind = entry.header().entry_type();
        // Every entry counts, because skipped ones use memory as well.
        check_bounds(path, &mut files, &mut bytes, if kind.is_file() { length } else { 0 })?;
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        let shown = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !kind.is_file() {
            refused(SkippedFile::too_large(shown, "not a regular file"));
            continue;
        }
        if !stays_inside(Path::new(&shown)) {
            refused(SkippedFile::too_large(shown, "name points outside the archive"));
            continue;
        }
        let shown = shown.trim_start_matches("./");
        let mut content = EntryReader { content: &mut entry, left: length };
        let read = file(DumpEntry { path: shown.into(), bytes: length, content: &mut content });
        if let Err(source) = read {
            refused(SkippedFile::too_large(shown, format_args!("archive ends inside this file: {source}")));
            return Err(broken(number)(source));
        }
    }
    Ok(())
}

/// An archive of which only a limited number of bytes can be read before the next check.
struct LimitedReader<'a, R> {
    content: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for LimitedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left.get()).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 && !buffer.is_empty() {
            let text = format!("data before an entry is longer than {} MiB", MAX_HEADER_BYTES >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let count = self.content.read(&mut buffer[..most])?;
        self.left.set(self.left.get() - count as u64);
        Ok(count)
    }
}

/// A file of an archive. The tar reader treats the end of the archive as the end of the file; this reader reports an
/// incomplete file as an error.
struct EntryReader<'a> {
    content: &'a mut dyn Read,
    left: u64,
}

impl Read for EntryReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(count)
    }
}

fn stays_inside(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn check_bounds(path: &Path, files: &mut usize, bytes: &mut u64, length: u64) -> Result<(), SourceError> {
    *files += 1;
    *bytes = bytes.saturating_add(length);
    let limit = match () {
        () if *files > MAX_FILES => format!("{MAX_FILES} files"),
        () if *bytes > MAX_DUMP_BYTES => format!("{} GiB", MAX_DUMP_BYTES >> 30),
        () => return Ok(()),
    };
    Err(SourceError::TooLarge { path: path.into(), limit })
}
