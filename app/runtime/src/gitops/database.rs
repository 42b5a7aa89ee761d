//! Database of the GitOps Service, and the encryption of credentials in it.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use switchboard_console::CommandFlags;
use switchboard_gitops::config::OptionSource;
use switchboard_sql::seal::SealError;
use switchboard_sql::{Address, Ledger, Sealer};

use crate::failure::CommandError;
use crate::stderr::print_stderr;

/// Variable with the URL of the database.
const DATABASE: &str = "SWITCHBOARD_GITOPS_DATABASE";

/// Variable with keys as text, for machines that get secrets as variables.
const KEYS: &str = "SWITCHBOARD_GITOPS_KEYS";

/// Settings of the database: by flags or by a configuration.
#[derive(Clone)]
pub struct DatabaseSettings {
    database: Option<String>,
    credentials_key_file: Option<PathBuf>,
    plaintext_credentials: bool,
    /// Origin of the settings: flags or configuration file.
    option_source: OptionSource,
}

/// No database is configured.
#[derive(Debug, thiserror::Error)]
#[error("no database is configured\nhint: pass --database postgres://… or --database sqlite:FILE")]
struct DatabaseNotSet;

/// The database file does not exist. More often than not the path is mistyped.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not open {0}: file does not exist\nhint: check the path in --database; `switchboard gitops migrate` creates a new database"
)]
struct DatabaseNotFound(String);

/// Neither keys nor plaintext are configured.
#[derive(Debug, thiserror::Error)]
#[error(
    "no encryption of credentials is configured\nhint: pass a key file with {} (a key is a line `key1:$(head -c 32 /dev/urandom | base64)`), or set {}",
    .0.name("credentialsKeyFile", "--credentials-key-file"), .0.name("plaintextCredentials", "--plaintext-credentials")
)]
struct EncryptionNotSet(OptionSource);

/// A key file could not be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read keys from `{}`", path.display())]
struct KeyFileReadError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// A key file has no usable key.
#[derive(Debug, thiserror::Error)]
#[error("could not use the keys in `{}`", path.display())]
struct InvalidKeyFile {
    path: PathBuf,
    #[source]
    source: SealError,
}

impl DatabaseSettings {
    /// Creates the settings. Their origin is flags, unless [`DatabaseSettings::set_origin`] changes it.
    pub fn new(database: Option<String>, credentials_key_file: Option<PathBuf>, plaintext_credentials: bool) -> Self {
        Self { database, credentials_key_file, plaintext_credentials, option_source: OptionSource::Flags }
    }

    /// Sets the origin of the settings, which hints refer to.
    pub fn set_origin(&mut self, option_source: OptionSource) {
        self.option_source = option_source;
    }

    /// Returns the key file, if one is set.
    pub fn key_file(&self) -> Option<&PathBuf> {
        self.credentials_key_file.as_ref()
    }

