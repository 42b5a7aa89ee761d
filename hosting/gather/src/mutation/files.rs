//! Mutation directories on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use super::layout::{LaidOut, Layout, Naming};
use super::{Directory, Mutation, index, read_files};
use crate::contract::{ControllerResults, Rules};
use crate::dump::Problem;
use crate::source::{Entry, Passed, SourceError, walk};

/// The longest file of a mutation that is read; an API server takes no more than 3 MiB.
pub const MAX_MUTATION_FILE_BYTES: u64 = 8 << 20;
/// Most bytes of one output directory.
pub const MAX_DIRECTORY_BYTES: u64 = 512 << 20;
/// Files that are never read: they are as long as an operator talks.
const LOGS: [&str; 2] = ["stdout.log", "stderr.log"];

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("could not write `{}`", path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Where the order of a directory is kept: beside it.
pub fn index_path(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_os_string();
    name.push(".index.yaml");
    directory.with_file_name(name)
}

/// Reads an output directory and the index beside it. Links and whatever is no regular file are passed over, so a directory
/// that somebody else filled cannot make us read anything else.
///
/// # Errors
/// When the directory itself cannot be read.
pub fn read_directory(path: &Path) -> Result<Directory, SourceError> {
    let mut files = BTreeMap::new();
    let mut passed = Vec::new();
    let mut left = MAX_DIRECTORY_BYTES;
    let take = |entry: Entry<'_>| {
        if LOGS.contains(&entry.path.as_str()) {
            return Ok(());
        }
        let limit = left.min(MAX_MUTATION_FILE_BYTES);
        if entry.bytes > limit {
            return Err(io::Error::other(format!("it is longer than {limit} bytes")));
        }
        let mut content = Vec::new();
        entry.content.take(limit).read_to_end(&mut content)?;
        left -= content.len() as u64;
        files.insert(entry.path, content);
        Ok(())
    };
    walk(path, take, |Passed { path, why }| {
        passed.push(Problem { file: path, line: None, message: format!("passed over: {why}") });
    })?;
    let index = fs::read_to_string(index_path(path)).ok();
    let mut directory = read_files(&files, index.as_deref());
    directory.problems.extend(passed);
    Ok(directory)
}

/// Writes mutations, results and the index into a directory, which is made when there is none. What else stands in it stays, as
/// in the original: give a fresh one.
///
/// # Errors
/// When a file cannot be written.
pub fn write_directory(
    path: &Path,
    mutations: &[Mutation],
    results: Option<&ControllerResults>,
    naming: Naming,
) -> Result<(), WriteError> {
    fs::create_dir_all(path).map_err(|source| WriteError { path: path.into(), source })?;
    let mut layout = Layout::new(naming);
    let mut order = String::new();
    for mutation in mutations {
        let laid_out = layout.add(mutation);
        write_mutation(path, &laid_out)?;
        order.push_str(&index::line(&laid_out.body));
    }
    if let Some(results) = results {
        write_file(&path.join("controller-results.yaml"), results.to_yaml().as_bytes())?;
    }
    if naming.rules == Rules::Original {
        return Ok(());
    }
    write_file(&index_path(path), order.as_bytes())
}

/// Adds one mutation to a directory and its index.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn append(path: &Path, laid_out: &LaidOut, rules: Rules) -> Result<(), WriteError> {
    write_mutation(path, laid_out)?;
    if rules == Rules::Original {
        return Ok(());
    }
    let index = index_path(path);
    let opened = fs::OpenOptions::new().create(true).append(true).open(&index);
    let written = opened.and_then(|mut file| file.write_all(index::line(&laid_out.body).as_bytes()));
    written.map_err(|source| WriteError { path: index, source })
}

fn write_mutation(path: &Path, laid_out: &LaidOut) -> Result<(), WriteError> {
    // The body comes last: a reader takes no mutation without one.
    let (bodies, others): (Vec<_>, Vec<_>) = laid_out.files.iter().partition(|(file, _)| *file == laid_out.body);
    others.into_iter().chain(bodies).try_for_each(|(file, content)| write_file(&path.join(file), content))
}

fn write_file(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(path, content)).map_err(|source| WriteError { path: path.into(), source })
}
