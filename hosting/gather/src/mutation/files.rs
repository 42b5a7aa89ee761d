//! Mutation directories on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use super::layout::{Layout, MutationFiles, Naming};
use super::{Mutation, MutationDirectory, index, read_files};
use crate::contract::{ContractRules, ControllerResults};
use crate::dump::ReadProblem;
use crate::source::{DumpEntry, SkippedFile, SourceError, walk};

/// Maximum size of a mutation file that is read. An API server accepts at most 3 MiB.
pub const MAX_MUTATION_FILE_BYTES: u64 = 8 << 20;
/// Maximum bytes of an output directory.
pub const MAX_DIRECTORY_BYTES: u64 = 512 << 20;
/// Files that are never read, because an operator's logs can have any length.
const LOGS: [&str; 2] = ["stdout.log", "stderr.log"];

/// Error of writing a file.
#[derive(Debug, thiserror::Error)]
#[error("could not write `{}`", path.display())]
pub struct WriteError {
    /// Path of the file.
    pub path: PathBuf,
    /// Cause.
    #[source]
    pub source: io::Error,
}

/// Returns the path of a directory's index, which is next to the directory.
pub fn index_path(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_os_string();
    name.push(".index.yaml");
    directory.with_file_name(name)
}

/// Reads an output directory and the index next to it. Links and special files are skipped, so the content of a
/// directory cannot make Switchboard read anything else.
///
/// # Errors
/// If the directory itself cannot be read.
pub fn read_directory(path: &Path) -> Result<MutationDirectory, SourceError> {
    let mut files = BTreeMap::new();
    let mut passed = Vec::new();
    let mut left = MAX_DIRECTORY_BYTES;
    let take = |entry: DumpEntry<'_>| {
        if LOGS.contains(&entry.path.as_str()) {
            return Ok(());
        }
        let limit = left.min(MAX_MUTATION_FILE_BYTES);
        if entry.bytes > limit {
            return Err(io::Error::other(format!("file is longer than {limit} bytes")));
        }
        let mut content = Vec::new();
        entry.content.take(limit).read_to_end(&mut content)?;
        left -= content.len() as u64;
        files.insert(entry.path, content);
        Ok(())
    };
    walk(path, take, |SkippedFile { path, why }| {
        passed.push(ReadProblem { file: path, line: None, message: format!("skipped: {why}") });
    })?;
    let index = fs::read_to_string(index_path(path)).ok();
    let mut directory = read_files(&files, index.as_deref());
    directory.problems.extend(passed);
    Ok(directory)
}

/// Writes mutations, results and the index into a directory, which is created if needed. Other files in it stay, as in
/// library-go, so the directory should be empty.
///
/// # Errors
/// If a file cannot be written.
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
    if naming.rules == ContractRules::MultiOperatorManager {
        return Ok(());
    }
    write_file(&index_path(path), order.as_bytes())
}

/// Adds one mutation to a directory and its index.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn append(path: &Path, laid_out: &MutationFiles, rules: ContractRules) -> Result<(), WriteError> {
    write_mutation(path, laid_out)?;
    if rules == ContractRules::MultiOperatorManager {
        return Ok(());
    }
    let index = index_path(path);
    let opened = fs::OpenOptions::new().create(true).append(true).open(&index);
    let written = opened.and_then(|mut file| file.write_all(index::line(&laid_out.body).as_bytes()));
    written.map_err(|source| WriteError { path: index, source })
}

fn write_mutation(path: &Path, laid_out: &MutationFiles) -> Result<(), WriteError> {
    // The body is written last, because a reader ignores a mutation without a body.
    let (bodies, others): (Vec<_>, Vec<_>) = laid_out.files.iter().partition(|(file, _)| *file == laid_out.body);
    others.into_iter().chain(bodies).try_for_each(|(file, content)| write_file(&path.join(file), content))
}

fn write_file(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(path, content)).map_err(|source| WriteError { path: path.into(), source })
}
