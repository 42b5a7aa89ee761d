#![allow(clippy::unwrap_used)]

//! Tests with generated repositories, over `file://` and over HTTP from a server in this process.

mod server;

use std::process::Command;

use tempfile::TempDir;

use super::*;
use server::HttpFileServer;

/// Repository with a work tree, created for one test.
struct TestRepository {
    folder: TempDir,
}

impl TestRepository {
    fn new() -> Self {
        let made = Self { folder: TempDir::new().unwrap() };
        made.git(&["init", "--quiet", "--initial-branch=main", "."]);
        made
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]);
        command.args(arguments).current_dir(self.folder.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }

    fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn link(&self, path: &str, target: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.folder.path().join(path)).unwrap();
        self
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn url(&self) -> String {
        format!("file://{}", self.folder.path().display())
    }
}

fn reader(cache: &TempDir) -> Git {
    Git::new(GitSettings::with_cache(cache.path()).with_local_files())
}

fn tree(made: &TestRepository, revision: &str) -> Result<CommitTree, GitError> {
    let cache = TempDir::new().unwrap();
    let git = reader(&cache);
    let revision = git.ls_remote(&made.url(), &Login::None)?.resolve(revision)?;
    let tree = git.fetch(&made.url(), &Login::None, &revision)?;
    // Files are read lazily from the cache, which would be deleted at the end of this function.
    std::mem::forget(cache);
    Ok(tree)
}

#[test]
fn revisions_resolve_to_the_same_files() {
    let made = TestRepository::new();
    let first = made.write("deploy/a.yaml", "one").commit("first");
    made.git(&["tag", "--annotate", "--message", "first", "v1"]);
    let second = made.write("deploy/a.yaml", "two").write("other/b", "x").commit("second");
    for (revision, commit, text) in [
        ("", &second, "two"),
        ("main", &second, "two"),
        ("v1", &first, "one"),
        (&first.clone(), &first, "one"),
        (&first[..8], &first, "one"),
    ] {
        let tree = tree(&made, revision).unwrap();
        assert_eq!(tree.commit().as_str(), commit);
        let files = tree.files("deploy").unwrap();
        assert_eq!(files.into_iter().collect::<Vec<_>>(), [("a.yaml".to_string(), text.as_bytes().to_vec())]);
    }
    assert!(matches!(tree(&made, "nothing"), Err(GitError::NoRevision(_))));
    assert!(matches!(tree(&made, &"0".repeat(40)), Err(GitError::NoCommit(_) | GitError::Failed { .. })));
}

#[test]
fn the_cache_serves_fetched_commits_and_fetches_new_ones() {
    let made = TestRepository::new();
    let cache = TempDir::new().unwrap();
    let git = reader(&cache);
    let mut last = String::new();
    for number in 0..3 {
        last = made.write("n", &number.to_string()).commit("next");
        let revision = git.ls_remote(&made.url(), &Login::None).unwrap().resolve("main").unwrap();
        let tree = git.fetch(&made.url(), &Login::None, &revision).unwrap();
        assert_eq!(tree.file("n").unwrap().unwrap(), number.to_string().as_bytes());
    }
    let url = made.url();
    drop(made);
    let revision = Revision::Commit(Commit::parse(&last).unwrap());
    assert_eq!(git.fetch(&url, &Login::None, &revision).unwrap().file("n").unwrap().unwrap(), b"2");
    assert!(matches!(git.ls_remote(&url, &Login::None), Err(GitError::NotFound(_))));
    let kept = std::fs::read_dir(cache.path()).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    assert!(kept.into_iter().all(|name| !name.starts_with("run-")), "folders of runs go with them");
}

