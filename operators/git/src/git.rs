//! Reading of references, and of commits into a cache of bare repositories.

mod cache;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::address::{RepositoryAddress, Scheme};
use crate::error::GitError;
use crate::login::{Login, LoginEnvironment, effective_login, login_environment};
use crate::program::{GitCommand, GitProgram};
use crate::refs::{Commit, Refs, Revision};
use crate::tree::CommitTree;
use cache::RepositoryCache;

pub use cache::MAX_CACHE_BYTES;

/// Default maximum size of one repository in the cache.
pub const MAX_REPOSITORY_BYTES: u64 = 512 << 20;
/// Maximum size of a list of references.
const MAX_REFS_BYTES: usize = 64 << 20;
/// Maximum output of commands that print little or nothing.
const MAX_SMALL_OUTPUT_BYTES: usize = 1 << 20;
const LS_REMOTE_DEADLINE: Duration = Duration::from_secs(30);
const FETCH_DEADLINE: Duration = Duration::from_secs(90);
const LOCAL_DEADLINE: Duration = Duration::from_secs(30);

/// Settings of the git client.
#[derive(Clone, Debug)]
pub struct GitSettings {
    /// Folder of fetched repositories, created if it does not exist.
    pub cache: PathBuf,
    /// Path of the git program, or a name to look up in `PATH`.
    pub program: PathBuf,
    /// Allowed transport protocols.
    pub allowed: Vec<Scheme>,
    /// Git configuration file to use, for instance for `url.….insteadOf`. Without it, git reads no user configuration.
    pub config: Option<PathBuf>,
    /// Time limit of `git ls-remote`.
    pub ls_remote_deadline: Duration,
    /// Time limit of `git fetch`.
    pub fetch_deadline: Duration,
    /// Maximum size of one repository in the cache.
    pub repository_bytes: u64,
}

impl GitSettings {
    /// Creates settings with a cache folder that allow remote repositories only.
    pub fn with_cache(cache: &Path) -> Self {
        Self {
            cache: cache.to_path_buf(),
            program: PathBuf::from("git"),
            allowed: vec![Scheme::Https, Scheme::Http, Scheme::Ssh],
            config: None,
            ls_remote_deadline: LS_REMOTE_DEADLINE,
            fetch_deadline: FETCH_DEADLINE,
            repository_bytes: MAX_REPOSITORY_BYTES,
        }
    }

    /// Allows repositories of the local machine as well. A user who can choose the address can then read every file
    /// that this process can read.
    #[must_use]
    pub fn with_local_files(mut self) -> Self {
        if !self.allowed.contains(&Scheme::File) {
            self.allowed.push(Scheme::File);
        }
        self
    }
}

/// Git client of this process. It can be shared between threads, and clones use the same cache.
#[derive(Clone, Debug)]
pub struct Git {
    settings: GitSettings,
    cache: RepositoryCache,
}

impl Git {
    /// Creates a client with these settings.
    pub fn new(settings: GitSettings) -> Self {
        Self { cache: RepositoryCache::new(&settings.cache), settings }
    }

    /// Parses an address and checks it against the allowed schemes.
    ///
    /// # Errors
    /// If the text is not an address, or its scheme is not allowed.
    pub fn address(&self, url: &str) -> Result<RepositoryAddress, GitError> {
        RepositoryAddress::parse(url, &self.settings.allowed)
    }

    /// Lists the references of a repository without fetching anything.
    ///
    /// # Errors
    /// If the server does not answer or rejects the login.
    pub fn ls_remote(&self, url: &str, login: &Login) -> Result<Refs, GitError> {
        let address = self.address(url)?;
        let scratch = self.cache.scratch()?;
        let means = login_environment(&address, login, scratch.path())?;
        let run = GitCommand {
            action: "list the references",
            arguments: &["ls-remote", "--symref", "--quiet", "--", address.as_str()],
            input: Vec::new(),
            output_bytes: MAX_REFS_BYTES,
            deadline: self.settings.ls_remote_deadline,
            watchdog: &|| Ok(()),
        };
        let said = self.program(scratch.path()).run(run, &means)?;
        Refs::parse(&String::from_utf8_lossy(&said))
    }

