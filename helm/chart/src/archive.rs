//! Chart archives: gzipped tar files whose first folder is the chart.

use std::io::{ErrorKind, Read};

use flate2::read::GzDecoder;
use switchboard_object::quote::quote;

use crate::file::ChartFile;

/// Maximum bytes of all files of a chart, including those of nested archives.
pub const MAX_CHART_BYTES: u64 = 100 * 1024 * 1024;
/// Maximum bytes of one file.
pub const MAX_FILE_BYTES: u64 = 5 * 1024 * 1024;
/// Maximum number of files in a chart. Empty files use memory as well.
pub const MAX_FILES: usize = 50_000;

/// Offset of the entry type in a tar header.
const TYPE_BYTE: usize = 156;

/// Error of reading an archive that is not a chart or exceeds a limit. The texts are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The data is not a gzip stream or not a tar file, or it ends early.
    #[error("{0}")]
    Damaged(String),
    /// A name starts at the root.
    #[error("chart illegally contains absolute paths")]
    AbsolutePath,
    /// A name has no folder.
    #[error("chart illegally contains content outside the base directory: {}", quote(.0))]
    OutsideBase(String),
    /// A name leads out of the chart.
    #[error("chart illegally references parent directory")]
    ParentDirectory,
    /// A name starts with a Windows drive.
    #[error("chart contains illegally named files")]
    DriveName,
    /// `Chart.yaml` is at the top, without a folder.
    #[error("chart yaml not in base directory")]
    NoBase,
    /// All files together are too large.
    #[error("decompressed chart is larger than the maximum size {MAX_CHART_BYTES}")]
    TooLarge,
    /// A file is too large.
    #[error("decompressed chart file {} is larger than the maximum file size {MAX_FILE_BYTES}", quote(.0))]
    FileTooLarge(String),
    /// The archive has more files than a chart may have.
    #[error("chart archive has more than {MAX_FILES} files")]
    TooManyFiles,
    /// An entry is a symbolic or hard link or a device.
    #[error("chart archive contains {}, which is a link or device, not a file", quote(.0))]
    NotAFile(String),
    /// The archive has no files.
    #[error("no files in chart archive")]
    Empty,
}

/// Remaining limits for reading. A chart and all nested archives share one budget.
#[derive(Debug)]
pub struct ArchiveBudget {
    bytes: u64,
    files: usize,
    /// Headers and padding count as well, because an archive of a million folders is also a decompression bomb.
    unpacked: u64,
}

impl Default for ArchiveBudget {
    fn default() -> Self {
        let unpacked = MAX_CHART_BYTES + (MAX_FILES as u64) * 2048;
        Self { bytes: MAX_CHART_BYTES, files: MAX_FILES, unpacked }
    }
}

/// Reads the files of an archive, in its order.
///
/// # Errors
/// If the data is not an archive, a name leads out of the chart, or a limit is exceeded.
pub fn read_archive(bytes: &[u8], budget: &mut ArchiveBudget) -> Result<Vec<ChartFile>, ArchiveError> {
    if bytes.len() < 3 || bytes[..2] != [0x1f, 0x8b] {
        return Err(ArchiveError::Damaged("gzip: invalid header".to_string()));
    }
    let mut archive = tar::Archive::new(GzDecoder::new(bytes).take(budget.unpacked));
    let files = entries(&mut archive, budget);
    budget.unpacked = archive.into_inner().limit();
    if budget.unpacked == 0 { Err(ArchiveError::TooLarge) } else { files }
}

fn entries(archive: &mut tar::Archive<impl Read>, budget: &mut ArchiveBudget) -> Result<Vec<ChartFile>, ArchiveError> {
    let mut files = Vec::new();
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        let raw = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // Only in old archives, the name alone shows that an entry is a folder.
        let old = entry.header().as_bytes()[TYPE_BYTE] == 0;
        let folder = kind.is_dir() || old && raw.ends_with('/');
        if folder || kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
            continue;
        }
        if !kind.is_file() && !kind.is_contiguous() {
            return Err(ArchiveError::NotAFile(raw));
        }
        let name = inside(&raw)?;
        let size = entry.size();
        if size > budget.bytes {
            return Err(ArchiveError::TooLarge);
        }
        if size > MAX_FILE_BYTES {
            return Err(ArchiveError::FileTooLarge(raw));
        }
        budget.files = budget.files.checked_sub(1).ok_or(ArchiveError::TooManyFiles)?;
        let mut data = Vec::with_capacity(size as usize);
        let read = entry.read_to_end(&mut data).map_err(damaged)? as u64;
        if read < size {
            return Err(ArchiveError::Damaged("unexpected EOF".to_string()));
        }
        budget.bytes -= read;
        files.push(ChartFile::new(name, &data));
    }
    if files.is_empty() { Err(ArchiveError::Empty) } else { Ok(files) }
}

fn damaged(error: std::io::Error) -> ArchiveError {
    match error.kind() {
        ErrorKind::UnexpectedEof => ArchiveError::Damaged("unexpected EOF".to_string()),
        _ => ArchiveError::Damaged(error.to_string()),
    }
}

/// Returns the name without the chart's own folder. Rejects names that lead anywhere else.
fn inside(raw: &str) -> Result<String, ArchiveError> {
    let delimiter = if raw.contains('\\') { '\\' } else { '/' };
    let (base, rest) = raw.split_once(delimiter).unwrap_or((raw, ""));
    let rest = rest.replace(delimiter, "/");
    if rest.starts_with('/') {
        return Err(ArchiveError::AbsolutePath);
    }
    let name = clean(&rest);
    if name == "." {
        return Err(ArchiveError::OutsideBase(raw.to_string()));
    }
    if name.starts_with("..") {
        return Err(ArchiveError::ParentDirectory);
    }
    let bytes = name.as_bytes();
    if bytes.len() >= 3 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'/' {
        return Err(ArchiveError::DriveName);
    }
    if base == "Chart.yaml" {
        return Err(ArchiveError::NoBase);
    }
    Ok(name)
}

/// Returns the shortest equivalent path, like Go's `path.Clean`.
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_string(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests;