#[test]
fn links_are_followed_inside_of_the_repository() {
    let made = TestRepository::new();
    made.write("base/web.yaml", "web").write("base/deep/x.yaml", "x").write("app/own.yaml", "own");
    made.link("app/web.yaml", "../base/web.yaml").link("app/deep", "../base/deep").commit("links");
    let tree = tree(&made, "main").unwrap();
    let files: Vec<(String, Vec<u8>)> = tree.files("./app/").unwrap().into_iter().collect();
    let text = |name: &str, text: &str| (name.to_string(), text.as_bytes().to_vec());
    assert_eq!(files, [text("deep/x.yaml", "x"), text("own.yaml", "own"), text("web.yaml", "web")]);
    assert_eq!(tree.file("app/deep/x.yaml").unwrap().unwrap(), b"x");
    assert_eq!(tree.file("app/nothing").unwrap(), None);
    assert!(matches!(tree.files("nothing"), Err(GitError::NoPath(_))));
    assert!(!tree.has_folder("app/own.yaml").unwrap() && tree.has_folder("").unwrap());
}

#[test]
fn guarantees_links_do_not_leave_the_repository() {
    for target in ["/etc/passwd", "../../outside", "self", "../app"] {
        let made = TestRepository::new();
        made.write("app/own.yaml", "own").link("app/self", target).commit("link");
        let tree = tree(&made, "main").unwrap();
        let told = tree.files("app").unwrap_err();
        assert!(matches!(told, GitError::Link(_) | GitError::TooLarge { .. }), "{target}: {told}");
    }
    let made = TestRepository::new();
    made.write("a", "x").commit("plain");
    let tree = tree(&made, "main").unwrap();
    assert!(matches!(tree.file("../../etc/passwd"), Err(GitError::Link(_))));
}