    /// Returns the files of a commit, and fetches it if the cache does not have it. A repository fetched with a login
    /// is served from the cache to the same login only.
    ///
    /// # Errors
    /// If the commit cannot be fetched or exceeds the limits.
    pub fn fetch(&self, url: &str, login: &Login, revision: &Revision) -> Result<CommitTree, GitError> {
        let address = self.address(url)?;
        let scratch = self.cache.scratch()?;
        let repository = self.cache.repository(address.as_str(), effective_login(&address, login))?;
        let lock = self.cache.lock(&repository)?;
        if repository.size() > self.settings.repository_bytes {
            repository.remove()?;
        }
        if !repository.exists() {
            let path = repository.path_text()?;
            self.run_small(
                scratch.path(),
                "create a repository",
                &["init", "--quiet", "--bare", "--template=", "--", path],
            )?;
        }
        let commit = match self.find_commit(&repository.path, revision)? {
            Some(commit) => commit,
            None => {
                let means = login_environment(&address, login, scratch.path())?;
                self.fetch_commit(&address, &means, &repository, revision)?;
                self.find_commit(&repository.path, revision)?.ok_or_else(|| GitError::NoCommit(revision.to_string()))?
            }
        };
        repository.touch()?;
        let tree = CommitTree::list(self, repository.path.clone(), commit)?;
        drop(lock);
        self.cache.shrink(&repository);
        Ok(tree)
    }

    /// Fetches the one commit, or all references if the server refuses: some servers only serve commits that a
    /// reference points to.
    fn fetch_commit(
        &self,
        address: &RepositoryAddress,
        means: &LoginEnvironment,
        to: &cache::CachedRepository,
        revision: &Revision,
    ) -> Result<(), GitError> {
        const FETCH: [&str; 7] = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--force",
        ];
        let bound = || match to.size() > self.settings.repository_bytes {
            true => Err(GitError::TooLarge {
                subject: "the repository".to_string(),
                limit: self.settings.repository_bytes,
                unit: "bytes",
            }),
            false => Ok(()),
        };
        let fetch = |arguments: &[&str]| {
            let run = GitCommand {
                action: "fetch the commit",
                arguments,
                input: Vec::new(),
                output_bytes: MAX_SMALL_OUTPUT_BYTES,
                deadline: self.settings.fetch_deadline,
                watchdog: &bound,
            };
            self.program(&to.path).run(run, means).and_then(|_| bound())
        };
        let got = match revision {
            Revision::Commit(commit) => {
                fetch(&[&FETCH[..], &["--depth=1", "--", address.as_str(), commit.as_str()]].concat())
            }
            Revision::Abbreviated(_) => Err(GitError::NoCommit(revision.to_string())),
        };
        let got = match got {
            Err(GitError::Failed { .. } | GitError::NoCommit(_)) => {
                let deepen: &[&str] = if to.path.join("shallow").exists() { &["--unshallow"] } else { &[] };
                let all = ["--", address.as_str(), "+refs/heads/*:refs/kept/heads/*", "+refs/tags/*:refs/kept/tags/*"];
                fetch(&[&FETCH[..], deepen, &all].concat())
            }
            got => got,
        };
        if matches!(got, Err(GitError::TooLarge { .. })) {
            to.remove()?;
        }
        got
    }

    /// Returns the commit if the cached repository contains it.
    fn find_commit(&self, repository: &Path, revision: &Revision) -> Result<Option<Commit>, GitError> {
        let wanted = format!("{revision}^{{commit}}");
        let arguments = ["rev-parse", "--quiet", "--verify", "--end-of-options", &wanted];
        match self.run_small(repository, "look for the commit", &arguments) {
            Ok(said) => Ok(Commit::parse(String::from_utf8_lossy(&said).trim())),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn run_small(&self, folder: &Path, act: &'static str, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.run_local(folder, act, arguments, Vec::new(), MAX_SMALL_OUTPUT_BYTES)
    }

    /// Runs a git command that uses no network.
    pub(crate) fn run_local(
        &self,
        folder: &Path,
        act: &'static str,
        arguments: &[&str],
        input: Vec<u8>,
        output_bytes: usize,
    ) -> Result<Vec<u8>, GitError> {
        let run =
            GitCommand { action: act, arguments, input, output_bytes, deadline: LOCAL_DEADLINE, watchdog: &|| Ok(()) };
        self.program(folder).run(run, &LoginEnvironment::default())
    }

    fn program<'a>(&'a self, folder: &'a Path) -> GitProgram<'a> {
        GitProgram {
            git: &self.settings.program,
            allowed: &self.settings.allowed,
            config: self.settings.config.as_ref(),
            folder,
        }
    }
}

#[cfg(test)]
mod tests;
