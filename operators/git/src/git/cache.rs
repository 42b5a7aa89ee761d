//! Cache folder with one bare repository for each address and login, evicted in least recently used order.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use tempfile::{NamedTempFile, TempDir};

use crate::error::GitError;
use crate::login::Login;

/// Maximum size of all cached repositories together, without the one in use.
pub const MAX_CACHE_BYTES: u64 = 2 << 30;
/// Number of hex digits of an address's digest that name its repository.
const NAME_LETTERS: usize = 32;
const ENDING: &str = "git";
/// File with the HMAC key for the names of repositories that were fetched with a login.
const KEY: &str = "names.key";
const KEY_BYTES: usize = 32;

#[derive(Clone, Debug)]
pub(super) struct RepositoryCache {
    folder: PathBuf,
}

/// Repository of the cache, which may not exist yet.
#[derive(Debug)]
pub(super) struct CachedRepository {
    pub(super) path: PathBuf,
}

impl RepositoryCache {
    pub(super) fn new(folder: &Path) -> Self {
        // Git runs in another working directory.
        Self { folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf()) }
    }

    /// Creates a temporary folder for one run that only the current user can read.
    pub(super) fn scratch(&self) -> Result<TempDir, GitError> {
        let made = fs::create_dir_all(&self.folder).and_then(|()| TempDir::with_prefix_in("run-", &self.folder));
        made.map_err(|error| self.cache_error(error))
    }

    /// Returns the cached repository of an address and a login. Logins never share a repository.
    pub(super) fn repository(&self, address: &str, login: &Login) -> Result<CachedRepository, GitError> {
        let name: Vec<u8> = match login {
            Login::None => digest(&SHA256, address.as_bytes()).as_ref().to_vec(),
            // The digest is keyed: from a plain digest, a reader of the folder could guess passwords.
            Login::Password { username, password } => self.keyed_digest(&[address, "password", username, password])?,
            Login::Key { private_key, .. } => self.keyed_digest(&[address, "key", private_key.trim()])?,
        };
        let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(CachedRepository { path: self.folder.join(&name[..NAME_LETTERS]).with_extension(ENDING) })
    }

    fn keyed_digest(&self, parts: &[&str]) -> Result<Vec<u8>, GitError> {
        let file = self.folder.join(KEY);
        let key = match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_key(&file).and_then(|()| fs::read(&file))
            }
            read => read,
        };
        let key = key.map_err(|error| self.cache_error(error))?;
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &key));
        for part in parts {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part.as_bytes());
        }
        Ok(context.sign().as_ref().to_vec())
    }

    /// Creates the key unless another process was faster. Readers never see a partial key.
    fn create_key(&self, file: &Path) -> io::Result<()> {
        let mut key = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut key).map_err(|_| io::Error::other("no random bytes are available"))?;
        fs::create_dir_all(&self.folder)?;
        let mut made = NamedTempFile::new_in(&self.folder)?;
        made.write_all(&key)?;
        match made.persist_noclobber(file) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            _ => Ok(()),
        }
    }

    /// Locks a repository against writes of all processes.
    pub(super) fn lock(&self, repository: &CachedRepository) -> Result<File, GitError> {
        let file = open_lock(&repository.path).map_err(|error| self.cache_error(error))?;
        file.lock().map_err(|error| self.cache_error(error))?;
        Ok(file)
    }

    /// Removes the least recently used repositories until the rest fits the limit. Repositories in use are kept.
    pub(super) fn shrink(&self, but: &CachedRepository) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let others = entries.filter(|path| path.extension().is_some_and(|end| end == ENDING) && *path != but.path);
        let mut found: Vec<(SystemTime, u64, CachedRepository)> = others
            .map(|path| {
                let used = fs::metadata(path.join("used")).and_then(|file| file.modified());
                let repository = CachedRepository { path };
                (used.unwrap_or(SystemTime::UNIX_EPOCH), repository.size(), repository)
            })
            .collect();
        found.sort_by_key(|(used, ..)| *used);
        let mut total: u64 = found.iter().map(|(_, size, _)| size).sum();
        for (_, size, repository) in found {
            if total <= MAX_CACHE_BYTES {
                return;
            }
            let Ok(lock) = open_lock(&repository.path) else { continue };
            if lock.try_lock().is_ok() && repository.remove().is_ok() {
                total -= size;
            }
        }
    }

    fn cache_error(&self, error: io::Error) -> GitError {
        GitError::Cache(self.folder.clone(), error)
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path.with_extension("lock"))
}

impl CachedRepository {
    pub(super) fn exists(&self) -> bool {
        self.path.join("HEAD").exists()
    }

    pub(super) fn path_text(&self) -> Result<&str, GitError> {
        let odd = || io::Error::new(io::ErrorKind::InvalidInput, "the path is not UTF-8");
        self.path.to_str().ok_or_else(|| GitError::Cache(self.path.clone(), odd()))
    }

    /// Returns the size of the repository on disk.
    pub(super) fn size(&self) -> u64 {
        let mut waiting = vec![self.path.clone()];
        let mut sum = 0;
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.metadata() {
                    Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                    Ok(kind) => sum += kind.len(),
                    // Git removes files while it works.
                    Err(_) => {}
                }
            }
        }
        sum
    }

    pub(super) fn touch(&self) -> Result<(), GitError> {
        fs::write(self.path.join("used"), "").map_err(|error| GitError::Cache(self.path.clone(), error))
    }

    pub(super) fn remove(&self) -> Result<(), GitError> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GitError::Cache(self.path.clone(), error)),
            _ => Ok(()),
        }
    }
}
