//! Which database, and how credentials are kept in it.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use ring::rand::{SecureRandom, SystemRandom};
use switchboard_console::Flags;
use switchboard_kernel::config::Said;
use switchboard_ledger::seal::SealError;
use switchboard_ledger::{Address, Ledger, Sealing};

use crate::failure::Failure;
use crate::talk::say;

/// The database.
const DATABASE: &str = "SWITCHBOARD_GITOPS_DATABASE";

/// Keys as text, for machines whose secrets come as variables.
const KEYS: &str = "SWITCHBOARD_GITOPS_KEYS";

/// Which database.
#[derive(Args)]
pub struct Database {
    /// The database: postgres://USER:PASSWORD@HOST/NAME, or sqlite:FILE; DB_ADDR and DB_PASS of the original count as well
    #[arg(long, value_name = "URL", env = "SWITCHBOARD_GITOPS_DATABASE", hide_env_values = true)]
    database: Option<String>,

    /// Keys that credentials are encrypted with, one `ID:BASE64` a line: the first encrypts, all decrypt
    #[arg(long, value_name = "FILE")]
    credentials_key_file: Option<PathBuf>,

    /// Keep credentials in clear, as the original does
    #[arg(long)]
    plaintext_credentials: bool,

    /// Where all of this was said.
    #[arg(skip = Said::Flags)]
    said: Said,
}

/// Nobody said which database.
#[derive(Debug, thiserror::Error)]
#[error("could not tell which database is meant\nhint: give --database postgres://… or --database sqlite:FILE")]
struct NoDatabase;

/// The database's file is not there: a slip of the pen more often than a database that nobody has made yet.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not open {0}: there is no such file\nhint: check the path in --database; `switchboard gitops migrate` makes a new database"
)]
struct NotThere(String);

/// Nobody said how credentials are to be kept.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not tell how credentials are to be kept\nhint: give {} a file (a key is a line `key1:$(openssl rand -base64 32)` in it), or say {}",
    .0.name("credentialsKeyFile", "--credentials-key-file"), .0.name("plaintextCredentials", "--plaintext-credentials")
)]
struct NoSealing(Said);

/// A file of keys cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read keys from `{}`", path.display())]
struct Unread {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// A file of keys holds none that could be used.
#[derive(Debug, thiserror::Error)]
#[error("could not use the keys in `{}`", path.display())]
struct Unusable {
    path: PathBuf,
    #[source]
    source: SealError,
}

impl Database {
    /// As a configuration says.
    pub fn of(database: Option<String>, credentials_key_file: Option<PathBuf>, plaintext_credentials: bool) -> Self {
        Self { database, credentials_key_file, plaintext_credentials, said: Said::Flags }
    }

    /// Hints name where this was said.
    pub fn said_by(&mut self, said: Said) {
        self.said = said;
    }

    /// The file of keys, when one is named.
    pub fn key_file(&self) -> Option<&PathBuf> {
        self.credentials_key_file.as_ref()
    }

    /// What other commands must say to use the same; without what only its owner knows.
    pub fn flags(&self, flags: Flags) -> Flags {
        let url = self.database.clone().or_else(ambient).and_then(|url| Address::parse(&url).ok());
        let flags = url.into_iter().fold(flags, |flags, url| flags.fleet("--database", &url.url()));
        let absolute =
            |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone()).display().to_string();
        let keys = self.credentials_key_file.iter().map(absolute);
        let flags = keys.fold(flags, |flags, file| flags.fleet("--credentials-key-file", &file));
        if self.plaintext_credentials { flags.fleet("--plaintext-credentials", "") } else { flags }
    }

    /// This one, whatever was said.
    pub fn set_url(&mut self, url: String) {
        self.database = Some(url);
    }

    /// With these keys.
    pub fn set_key_file(&mut self, file: PathBuf) {
        self.credentials_key_file = Some(file);
    }

    /// Whether somebody said how credentials are kept.
    pub fn is_sealing_said(&self) -> bool {
        self.credentials_key_file.is_some() || self.plaintext_credentials || std::env::var(KEYS).is_ok()
    }

    /// What was said, for a configuration.
    pub fn said(self) -> (Option<String>, Option<PathBuf>, bool) {
        (self.database, self.credentials_key_file, self.plaintext_credentials)
    }

    /// Connects to a database that is used already: makes no file, and takes none that is not there for an empty one.
    pub async fn open_there(&self) -> Result<Ledger, Failure> {
        match self.address()? {
            address if address.is_absent() => Err(NotThere(address.to_string()).into()),
            _ => Ok(self.open(false).await?.0),
        }
    }

    fn address(&self) -> Result<Address, Failure> {
        let url = self.database.clone().or_else(ambient).ok_or(NoDatabase)?;
        Ok(Address::parse(&url)?)
    }

    /// Connects, and says where to. Whoever only looks makes no file: one that is not there holds nothing.
    pub async fn open(&self, only_look: bool) -> Result<(Ledger, String), Failure> {
        let address = self.address()?;
        if address.is_unprotected() {
            say(format_args!(
                "warning: the connection to the database is not protected; leave `sslmode` out of {} to check its certificate",
                self.said.name("database", "--database")
            ));
        }
        let told = address.to_string();
        let address = if only_look && address.is_absent() { Address::parse("sqlite::memory:")? } else { address };
        Ok((Ledger::open(&address, self.sealing()?).await?, told))
    }

    /// Whether what was said of keys can be used.
    pub fn check_sealing(&self) -> Result<(), Failure> {
        self.sealing().map(drop)
    }

    fn sealing(&self) -> Result<Sealing, Failure> {
        let keys = match &self.credentials_key_file {
            Some(path) => Some(fs::read_to_string(path).map_err(|source| Unread { path: path.clone(), source })?),
            None => std::env::var(KEYS).ok(),
        };
        let read = |keys: String| {
            Sealing::with_keys(&keys).map_err(|source| match &self.credentials_key_file {
                Some(path) => Failure::from(Unusable { path: path.clone(), source }),
                None => source.into(),
            })
        };
        match (keys, self.plaintext_credentials) {
            // With a key as well, what was encrypted is decrypted.
            (Some(keys), true) => Ok(read(keys)?.into_plain()),
            (Some(keys), false) => read(keys),
            (None, true) => Ok(Sealing::plain()),
            (None, false) => Err(NoSealing(self.said).into()),
        }
    }
}

/// The database that variables name, ours before the original's.
pub fn ambient() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    variable(DATABASE).or_else(|| original(&variable))
}

/// A line for a file of keys, with a new key.
pub fn new_key() -> String {
    let mut bytes = [0u8; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system gives random bytes");
    format!("key1:{}\n", STANDARD.encode(bytes))
}

/// The database as the original is told of it.
pub fn original(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let host = variable("DB_ADDR")?;
    let password = variable("DB_PASS").map(|password| format!(":{}", encoded(&password))).unwrap_or_default();
    let name = variable("POSTGRESQL_DATABASE").unwrap_or_else(|| "postgres".to_string());
    let clear = variable("DEV_ONLY_ALLOW_NON_TLS_CONNECTION_TO_POSTGRESQL");
    let clear = clear.is_some_and(|said| said.eq_ignore_ascii_case("true"));
    let mode = if clear { "?sslmode=disable" } else { "" };
    Some(format!("postgres://postgres{password}@{host}/{}{mode}", encoded(&name)))
}

/// What stands for itself in a URL stays, the rest becomes `%XX`.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}
