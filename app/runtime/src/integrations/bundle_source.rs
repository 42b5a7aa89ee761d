//! Sources of integrations data: a directory, a bundle, a qontract-server, or a commit of a git repository.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use switchboard_integrations::source::graphql::network::HttpTransport;
use switchboard_integrations::source::graphql::{AuthorizationHeader, QontractServer};
use switchboard_integrations::source::{Bundle, MAX_BUNDLE_BYTES, bundle, directory};

use crate::failure::CommandError;

/// Prefix of a commit: `git:main`, `git:main:data`.
const COMMIT: &str = "git:";

/// Variable with the `Authorization` header for a server; other users could read a flag.
const AUTHORIZATION: &str = "QONTRACT_AUTHORIZATION";
/// Integration name sent to a server, which then serves the schemas listed in that integration's file.
const READER: &str = "integrations-manager";

/// Reads a bundle from a source.
pub fn read(from: &str) -> Result<Bundle, CommandError> {
    if let Some(commit) = from.strip_prefix(COMMIT) {
        let (commit, folder) = commit.split_once(':').unwrap_or((commit, ""));
        return read_commit(commit, folder);
    }
    if from.starts_with("http://") || from.starts_with("https://") {
        let secret = std::env::var(AUTHORIZATION).ok().filter(|secret| !secret.is_empty());
        return Ok(server(from, secret)?.fetch(&HttpTransport::default())?);
    }
    let path = Path::new(from);
    if path.is_dir() { Ok(directory::read(path)?) } else { Ok(bundle::read(path)?) }
}

/// Returns a server with its `Authorization` header.
fn server(address: &str, secret: Option<String>) -> Result<QontractServer, CommandError> {
    Ok(QontractServer::new(address)?.authorized(secret.map(AuthorizationHeader::new)).reading_as(READER))
}

/// Fetches the current bundle of a server, unless it has the given SHA.
pub fn newer(address: &str, authorization: Option<&Path>, sha: Option<&str>) -> Result<Option<Bundle>, CommandError> {
    let read = |path: &Path| {
        let secret = std::fs::read_to_string(path);
        secret.map_err(|error| format!("could not read {}: {error}", path.display()))
    };
    let secret = authorization.map(read).transpose()?.map(|secret| secret.trim().to_string());
    let (server, network) = (server(address, secret)?, HttpTransport::default());
    let latest = server.sha(&network)?;
    if sha == Some(latest.as_str()) {
        return Ok(None);
    }
    Ok(Some(server.fetch_sha(&network, &latest)?))
}

/// Reads the files of a commit of the repository in the working directory, with `git archive`.
fn read_commit(commit: &str, folder: &str) -> Result<Bundle, CommandError> {
    let failed = |why: &str| {
        format!(
            "could not read commit {commit}: {why}\nhint: run the command in the repository; write a commit as `git:REV` or `git:REV:FOLDER`"
        )
    };
    if commit.is_empty() || commit.starts_with('-') {
        return Err(failed("invalid revision").into());
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
    // Like a directory: a folder `data` is the root of the data.
    if files.iter().any(|(name, _)| name.starts_with("data/")) {
        files = files
            .into_iter()
            .filter_map(|(name, bytes)| Some((name.strip_prefix("data/")?.to_string(), bytes)))
            .collect();
    }
    Ok(directory::from_files(files).with_commit(Some(commit.to_string())))
}
