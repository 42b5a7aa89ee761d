//! Flags for the database and for the encryption of credentials in it.

use std::path::PathBuf;

use clap::Args;
use switchboard_runtime::gitops::database::DatabaseSettings;

/// Database flags.
#[derive(Args, Clone)]
pub struct DatabaseArgs {
    /// Database: postgres://USER:PASSWORD@HOST/NAME, or sqlite:FILE [default: from DB_ADDR and DB_PASS, as in
    /// managed-gitops]
    #[arg(long, value_name = "URL", env = "SWITCHBOARD_GITOPS_DATABASE", hide_env_values = true)]
    pub database: Option<String>,

    /// File with the keys that encrypt credentials, one `ID:BASE64` a line: the first encrypts, all decrypt
    #[arg(long, value_name = "FILE")]
    pub credentials_key_file: Option<PathBuf>,

    /// Store credentials in plaintext, as managed-gitops does
    #[arg(long)]
    pub plaintext_credentials: bool,
}

impl DatabaseArgs {
    /// Returns the settings of the flags.
    pub fn settings(&self) -> DatabaseSettings {
        DatabaseSettings::new(self.database.clone(), self.credentials_key_file.clone(), self.plaintext_credentials)
    }
}
