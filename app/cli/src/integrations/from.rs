//! Where data is read from on the command line: a directory, a bundle, a server, or a commit of a repository.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use switchboard_integrations::source::graphql::network::Http;
use switchboard_integrations::source::graphql::{Secret, Server};
use switchboard_integrations::source::{Bundle, MAX_BUNDLE_BYTES, bundle, directory};

use crate::failure::Failure;

/// The beginning of a commit: `git:main`, `git:main:data`.
const COMMIT: &str = "git:";

/// The variable with what a server wants as `Authorization`: on a command line everybody could read it.
const AUTHORIZATION: &str = "QONTRACT_AUTHORIZATION";
/// The integration as which a server is asked: it reads the schemas its own file lists.
const READER: &str = "integrations-manager";

/// Reads what a text names.
pub fn read(from: &str) -> Result<Bundle, Failure> {
    if let Some(commit) = from.strip_prefix(COMMIT) {
        let (commit, folder) = commit.split_once(':').unwrap_or((commit, ""));
        return of_commit(commit, folder);
    }
    if from.starts_with("http://") || from.starts_with("https://") {
        let secret = std::env::var(AUTHORIZATION).ok().filter(|secret| !secret.is_empty());
        return Ok(server(from, secret)?.fetch(&Http::default())?);
    }
    let path = Path::new(from);
    if path.is_dir() { Ok(directory::read(path)?) } else { Ok(bundle::read(path)?) }
}

/// A server at an address, with what it wants as `Authorization`.
fn server(address: &str, secret: Option<String>) -> Result<Server, Failure> {
    Ok(Server::new(address)?.authorized(secret.map(Secret::new)).reading_as(READER))
}

/// The bundle a server is at, unless it is the one of this sha.
pub fn newer(address: &str, authorization: Option<&Path>, sha: Option<&str>) -> Result<Option<Bundle>, Failure> {
    let read = |path: &Path| {
        let secret = std::fs::read_to_string(path);
        secret.map_err(|error| format!("could not read {}: {error}", path.display()))
    };
    let secret = authorization.map(read).transpose()?.map(|secret| secret.trim().to_string());
    let (server, network) = (server(address, secret)?, Http::default());
    let latest = server.sha(&network)?;
    if sha == Some(latest.as_str()) {
        return Ok(None);
    }
    Ok(Some(server.fetch_sha(&network, &latest)?))
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
