//! Where a dump's files come from: a directory, or a tar archive, gzipped or not.
//!
//! Archives are read as a stream and never unpacked to disk, so a hostile name cannot leave anything anywhere.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;

/// Most files one dump may have.
pub(crate) const MAX_FILES: usize = 2_000_000;
/// Most bytes all read files of one dump may have together, uncompressed.
pub(crate) const MAX_DUMP_BYTES: u64 = 16 << 30;
/// Deepest folder that is walked into.
const MAX_FOLDER_DEPTH: usize = 64;

/// A dump that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The path cannot be opened.
    #[error("could not open the dump `{}`", path.display())]
    Open {
        /// The path as given.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A folder cannot be listed.
    #[error("could not list the folder `{}`", path.display())]
    List {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The archive is damaged, or is none.
    #[error("could not read the archive `{}` behind entry {entry}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// How many entries were read before.
        entry: usize,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is more than we are willing to read.
    #[error("the dump `{}` has more than {limit}", path.display())]
    TooLarge {
        /// The dump.
        path: PathBuf,
        /// What it has more than.
        limit: String,
    },
}

/// One file of a dump: its path inside, how long it is, and its content when read.
pub(crate) struct Entry<'a> {
    pub path: String,
    pub bytes: u64,
    pub content: &'a mut dyn Read,
}

/// What became of one file.
pub(crate) enum Passed {
    /// Not a regular file, or one whose name points outside.
    Refused { path: String, why: &'static str },
}

/// Calls `file` for every regular file, in a stable order for directories; `refused` for what is passed over.
pub(crate) fn walk(
    path: &Path,
    mut file: impl FnMut(Entry<'_>) -> io::Result<()>,
    mut refused: impl FnMut(Passed),
) -> Result<(), SourceError> {
    let metadata = fs::metadata(path).map_err(|source| SourceError::Open { path: path.into(), source })?;
    if metadata.is_dir() { directory(path, &mut file, &mut refused) } else { archive(path, &mut file, &mut refused) }
}

fn directory(
    root: &Path,
    file: &mut impl FnMut(Entry<'_>) -> io::Result<()>,
    refused: &mut impl FnMut(Passed),
) -> Result<(), SourceError> {
    let mut waiting = vec![(root.to_path_buf(), 0)];
    let (mut files, mut bytes) = (0, 0);
    while let Some((folder, depth)) = waiting.pop() {
        let mut entries: Vec<_> = fs::read_dir(&folder)
            .and_then(|entries| entries.collect::<io::Result<Vec<_>>>())
            .map_err(|source| SourceError::List { path: folder.clone(), source })?;
        // Folders are taken from the end of the list, so the last one comes first.
        entries.sort_by_key(|e| std::cmp::Reverse(e.file_name()));
        for entry in entries {
            let path = entry.path();
            let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            let kind = entry.file_type().map_err(|source| SourceError::List { path: path.clone(), source })?;
            if kind.is_dir() && depth < MAX_FOLDER_DEPTH {
                waiting.push((path, depth + 1));
            } else if kind.is_file() {
                let mut content =
                    File::open(&path).map_err(|source| SourceError::Open { path: path.clone(), source })?;
                let length = content.metadata().map_or(0, |m| m.len());
                bounded(root, &mut files, &mut bytes, length)?;
                let entry = Entry { path: shown, bytes: length, content: &mut content };
                file(entry).map_err(|source| SourceError::Open { path: path.clone(), source })?;
            } else {
                let why = if kind.is_dir() { "the folder is too deep" } else { "it is not a regular file" };
                refused(Passed::Refused { path: shown, why });
            }
        }
    }
    Ok(())
}

fn archive(
    path: &Path,
    file: &mut impl FnMut(Entry<'_>) -> io::Result<()>,
    refused: &mut impl FnMut(Passed),
) -> Result<(), SourceError> {
    let broken = |entry: usize| move |source| SourceError::Archive { path: path.into(), entry, source };
    let mut raw = File::open(path).map_err(|source| SourceError::Open { path: path.into(), source })?;
    let mut magic = [0; 2];
    let gzipped = raw.read_exact(&mut magic).is_ok() && magic == [0x1f, 0x8b];
    let raw = File::open(path).map_err(|source| SourceError::Open { path: path.into(), source })?;
    let raw = BufReader::with_capacity(1 << 16, raw);
    let content: Box<dyn Read> = if gzipped { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) };
    // What is passed over is decompressed too, so the bound stands under the tar reader.
    let mut archive = tar::Archive::new(content.take(MAX_DUMP_BYTES));
    let (mut files, mut bytes) = (0, 0);
    for (number, entry) in archive.entries().map_err(broken(0))?.enumerate() {
        let mut entry = entry.map_err(broken(number))?;
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        let shown = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !kind.is_file() {
            refused(Passed::Refused { path: shown, why: "it is not a regular file" });
            continue;
        }
        if !stays_inside(Path::new(&shown)) {
            refused(Passed::Refused { path: shown, why: "its name points outside the archive" });
            continue;
        }
        let length = entry.size();
        bounded(path, &mut files, &mut bytes, length)?;
        let path = shown.trim_start_matches("./").to_string();
        file(Entry { path, bytes: length, content: &mut entry }).map_err(broken(number))?;
    }
    Ok(())
}

fn stays_inside(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn bounded(path: &Path, files: &mut usize, bytes: &mut u64, length: u64) -> Result<(), SourceError> {
    *files += 1;
    *bytes = bytes.saturating_add(length);
    let limit = match () {
        () if *files > MAX_FILES => format!("{MAX_FILES} files"),
        () if *bytes > MAX_DUMP_BYTES => format!("{} GiB", MAX_DUMP_BYTES >> 30),
        () => return Ok(()),
    };
    Err(SourceError::TooLarge { path: path.into(), limit })
}
