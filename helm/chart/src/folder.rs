//! Chart folders, read as by Helm: sorted by name, following symbolic links, without the files that `.helmignore`
//! lists.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use switchboard_object::quote::quote;

use crate::archive::{MAX_FILE_BYTES, MAX_FILES};
use crate::file::ChartFile;
use crate::ignore::{self, IgnoreRuleError, IgnoreRules};

/// Maximum bytes of all files of a folder. It is more than for an archive, because folders contain files that
/// `.helmignore` does not list.
pub const MAX_FOLDER_BYTES: u64 = 512 * 1024 * 1024;
/// Maximum depth of folders.
const MAX_DEPTH: usize = 64;
/// Maximum number of visited names, including ignored ones and folders. Links can lead to the same folder repeatedly.
const MAX_VISITED: usize = 4 * MAX_FILES;

/// Allowed targets of symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SymlinkPolicy {
    /// Only targets inside the chart's folder. A chart from another author must not read other files of this machine.
    #[default]
    Inside,
    /// Any target, as in Helm.
    Anywhere,
}

/// Error of reading a chart folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The operating system returned an error.
    #[error("error reading {}: {}", path.display(), error_text(source))]
    Read {
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// `.helmignore` is invalid.
    #[error("{0}")]
    Ignore(#[from] IgnoreRuleError),
    /// The path is a device or a socket.
    #[error("cannot load irregular file {} as it has file mode type bits set", .0.display())]
    Irregular(PathBuf),
    /// The file is too large.
    #[error("chart file {} is larger than the maximum file size {MAX_FILE_BYTES}", quote(.0))]
    FileTooLarge(String),
    /// All files together are too large or too many.
    #[error("chart folder {} has more than {MAX_FOLDER_BYTES} bytes or {MAX_FILES} files\nhint: list files that are not part of the chart in its .helmignore", .0.display())]
    TooLarge(PathBuf),
    /// A link leads to one of its parent folders, or folders are nested too deeply.
    #[error("folders at {} are endless: a symbolic link leads to a parent folder", .0.display())]
    Endless(PathBuf),
    /// A link leads out of the chart.
    #[error("symbolic link {} leads out of the chart, to {}\nhint: copy its target into the chart, or follow links like helm with --follow-links", path.display(), target.display())]
    LeadsOut {
        /// Path of the link.
        path: PathBuf,
        /// Target of the link.
        target: PathBuf,
    },
    /// The target of a link does not exist.
    #[error("error evaluating symlink {}: {}", path.display(), error_text(source))]
    Dangling {
        /// Path of the link.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

/// Returns the operating system's error text, without its number.
pub(crate) fn error_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_string(),
        io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        io::ErrorKind::IsADirectory => "is a directory".to_string(),
        _ => error.to_string(),
    }
}

/// Reads the files of a chart's folder.
///
/// # Errors
/// If a file cannot or must not be read.
pub fn read_folder(top: &Path, links: SymlinkPolicy) -> Result<Vec<ChartFile>, FolderError> {
    let unreadable = |source| FolderError::Read { path: top.to_path_buf(), source };
    let top = fs::canonicalize(top).map_err(unreadable)?;
    let mut walk =
        FolderWalk { top: &top, rules: IgnoreRules::default(), links, files: Vec::new(), bytes: 0, visited: 0 };
    let path = top.join(ignore::FILE_NAME);
    if let Some(data) = walk.read_top_file(&path, ignore::FILE_NAME)? {
        let text = String::from_utf8(data).map_err(|odd| io::Error::new(io::ErrorKind::InvalidData, odd));
        walk.rules = IgnoreRules::read(&text.map_err(|source| FolderError::Read { path, source })?)?;
    }
    walk.rules = std::mem::take(&mut walk.rules).with_defaults();
    walk.folder(&top, "", &mut vec![top.clone()])?;
    Ok(walk.files)
}

/// Reads one file at the root of a chart's folder by the same rules. Returns `None` if the file does not exist.
///
/// # Errors
/// If the file cannot or must not be read.
pub fn read_file(top: &Path, name: &str, links: SymlinkPolicy) -> Result<Option<Vec<u8>>, FolderError> {
    let top = fs::canonicalize(top).map_err(|source| FolderError::Read { path: top.to_path_buf(), source })?;
    let walk = FolderWalk { top: &top, rules: IgnoreRules::default(), links, files: Vec::new(), bytes: 0, visited: 0 };
    walk.read_top_file(&top.join(name), name)
}

struct FolderWalk<'a> {
    top: &'a Path,
    rules: IgnoreRules,
    links: SymlinkPolicy,
    files: Vec<ChartFile>,
    bytes: u64,
    visited: usize,
}

