//! Where data is read from on the command line: a directory, a bundle, or a commit of a repository.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use switchboard_integrations::source::{Bundle, MAX_BUNDLE_BYTES, bundle, directory};

use crate::failure::Failure;

/// The beginning of a commit: `git:main`, `git:main:data`.
const COMMIT: &str = "git:";

/// Reads what a text names.
pub fn read(from: &str) -> Result<Bundle, Failure> {
    if let Some(commit) = from.strip_prefix(COMMIT) {
        let (commit, folder) = commit.split_once(':').unwrap_or((commit, ""));
        return of_commit(commit, folder);
    }
    let path = Path::new(from);
    if path.is_dir() { Ok(directory::read(path)?) } else { Ok(bundle::read(path)?) }
}

/// The files of a commit of the repository this is started in, through `git archive`.
fn of_commit(commit: &str, folder: &str) -> Result<Bundle, Failure> {
    let failed = |why: &str| {
        format!(
            "could not read commit {commit}: {why}\nhint: start in the repository; a commit is `git:REV` or `git:REV:FOLDER`"
        )
    };
    if commit.is_empty() || commit.starts_with('-') {
        return Err(failed("it has no name").into());
    }
    let tree = if folder.is_empty() { commit.to_string() } else { format!("{commit}:{folder}") };
    let mut archive = Command::new("git");
    archive.args(["archive", "--format=tar", &tree]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = archive.spawn().map_err(|error| failed(&error.to_string()))?;
    let mut bytes = Vec::new();
    if let Some(out) = child.stdout.take() {
        out.take(MAX_BUNDLE_BYTES).read_to_end(&mut bytes)?;
    }
    let ended = child.wait_with_output()?;
    if !ended.status.success() {
        return Err(failed(String::from_utf8_lossy(&ended.stderr).trim()).into());
    }
    let mut files = Vec::new();
    for entry in tar::Archive::new(&bytes[..]).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        if entry.header().entry_type().is_file() && directory::is_data(&name) {
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            files.push((name, content));
        }
    }
    // As a directory: the folder `data`, when there is one, is where the data lies.
    if files.iter().any(|(name, _)| name.starts_with("data/")) {
        files = files
            .into_iter()
            .filter_map(|(name, bytes)| Some((name.strip_prefix("data/")?.to_string(), bytes)))
            .collect();
    }
    Ok(directory::of_files(files).of_commit(Some(commit.to_string())))
}