#[test]
fn a_repository_larger_than_allowed_is_not_kept() {
    let made = TestRepository::new();
    let noise: String = (0..200_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    made.write("big", &noise).commit("big");
    let cache = TempDir::new().unwrap();
    let git =
        Git::new(GitSettings { repository_bytes: 100_000, ..GitSettings::with_cache(cache.path()).with_local_files() });
    let revision = git.ls_remote(&made.url(), &Login::None).unwrap().resolve("").unwrap();
    let told = git.fetch(&made.url(), &Login::None, &revision).unwrap_err();
    assert!(matches!(told, GitError::TooLarge { .. }), "{told}");
    assert!(!git.cache.repository(&made.url(), &Login::None).unwrap().exists());
}

#[test]
fn local_files_are_read_only_if_allowed() {
    let made = TestRepository::new();
    made.write("a", "x").commit("a");
    let cache = TempDir::new().unwrap();
    let git = Git::new(GitSettings::with_cache(cache.path()));
    assert!(matches!(git.ls_remote(&made.url(), &Login::None), Err(GitError::Address(_))));
    assert!(matches!(git.ls_remote("ext::sh -c id", &Login::None), Err(GitError::Address(_))));
}

#[test]
fn no_hook_or_setting_of_a_repository_is_executed() {
    let made = TestRepository::new();
    let proof = made.folder.path().join("ran");
    for hook in ["post-checkout", "pre-auto-gc", "reference-transaction", "post-upload-pack"] {
        made.write(&format!(".git/hooks/{hook}"), &format!("#!/bin/sh\ntouch {}\n", proof.display()));
    }
    made.git(&["config", "uploadpack.packObjectsHook", &format!("touch {}; exit 1; #", proof.display())]);
    made.write("a", "x").commit("a");
    let _ = std::fs::remove_file(&proof);
    assert!(tree(&made, "main").unwrap().file("a").unwrap().is_some());
    assert!(!proof.exists());
}

fn password(password: &str) -> Login {
    Login::Password { username: "bob".into(), password: password.into() }
}

#[test]
fn a_repository_over_http_accepts_only_its_password() {
    let made = TestRepository::new();
    let commit = made.write("a", "over http").commit("a");
    let server = HttpFileServer::start(made.folder.path(), Some("bob:hunter2"));
    let url = server.url("/.git");
    let cache = TempDir::new().unwrap();
    let git = Git::new(GitSettings::with_cache(cache.path()));
    let refs = git.ls_remote(&url, &password("hunter2")).unwrap();
    assert_eq!(refs.resolve("main").unwrap().to_string(), commit);
    let tree = git.fetch(&url, &password("hunter2"), &refs.resolve("main").unwrap()).unwrap();
    assert_eq!(tree.file("a").unwrap().unwrap(), b"over http");
    for login in [Login::None, password("wr0ng-pass")] {
        let told = git.ls_remote(&url, &login).unwrap_err();
        assert!(matches!(told, GitError::AuthenticationFailed(_)), "{told}");
        assert!(!format!("{told} {told:?}").contains("wr0ng-pass"), "{told}");
    }
    let within = url.replace("http://", "http://bob:hunter2@");
    assert_eq!(git.ls_remote(&within, &Login::None).unwrap(), refs);
    let told = git.ls_remote(&within.replace("hunter2", "hunter3").replace(".git", "gone"), &Login::None).unwrap_err();
    assert!(!told.to_string().contains("hunter3"), "{told}");
}

/// A cached repository is bound to the login it was fetched with, even for a commit given by its SHA.
#[test]
fn fetched_commits_are_available_to_their_login_only() {
    let made = TestRepository::new();
    let commit = Revision::Commit(Commit::parse(&made.write("a", "secret").commit("a")).unwrap());
    let server = HttpFileServer::start(made.folder.path(), Some("bob:hunter2"));
    let url = server.url("/.git");
    let cache = TempDir::new().unwrap();
    let git = Git::new(GitSettings::with_cache(cache.path()));
    let within = url.replace("http://", "http://bob:hunter2@");
    for (url, login) in [(&url, password("hunter2")), (&within, Login::None)] {
        assert_eq!(git.fetch(url, &login, &commit).unwrap().file("a").unwrap().unwrap(), b"secret");
    }
    for login in [Login::None, password("hunter3")] {
        let told = git.fetch(&url, &login, &commit).map(|_| ()).unwrap_err();
        assert!(matches!(told, GitError::AuthenticationFailed(_)), "{told}");
    }
    // Once fetched, the commit is available to its login without the server.
    drop(server);
    assert!(git.fetch(&url, &password("hunter2"), &commit).is_ok());
    assert!(Git::new(GitSettings::with_cache(cache.path())).fetch(&url, &password("hunter2"), &commit).is_ok());
}

#[test]
fn a_redirect_does_not_forward_the_password() {
    let made = TestRepository::new();
    made.write("a", "x").commit("a");
    let thief = HttpFileServer::start(made.folder.path(), Some("bob:other"));
    let honest = HttpFileServer::redirecting(&thief.url(""));
    let cache = TempDir::new().unwrap();
    let git = Git::new(GitSettings::with_cache(cache.path()));
    let told = git.ls_remote(&honest.url("/.git"), &password("hunter2"));
    assert!(told.is_err());
    let heard = thief.received_lines();
    assert!(
        !heard.is_empty() && heard.iter().all(|line| !line.to_ascii_lowercase().starts_with("authorization")),
        "{heard:?}"
    );
}

#[test]
fn a_missing_repository_differs_from_an_unreachable_server() {
    let made = TestRepository::new();
    made.write("a", "x").commit("a");
    let server = HttpFileServer::start(made.folder.path(), None);
    let cache = TempDir::new().unwrap();
    let git = Git::new(GitSettings::with_cache(cache.path()));
    assert!(matches!(git.ls_remote(&server.url("/nothing"), &Login::None), Err(GitError::NotFound(_))));
    let gone = server.url("/.git");
    drop(server);
    let told = git.ls_remote(&gone, &Login::None).unwrap_err();
    assert!(matches!(told, GitError::Unreachable(_)), "{told}");
}

#[test]
fn a_credential_of_the_wrong_type_is_rejected() {
    let cache = TempDir::new().unwrap();
    let git = Git::new(GitSettings::with_cache(cache.path()));
    let key = Login::Key { private_key: "x".into(), hosts: crate::HostKeys::AcceptAny };
    assert!(matches!(git.ls_remote("https://git.example/a", &key), Err(GitError::Login(_))));
    assert!(matches!(git.ls_remote("ssh://git@git.example/a", &password("x")), Err(GitError::Login(_))));
    assert!(matches!(git.ls_remote("https://git.example/a", &password("a\nhost=evil")), Err(GitError::Login(_))));
}
