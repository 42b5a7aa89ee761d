//! Tests of the repository cache and its separation by login.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use switchboard_engine::source::{POLL, RepositoryQuestion, RepositorySources};
use switchboard_git::{GitSettings, Login};
use tempfile::TempDir;

#[path = "../../git/src/git/tests/server.rs"]
#[allow(dead_code, reason = "this test uses a part of the server")]
mod server;

use server::HttpFileServer;

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]);
    let output = command.args(arguments).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

/// Creates a repository with one ConfigMap in `deploy`, and returns its commit.
fn repository() -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    git(folder.path(), &["init", "--quiet", "--initial-branch=main", "."]);
    let commit = add(folder.path(), "deploy");
    (folder, commit)
}

fn add(folder: &Path, path: &str) -> String {
    std::fs::create_dir_all(folder.join(path)).unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    std::fs::write(folder.join(path).join("a.yaml"), text).unwrap();
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", "next"]);
    git(folder, &["rev-parse", "HEAD"])
}

fn question(url: &str, revision: &str) -> RepositoryQuestion {
    RepositoryQuestion {
        source: json!({"repoURL": url, "path": "deploy"}),
        revision: revision.to_string(),
        fresh: false,
        changed: false,
        since: String::new(),
        credential: None,
        application: "shop".to_string(),
        namespace: "prod".to_string(),
    }
}

/// A tenant's private repository is not readable with other logins, even if it is cached.
#[test]
fn a_private_repository_is_not_shared_between_logins() {
    let (folder, commit) = repository();
    let server = HttpFileServer::start(folder.path(), Some("bob:hunter2"));
    let (url, cache) = (server.url("/.git"), TempDir::new().unwrap());
    let sources = RepositorySources::new(GitSettings::with_cache(cache.path()), POLL);
    let login = |password: &str| sources.login("bob", password, "", "");
    let content = |url: &str, revision: &str, login: &Login| sources.content(&question(url, revision), login);
    // A rejected request does not affect other logins.
    assert!(content(&url, "main", &Login::None).is_err());
    for revision in ["main", &commit] {
        assert_eq!(content(&url, revision, &login("hunter2")).unwrap().revision, commit.as_str());
    }
    let within = url.replace("http://", "http://bob:hunter2@");
    assert!(content(&within, "main", &Login::None).is_ok());
    for revision in ["main", &commit, &commit[..8]] {
        for other in [Login::None, login("hunter3")] {
            let told = content(&url, revision, &other);
            assert!(told.is_err(), "{revision} as {other:?}: {told:?}");
        }
    }
}

/// References listed before an Application was created may be outdated for it.
#[test]
fn references_are_not_older_than_the_application() {
    let (folder, first) = repository();
    let (url, cache) = (format!("file://{}", folder.path().display()), TempDir::new().unwrap());
    let sources = RepositorySources::new(GitSettings::with_cache(cache.path()).with_local_files(), POLL);
    let ask = |since: Timestamp| {
        let since = Timestamp::from_second(since.as_second()).unwrap().to_string();
        let question = RepositoryQuestion { since, ..question(&url, "main") };
        sources.content(&question, &Login::None).unwrap().revision
    };
    let long_ago = Timestamp::now() - SignedDuration::from_secs(60);
    assert_eq!(ask(long_ago), first);
    let second = add(folder.path(), "other");
    assert_eq!(ask(long_ago), first, "what was said is kept for a while");
    // Creation times are whole seconds, so an Application created in this second may be younger than the references.
    assert_eq!(ask(Timestamp::now()), second);
}
