//! Reading a chart's folder, as Helm walks it: in the order of names, through symbolic links, past what `.helmignore` names.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::archive::{MAX_FILE_BYTES, MAX_FILES};
use crate::file::File;
use crate::ignore::{self, RuleError, Rules};

/// How many bytes all files of a folder may have. More than an archive's: folders hold what `.helmignore` forgot.
pub const MAX_FOLDER_BYTES: u64 = 512 * 1024 * 1024;
/// How deep folders may lie in each other.
const MAX_DEPTH: usize = 64;
/// How many names may be looked at, ignored ones and folders included: links can lead to the same folder over and over.
const MAX_VISITED: usize = 4 * MAX_FILES;

/// Where symbolic links may lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Only to what is inside the chart's folder: a chart from somebody else must not read this machine's files.
    #[default]
    Inside,
    /// Anywhere, as Helm does.
    Anywhere,
}

/// A folder that cannot be read as a chart.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system refused.
    #[error("error reading {}: {}", path.display(), words(source))]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// `.helmignore` is not understood.
    #[error("{0}")]
    Ignore(#[from] RuleError),
    /// A device, a socket.
    #[error("cannot load irregular file {} as it has file mode type bits set", .0.display())]
    Irregular(PathBuf),
    /// One file is too large.
    #[error("chart file {0:?} is larger than the maximum file size {MAX_FILE_BYTES}")]
    FileTooLarge(String),
    /// All files together are too large or too many.
    #[error("chart folder {} has more than {MAX_FOLDER_BYTES} bytes or {MAX_FILES} files\nhint: name what is no part of the chart in its .helmignore", .0.display())]
    TooLarge(PathBuf),
    /// A link to one of the folders it lies in, or folders without an end.
    #[error("the folders at {} go on without an end: a symbolic link leads back up", .0.display())]
    Endless(PathBuf),
    /// A link that leads out of the chart.
    #[error("the symbolic link {} leads out of the chart, to {}\nhint: copy what it leads to into the chart; helm would follow it, and so does --follow-links", path.display(), target.display())]
    LeadsOut {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A link to nothing.
    #[error("error evaluating symlink {}: {}", path.display(), words(source))]
    Dangling {
        /// The link.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What the system says, without its number.
pub(crate) fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_string(),
        io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        io::ErrorKind::IsADirectory => "is a directory".to_string(),
        _ => error.to_string(),
    }
}

/// The files of a chart's folder.
///
/// # Errors
/// When something cannot or must not be read.
pub fn read_folder(top: &Path, links: Links) -> Result<Vec<File>, FolderError> {
    let unreadable = |source| FolderError::Read { path: top.to_path_buf(), source };
    let top = fs::canonicalize(top).map_err(unreadable)?;
    let mut walk = Walk { top: &top, rules: Rules::default(), links, files: Vec::new(), bytes: 0, visited: 0 };
    let path = top.join(ignore::FILE_NAME);
    if let Some(data) = walk.one(&path, ignore::FILE_NAME)? {
        let text = String::from_utf8(data).map_err(|odd| io::Error::new(io::ErrorKind::InvalidData, odd));
        walk.rules = Rules::read(&text.map_err(|source| FolderError::Read { path, source })?)?;
    }
    walk.rules = std::mem::take(&mut walk.rules).with_defaults();
    walk.folder(&top, "", &mut vec![top.clone()])?;
    Ok(walk.files)
}

/// One file at the top of a chart's folder, by the same rules; none where there is none.
///
/// # Errors
/// When it cannot or must not be read.
pub fn read_file(top: &Path, name: &str, links: Links) -> Result<Option<Vec<u8>>, FolderError> {
    let top = fs::canonicalize(top).map_err(|source| FolderError::Read { path: top.to_path_buf(), source })?;
    let walk = Walk { top: &top, rules: Rules::default(), links, files: Vec::new(), bytes: 0, visited: 0 };
    walk.one(&top.join(name), name)
}

struct Walk<'a> {
    top: &'a Path,
    rules: Rules,
    links: Links,
    files: Vec<File>,
    bytes: u64,
    visited: usize,
}

impl Walk<'_> {
    /// `above` holds the real paths of the folders on the way here.
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
            // What is ignored may lead anywhere: it is not read.
            if self.rules.ignores(name, false) {
                return Ok(());
            }
            real = self.followed(path)?;
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

    fn followed(&self, path: &Path) -> Result<PathBuf, FolderError> {
        let target =
            fs::canonicalize(path).map_err(|source| FolderError::Dangling { path: path.to_path_buf(), source })?;
        if self.links == Links::Inside && !target.starts_with(self.top) {
            return Err(FolderError::LeadsOut { path: path.to_path_buf(), target });
        }
        Ok(target)
    }

    fn file(&mut self, path: &Path, name: &str, size: u64) -> Result<(), FolderError> {
        self.bytes += size;
        if size <= MAX_FILE_BYTES && (self.bytes > MAX_FOLDER_BYTES || self.files.len() >= MAX_FILES) {
            return Err(FolderError::TooLarge(self.top.to_path_buf()));
        }
        self.files.push(File::new(name, &read_bounded(path, name)?));
        Ok(())
    }

    /// A file that is read before all others.
    fn one(&self, path: &Path, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let read = |source| FolderError::Read { path: path.to_path_buf(), source };
        let mut kind = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(read)?,
        };
        if kind.is_symlink() {
            kind = fs::symlink_metadata(self.followed(path)?).map_err(read)?;
        }
        // To read a folder fails with the system's own words.
        if !kind.is_file() && !kind.is_dir() {
            return Err(FolderError::Irregular(path.to_path_buf()));
        }
        read_bounded(path, name).map(Some)
    }
}

/// The bytes of a file, which may grow while it is read.
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