    /// Adds the flags that other commands need to use the same database, without its password.
    pub fn flags(&self, flags: CommandFlags) -> CommandFlags {
        let url = self.database.clone().or_else(url_from_env).and_then(|url| Address::parse(&url).ok());
        let flags = url.into_iter().fold(flags, |flags, url| flags.fleet("--database", &url.url()));
        let absolute =
            |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone()).display().to_string();
        let keys = self.credentials_key_file.iter().map(absolute);
        let flags = keys.fold(flags, |flags, file| flags.fleet("--credentials-key-file", &file));
        if self.plaintext_credentials { flags.fleet("--plaintext-credentials", "") } else { flags }
    }

    /// Whether the URL is set.
    pub fn has_url(&self) -> bool {
        self.database.is_some()
    }

    /// Uses the key file of a service beside its SQLite file if no encryption is configured.
    #[must_use]
    pub fn with_key_beside(mut self, name: &str) -> Self {
        let file = self.database.as_deref().and_then(|url| url.strip_prefix("sqlite:")).map(PathBuf::from);
        let keys = file.map(|file| file.with_file_name(name)).filter(|keys| keys.exists());
        if !self.has_encryption_setting() {
            self.credentials_key_file = keys;
        }
        self
    }

    /// Sets the URL.
    pub fn set_url(&mut self, url: String) {
        self.database = Some(url);
    }

    /// Sets the key file.
    pub fn set_key_file(&mut self, file: PathBuf) {
        self.credentials_key_file = Some(file);
    }

    /// Whether a key file, keys or plaintext are configured.
    pub fn has_encryption_setting(&self) -> bool {
        self.credentials_key_file.is_some() || self.plaintext_credentials || std::env::var(KEYS).is_ok()
    }

    /// Opens a database in use: a missing file is an error and is not created.
    pub async fn open_existing(&self) -> Result<Ledger, CommandError> {
        match self.address()? {
            address if address.is_absent() => Err(DatabaseNotFound(address.to_string()).into()),
            _ => Ok(self.open(false).await?.0),
        }
    }

    fn address(&self) -> Result<Address, CommandError> {
        let url = self.database.clone().or_else(url_from_env).ok_or(DatabaseNotSet)?;
        Ok(Address::parse(&url)?)
    }

    /// Opens the database, and returns its name for messages. A read-only command gets an empty database in memory
    /// instead of a missing file.
    pub async fn open(&self, only_look: bool) -> Result<(Ledger, String), CommandError> {
        let address = self.address()?;
        if address.is_unprotected() {
            print_stderr(format_args!(
                "warning: the connection to the database is not encrypted or its certificate is not verified; remove `sslmode` from {} to verify it",
                self.option_source.name("database", "--database")
            ));
        }
        let printed = address.to_string();
        let address = if only_look && address.is_absent() { Address::parse("sqlite::memory:")? } else { address };
        Ok((Ledger::open(&switchboard_gitops::SCHEMA, &address, self.sealing()?).await?, printed))
    }

    /// Reads the configured keys.
    pub fn sealing(&self) -> Result<Sealer, CommandError> {
        let keys = match &self.credentials_key_file {
            Some(path) => {
                Some(fs::read_to_string(path).map_err(|source| KeyFileReadError { path: path.clone(), source })?)
            }
            None => std::env::var(KEYS).ok(),
        };
        let read = |keys: String| {
            Sealer::with_keys(&keys).map_err(|source| match &self.credentials_key_file {
                Some(path) => CommandError::from(InvalidKeyFile { path: path.clone(), source }),
                None => source.into(),
            })
        };
        match (keys, self.plaintext_credentials) {
            // The key still decrypts values that were encrypted before.
            (Some(keys), true) => Ok(read(keys)?.into_plain()),
            (Some(keys), false) => read(keys),
            (None, true) => Ok(Sealer::plain()),
            (None, false) => Err(EncryptionNotSet(self.option_source).into()),
        }
    }
}

/// Returns the database URL of the environment; Switchboard's variable wins over those of managed-gitops.
pub fn url_from_env() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    variable(DATABASE).or_else(|| managed_gitops_url(&variable))
}

/// Returns a line with a new key for a key file.
pub fn new_key() -> String {
    let mut bytes = [0u8; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system gives random bytes");
    format!("key1:{}\n", STANDARD.encode(bytes))
}

/// Returns the database URL from the variables of managed-gitops.
pub fn managed_gitops_url(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let host = variable("DB_ADDR")?;
    let password = variable("DB_PASS").map(|password| format!(":{}", percent_encode(&password))).unwrap_or_default();
    let name = variable("POSTGRESQL_DATABASE").unwrap_or_else(|| "postgres".to_string());
    let clear = variable("DEV_ONLY_ALLOW_NON_TLS_CONNECTION_TO_POSTGRESQL");
    let clear = clear.is_some_and(|option_source| option_source.eq_ignore_ascii_case("true"));
    let mode = if clear { "?sslmode=disable" } else { "" };
    Some(format!("postgres://postgres{password}@{host}/{}{mode}", percent_encode(&name)))
}

/// Percent-encodes all other than unreserved characters.
fn percent_encode(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}