impl FolderWalk<'_> {
    /// Reads a folder. `above` contains the real paths of its parent folders.
    fn folder(&mut self, folder: &Path, prefix: &str, above: &mut Vec<PathBuf>) -> Result<(), FolderError> {
        if above.len() > MAX_DEPTH {
            return Err(FolderError::Endless(folder.to_path_buf()));
        }
        let unreadable = |source| FolderError::Read { path: folder.to_path_buf(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            names.push(entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned());
            if names.len() > MAX_FILES {
                return Err(FolderError::TooLarge(self.top.to_path_buf()));
            }
        }
        names.sort();
        for name in names {
            self.entry(&folder.join(&name), &format!("{prefix}{name}"), above)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: &str, above: &mut Vec<PathBuf>) -> Result<(), FolderError> {
        self.visited += 1;
        if self.visited > MAX_VISITED {
            return Err(FolderError::TooLarge(self.top.to_path_buf()));
        }
        let read = |source| FolderError::Read { path: path.to_path_buf(), source };
        let mut kind = fs::symlink_metadata(path).map_err(read)?;
        let mut real = path.to_path_buf();
        if kind.is_symlink() {
            // An ignored link may lead anywhere, because it is not read.
            if self.rules.ignores(name, false) {
                return Ok(());
            }
            real = self.follow_link(path)?;
            kind = fs::symlink_metadata(&real).map_err(read)?;
        }
        if self.rules.ignores(name, kind.is_dir()) {
            return Ok(());
        }
        if kind.is_dir() {
            let real = fs::canonicalize(&real).map_err(read)?;
            if above.contains(&real) {
                return Err(FolderError::Endless(path.to_path_buf()));
            }
            above.push(real);
            self.folder(path, &format!("{name}/"), above)?;
            above.pop();
            return Ok(());
        }
        if !kind.is_file() {
            return Err(FolderError::Irregular(path.to_path_buf()));
        }
        self.file(path, name, kind.len())
    }

    fn follow_link(&self, path: &Path) -> Result<PathBuf, FolderError> {
        let target =
            fs::canonicalize(path).map_err(|source| FolderError::Dangling { path: path.to_path_buf(), source })?;
        if self.links == SymlinkPolicy::Inside && !target.starts_with(self.top) {
            return Err(FolderError::LeadsOut { path: path.to_path_buf(), target });
        }
        Ok(target)
    }

    fn file(&mut self, path: &Path, name: &str, size: u64) -> Result<(), FolderError> {
        self.bytes += size;
        if size <= MAX_FILE_BYTES && (self.bytes > MAX_FOLDER_BYTES || self.files.len() >= MAX_FILES) {
            return Err(FolderError::TooLarge(self.top.to_path_buf()));
        }
        self.files.push(ChartFile::new(name, &read_bounded(path, name)?));
        Ok(())
    }

    /// Reads a file that is needed before all others.
    fn read_top_file(&self, path: &Path, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let read = |source| FolderError::Read { path: path.to_path_buf(), source };
        let mut kind = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(read)?,
        };
        if kind.is_symlink() {
            kind = fs::symlink_metadata(self.follow_link(path)?).map_err(read)?;
        }
        // Reading a folder fails with the operating system's own text.
        if !kind.is_file() && !kind.is_dir() {
            return Err(FolderError::Irregular(path.to_path_buf()));
        }
        read_bounded(path, name).map(Some)
    }
}

/// Reads a file, which may grow while it is read.
fn read_bounded(path: &Path, name: &str) -> Result<Vec<u8>, FolderError> {
    let read = |source| FolderError::Read { path: path.to_path_buf(), source };
    let mut data = Vec::new();
    fs::File::open(path).map_err(read)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut data).map_err(read)?;
    if data.len() as u64 > MAX_FILE_BYTES {
        let base = name.rsplit('/').next().unwrap_or(name);
        return Err(FolderError::FileTooLarge(base.to_string()));
    }
    Ok(data)
}

#[cfg(test)]
mod tests;
