//! Where a cluster's data is: in memory, or in a directory.

use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use switchboard_cluster::ambient::Ambient;
use switchboard_cluster::auth::authentication::Authenticator;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::gate::Gate;
use switchboard_cluster::auth::token::TokenKey;
use switchboard_cluster::store::{Bounds, Store};

use crate::failure::Failure;
use crate::talk::say;

/// Files with keys in a data directory. They are written behind the store, so where one is, a store was.
const KEYS: [&str; 2] = ["certificates.pem", "service-account.key"];
/// Everybody's bits but the owner's.
const OTHERS: u32 = 0o077;

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// There is no place to keep data by default.
    #[error("no data directory is known\nhint: give one with --data-dir DIR, or use --ephemeral")]
    Unknown,
    /// The data directory cannot be made.
    #[error("could not make the data directory {path}")]
    Make {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There are keys but no store.
    #[error(
        "{path} is missing, but {key} beside it says that there was one\nhint: put the store back from a copy, or begin afresh: remove the whole data directory, or give another one with --data-dir DIR"
    )]
    StoreGone {
        /// The store's directory.
        path: PathBuf,
        /// What gives it away.
        key: &'static str,
    },
}

/// Where a cluster's data is.
pub enum Place {
    /// In memory.
    Memory,
    /// In a directory.
    Directory(PathBuf),
}

impl Place {
    /// The directory that was asked for, or the user's own; made when it is not there, for its owner alone.
    pub fn directory(asked: Option<&Path>) -> Result<Self, PlaceError> {
        let path = match asked {
            Some(path) => path.to_path_buf(),
            None => Self::default_path().ok_or(PlaceError::Unknown)?,
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|source| PlaceError::Make { path: path.clone(), source })?;
        Ok(Self::Directory(path))
    }

    /// `$XDG_DATA_HOME/switchboard`, or below the home directory.
    pub fn default_path() -> Option<PathBuf> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))?;
        Some(base.join("switchboard"))
    }

    /// Opens the store. First of all, so that keys are never there without one.
    pub fn store(&self) -> Result<Store, Failure> {
        let Self::Directory(directory) = self else { return Ok(Store::in_memory(Bounds::default())) };
        let path = directory.join("store");
        let key = KEYS.into_iter().find(|key| directory.join(key).exists());
        match key {
            Some(key) if !path.join("lock").exists() => Err(PlaceError::StoreGone { path, key }.into()),
            _ => Ok(Store::open(&path, Bounds::default())?),
        }
    }

    /// The certificates for a server at that address.
    pub fn certificates(&self, address: SocketAddr, ambient: &Ambient) -> Result<Certificates, Failure> {
        let addresses = [address.ip()];
        Ok(match self {
            Self::Memory => Certificates::ephemeral(&addresses, ambient.now())?,
            Self::Directory(path) => Certificates::in_directory(path, &addresses, ambient.now())?,
        })
    }

    /// The keys that requests are judged with.
    pub fn gate(&self, certificates: &Certificates) -> Result<Gate, Failure> {
        let key = match self {
            Self::Memory => TokenKey::ephemeral()?,
            Self::Directory(path) => TokenKey::in_directory(path)?,
        };
        Ok(Gate { authenticator: Authenticator::new(key, None), authority: certificates.authority.certificate.clone() })
    }

    /// Warns of keys that others may read: they were private when they were written.
    pub fn warn_of_open_keys(&self) {
        let Self::Directory(directory) = self else { return };
        for path in KEYS.map(|key| directory.join(key)) {
            let mode = path.metadata().map_or(0, |facts| facts.permissions().mode() & 0o777);
            if mode & OTHERS != 0 {
                say(format_args!("warning: {} may be read by others: its mode is {mode:04o}", path.display()));
                say(format_args!("hint: chmod 600 {}", path.display()));
            }
        }
    }
}
