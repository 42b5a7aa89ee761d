//! Addresses of databases.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// Address of a database: `postgres://…`, `sqlite:FILE` or `sqlite::memory:`. Its text forms never contain the
/// password.
#[derive(Clone)]
pub struct Address {
    pub(crate) kind: AddressKind,
    display: String,
}

#[derive(Clone)]
pub(crate) enum AddressKind {
    Postgres(Box<PgConnectOptions>),
    File(PathBuf),
    Memory,
}

/// Error of [`Address::parse`].
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The address begins with neither scheme.
    #[error("could not parse the database address: it starts with neither `postgres://` nor `sqlite:`")]
    Unknown,
    /// sqlx rejected the PostgreSQL URL.
    #[error("could not parse the PostgreSQL URL")]
    Postgres(#[source] sqlx::Error),
    /// `sqlite:` without a file name.
    #[error("could not parse the database address: no file name after `sqlite:`")]
    NoFile,
}

impl Address {
    /// Parses an address.
    ///
    /// Connections to PostgreSQL use TLS and verify the server's certificate and name, unless the URL sets `sslmode` or
    /// the server is on this machine.
    pub fn parse(text: &str) -> Result<Address, AddressError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let options = PgConnectOptions::from_str(text).map_err(AddressError::Postgres)?;
            let options = if text.contains("sslmode=") || text.contains("ssl-mode=") {
                options
            } else {
                let local = is_local(&options);
                options.ssl_mode(if local { PgSslMode::Prefer } else { PgSslMode::VerifyFull })
            };
            let display = match options.get_socket() {
                Some(socket) => format!("PostgreSQL at {}", socket.display()),
                None => format!("PostgreSQL at {}:{}", options.get_host(), options.get_port()),
            };
            return Ok(Address { kind: AddressKind::Postgres(Box::new(options)), display });
        }
        let file = text.strip_prefix("sqlite:").ok_or(AddressError::Unknown)?;
        match file.strip_prefix("//").unwrap_or(file) {
            ":memory:" => Ok(Address { kind: AddressKind::Memory, display: "SQLite in memory".to_string() }),
            "" => Err(AddressError::NoFile),
            file => Ok(Address { kind: AddressKind::File(file.into()), display: format!("SQLite in {file}") }),
        }
    }

    /// Returns the address as a command-line flag, without the password, which the user has to add.
    pub fn url(&self) -> String {
        match &self.kind {
            AddressKind::Memory => "sqlite::memory:".to_string(),
            AddressKind::File(file) => {
                format!("sqlite:{}", std::path::absolute(file).unwrap_or_else(|_| file.clone()).display())
            }
            AddressKind::Postgres(options) => {
                let database = options.get_database().unwrap_or_default();
                let host = match options.get_socket() {
                    Some(socket) => return format!("postgres:///{database}?host={}", socket.display()),
                    None => options.get_host(),
                };
                format!("postgres://{}@{host}:{}/{database}", options.get_username(), options.get_port())
            }
        }
    }

    /// Whether the address is a SQLite file that does not exist yet. Opening the database creates the file.
    pub fn is_absent(&self) -> bool {
        matches!(&self.kind, AddressKind::File(file) if !file.exists())
    }

    /// Whether the address is a remote PostgreSQL server for which the URL turns TLS verification off.
    pub fn is_unprotected(&self) -> bool {
        matches!(&self.kind, AddressKind::Postgres(options)
            if matches!(options.get_ssl_mode(), PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer) && !is_local(options))
    }
}

fn is_local(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    options.get_socket().is_some()
        || host == "localhost"
        || host.trim_matches(['[', ']']).parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.display)
    }
}

#[cfg(test)]
mod tests;
