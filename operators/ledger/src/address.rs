//! Where the database is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// A database: `postgres://…`, `sqlite:FILE` or `sqlite::memory:`. Its words never repeat the password.
#[derive(Clone)]
pub struct Address {
    pub(crate) place: Place,
    told: String,
}

#[derive(Clone)]
pub(crate) enum Place {
    Postgres(Box<PgConnectOptions>),
    File(PathBuf),
    Memory,
}

/// Why an address is not understood.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// Neither of the two databases.
    #[error("could not understand the database's address: it begins neither with `postgres://` nor with `sqlite:`")]
    Unknown,
    /// A URL that PostgreSQL's driver does not take.
    #[error("could not understand the URL of PostgreSQL")]
    Postgres(#[source] sqlx::Error),
    /// `sqlite:` and nothing behind it.
    #[error("could not find the name of a file behind `sqlite:`")]
    NoFile,
}

impl Address {
    /// Reads an address.
    ///
    /// PostgreSQL is spoken to over TLS, and its certificate and name are checked, unless `sslmode` in the URL says otherwise or
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
            let told = match options.get_socket() {
                Some(socket) => format!("PostgreSQL at {}", socket.display()),
                None => format!("PostgreSQL at {}:{}", options.get_host(), options.get_port()),
            };
            return Ok(Address { place: Place::Postgres(Box::new(options)), told });
        }
        let file = text.strip_prefix("sqlite:").ok_or(AddressError::Unknown)?;
        match file.strip_prefix("//").unwrap_or(file) {
            ":memory:" => Ok(Address { place: Place::Memory, told: "SQLite in memory".to_string() }),
            "" => Err(AddressError::NoFile),
            file => Ok(Address { place: Place::File(file.into()), told: format!("SQLite in {file}") }),
        }
    }

    /// As a flag has it, without the password: whoever types it has to add that.
    pub fn url(&self) -> String {
        match &self.place {
            Place::Memory => "sqlite::memory:".to_string(),
            Place::File(file) => {
                format!("sqlite:{}", std::path::absolute(file).unwrap_or_else(|_| file.clone()).display())
            }
            Place::Postgres(options) => {
                let database = options.get_database().unwrap_or_default();
                let host = match options.get_socket() {
                    Some(socket) => return format!("postgres:///{database}?host={}", socket.display()),
                    None => options.get_host(),
                };
                format!("postgres://{}@{host}:{}/{database}", options.get_username(), options.get_port())
            }
        }
    }

    /// Whether it is a file that is not there yet: to open it makes it.
    pub fn is_absent(&self) -> bool {
        matches!(&self.place, Place::File(file) if !file.exists())
    }

    /// Whether it is PostgreSQL without TLS that somebody asked for.
    pub fn is_unprotected(&self) -> bool {
        matches!(&self.place, Place::Postgres(options)
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
        f.write_str(&self.told)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.told)
    }
}

#[cfg(test)]
mod tests;
