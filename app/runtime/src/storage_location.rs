//! Location of a cluster's data: in memory or in a directory.

use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use switchboard_cluster::auth::authentication::Authenticator;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::filters::AuthKeys;
use switchboard_cluster::auth::token::TokenKey;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::store::{ObjectStore, StoreLimits};

use crate::failure::CommandError;
use crate::stderr::print_stderr;

/// Key files in a data directory. They are written after the store, so a key file implies a store.
const KEYS: [&str; 2] = ["certificates.pem", "service-account.key"];
/// Mode bits of group and others.
const OTHERS: u32 = 0o077;

/// The data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StorageLocationError {
    /// No default data directory is known.
    #[error(
        "no default data directory: neither XDG_DATA_HOME nor HOME is set\nhint: pass --data-dir DIR, or use --ephemeral"
    )]
    Unknown,
    /// The data directory could not be created.
    #[error("could not create the data directory {path}")]
    Make {
        /// Path of the directory.
        path: PathBuf,
        /// I/O error.
        source: std::io::Error,
    },
    /// Key files exist, but the store does not.
    #[error(
        "{path} is missing, but {key} next to it shows that there was one\nhint: restore it from a backup, or start over: remove the whole data directory, or pass another one with --data-dir DIR"
    )]
    StoreGone {
        /// Path of the store.
        path: PathBuf,
        /// Key file that implies a store.
        key: &'static str,
    },
}

/// Location of a cluster's data.
pub enum StorageLocation {
    /// Memory.
    Memory,
    /// Directory.
    Directory(PathBuf),
}

impl StorageLocation {
    /// Returns the given directory or the user's default; creates it for its owner only if it does not exist.
    pub fn directory(asked: Option<&Path>) -> Result<Self, StorageLocationError> {
        let path = match asked {
            Some(path) => path.to_path_buf(),
            None => Self::default_path().ok_or(StorageLocationError::Unknown)?,
        };
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        created.map_err(|source| StorageLocationError::Make { path: path.clone(), source })?;
        Ok(Self::Directory(path))
    }

    /// Returns `$XDG_DATA_HOME/switchboard`, or its default below the home directory.
    pub fn default_path() -> Option<PathBuf> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))?;
        Some(base.join("switchboard"))
    }

    /// Opens the store, before any key is created, so that keys never exist without a store.
    pub fn store(&self) -> Result<ObjectStore, CommandError> {
        let Self::Directory(directory) = self else { return Ok(ObjectStore::in_memory(StoreLimits::default())) };
        let path = directory.join("store");
        let key = KEYS.into_iter().find(|key| directory.join(key).exists());
        match key {
            Some(key) if !path.join("lock").exists() => Err(StorageLocationError::StoreGone { path, key }.into()),
            _ => Ok(ObjectStore::open(&path, StoreLimits::default())?),
        }
    }

    /// Returns the certificates for a server at an address.
    pub fn certificates(&self, address: SocketAddr, ambient: &ClockAndRng) -> Result<Certificates, CommandError> {
        let addresses = [address.ip()];
        Ok(match self {
            Self::Memory => Certificates::ephemeral(&addresses, ambient.now())?,
            Self::Directory(path) => Certificates::in_directory(path, &addresses, ambient.now())?,
        })
    }

    /// Returns the keys that authenticate requests.
    pub fn auth_keys(&self, certificates: &Certificates) -> Result<AuthKeys, CommandError> {
        let key = match self {
            Self::Memory => TokenKey::ephemeral()?,
            Self::Directory(path) => TokenKey::in_directory(path)?,
        };
        Ok(AuthKeys {
            authenticator: Authenticator::new(key, None),
            authority: certificates.authority.certificate.clone(),
        })
    }

    /// Warns about key files that other users can read; they are created private.
    pub fn warn_about_readable_keys(&self) {
        let Self::Directory(directory) = self else { return };
        for path in KEYS.map(|key| directory.join(key)) {
            let mode = path.metadata().map_or(0, |facts| facts.permissions().mode() & 0o777);
            if mode & OTHERS != 0 {
                print_stderr(format_args!("warning: other users can read {}: its mode is {mode:04o}", path.display()));
                print_stderr(format_args!("hint: chmod 600 {}", path.display()));
            }
        }
    }
}
