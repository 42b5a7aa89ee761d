//! Reading repositories: their references, their commits into a cache of bare repositories.

mod cache;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::address::{Address, Scheme};
use crate::error::GitError;
use crate::login::{Login, Means, means, whose};
use crate::program::{Program, Run};
use crate::refs::{Commit, Refs, Revision};
use crate::tree::Tree;
use cache::Cache;

pub use cache::MAX_CACHE_BYTES;

/// How many bytes one repository may take in the cache.
pub const MAX_REPOSITORY_BYTES: u64 = 512 << 20;
/// How long a list of references may be.
const MAX_REFS_BYTES: usize = 64 << 20;
/// How much git may say where nothing is expected.
const MAX_LITTLE_BYTES: usize = 1 << 20;
const LS_REMOTE_DEADLINE: Duration = Duration::from_secs(30);
const FETCH_DEADLINE: Duration = Duration::from_secs(90);
const LOCAL_DEADLINE: Duration = Duration::from_secs(30);

/// How git is used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder that fetched repositories are kept in; made when missing.
    pub cache: PathBuf,
    /// The program: a path, or a name that is looked for where programs are.
    pub program: PathBuf,
    /// How repositories may be reached.
    pub allowed: Vec<Scheme>,
    /// A settings file of git's that counts, for instance for `url.….insteadOf`; none counts without.
    pub config: Option<PathBuf>,
    /// How long asking for references may take.
    pub ls_remote_deadline: Duration,
    /// How long fetching may take.
    pub fetch_deadline: Duration,
    /// How many bytes one repository may take.
    pub repository_bytes: u64,
}

impl Settings {
    /// With repositories kept in this folder; of other machines only.
    pub fn in_folder(cache: &Path) -> Self {
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

    /// Repositories of this machine as well: whoever names an address then reads what this process may read.
    #[must_use]
    pub fn with_files(mut self) -> Self {
        if !self.allowed.contains(&Scheme::File) {
            self.allowed.push(Scheme::File);
        }
        self
    }
}

/// Git, as this process uses it. Shared by threads; clones use the same cache.
#[derive(Clone, Debug)]
pub struct Git {
    settings: Settings,
    cache: Cache,
}

impl Git {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        Self { cache: Cache::new(&settings.cache), settings }
    }

    /// Reads an address as these settings allow it.
    ///
    /// # Errors
    /// When it is not allowed, or none.
    pub fn address(&self, url: &str) -> Result<Address, GitError> {
        Address::parse(url, &self.settings.allowed)
    }

    /// What a server says it has. Nothing is fetched.
    ///
    /// # Errors
    /// When it does not answer, or not to this login.
    pub fn ls_remote(&self, url: &str, login: &Login) -> Result<Refs, GitError> {
        let address = self.address(url)?;
        let scratch = self.cache.scratch()?;
        let means = means(&address, login, scratch.path())?;
        let run = Run {
            act: "list the references",
            arguments: &["ls-remote", "--symref", "--quiet", "--", address.as_str()],
            input: Vec::new(),
            output_bytes: MAX_REFS_BYTES,
            deadline: self.settings.ls_remote_deadline,
            look: &|| Ok(()),
        };
        let said = self.program(scratch.path()).run(run, &means)?;
        Refs::read(&String::from_utf8_lossy(&said))
    }

    /// The files of a commit, fetched unless they are in the cache. What was fetched with a login is there for that login alone.
    ///
    /// # Errors
    /// When the commit cannot be had, or is larger than the bounds.
    pub fn fetch(&self, url: &str, login: &Login, revision: &Revision) -> Result<Tree, GitError> {
        let address = self.address(url)?;
        let scratch = self.cache.scratch()?;
        let repository = self.cache.repository(address.as_str(), whose(&address, login))?;
        let lock = self.cache.lock(&repository)?;
        if repository.size() > self.settings.repository_bytes {
            repository.remove()?;
        }
        if !repository.exists() {
            let path = repository.text()?;
            self.quietly(
                scratch.path(),
                "make a repository",
                &["init", "--quiet", "--bare", "--template=", "--", path],
            )?;
        }
        let commit = match self.known(&repository.path, revision)? {
            Some(commit) => commit,
            None => {
                let means = means(&address, login, scratch.path())?;
                self.get(&address, &means, &repository, revision)?;
                self.known(&repository.path, revision)?.ok_or_else(|| GitError::NoCommit(revision.to_string()))?
            }
        };
        repository.touch()?;
        let tree = Tree::list(self, repository.path.clone(), commit)?;
        drop(lock);
        self.cache.shrink(&repository);
        Ok(tree)
    }

    /// One commit when the server gives it, all of them otherwise: some servers give only what a name stands for.
    fn get(
        &self,
        address: &Address,
        means: &Means,
        to: &cache::Repository,
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
                what: "the repository".to_string(),
                most: self.settings.repository_bytes,
                unit: "bytes",
            }),
            false => Ok(()),
        };
        let fetch = |arguments: &[&str]| {
            let run = Run {
                act: "fetch the commit",
                arguments,
                input: Vec::new(),
                output_bytes: MAX_LITTLE_BYTES,
                deadline: self.settings.fetch_deadline,
                look: &bound,
            };
            self.program(&to.path).run(run, means).and_then(|_| bound())
        };
        let got = match revision {
            Revision::Commit(commit) => {
                fetch(&[&FETCH[..], &["--depth=1", "--", address.as_str(), commit.as_str()]].concat())
            }
            Revision::Short(_) => Err(GitError::NoCommit(revision.to_string())),
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

    /// The commit, if the repository in the cache has it.
    fn known(&self, repository: &Path, revision: &Revision) -> Result<Option<Commit>, GitError> {
        let wanted = format!("{revision}^{{commit}}");
        let arguments = ["rev-parse", "--quiet", "--verify", "--end-of-options", &wanted];
        match self.quietly(repository, "look for the commit", &arguments) {
            Ok(said) => Ok(Commit::parse(String::from_utf8_lossy(&said).trim())),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn quietly(&self, folder: &Path, act: &'static str, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.local(folder, act, arguments, Vec::new(), MAX_LITTLE_BYTES)
    }

    /// A run that speaks with nobody.
    pub(crate) fn local(
        &self,
        folder: &Path,
        act: &'static str,
        arguments: &[&str],
        input: Vec<u8>,
        output_bytes: usize,
    ) -> Result<Vec<u8>, GitError> {
        let run = Run { act, arguments, input, output_bytes, deadline: LOCAL_DEADLINE, look: &|| Ok(()) };
        self.program(folder).run(run, &Means::default())
    }

    fn program<'a>(&'a self, folder: &'a Path) -> Program<'a> {
        Program {
            git: &self.settings.program,
            allowed: &self.settings.allowed,
            config: self.settings.config.as_ref(),
            folder,
        }
    }
}

#[cfg(test)]
mod tests;
