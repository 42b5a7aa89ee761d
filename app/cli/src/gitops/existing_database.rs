//! Flags for a database in use: given by flags or the environment, or that of `switchboard up`.

use std::path::{Path, PathBuf};

use clap::Args;
use switchboard_runtime::gitops::database::{DatabaseSettings, url_from_env};
use switchboard_runtime::gitops::hosting::{FILE, KEYS};
use switchboard_runtime::state_dir::{self, StateDir};
use switchboard_runtime::stderr::print_stderr;
use switchboard_sql::Ledger;

use super::database::DatabaseArgs;
use crate::failure::CommandError;

/// Flags for a database in use.
#[derive(Args)]
pub struct ExistingDatabaseArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// State directory of `switchboard up` or `run`, whose database is used if no other is set [default: the directory
    /// next to the kubeconfig, else kernel in the user's data directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// No database is configured, and no state directory has one.
#[derive(Debug, thiserror::Error)]
#[error(
    "no database is configured, and there is no {FILE} in {}\nhint: pass --state-dir DIR of `switchboard up` or `run`, or --database URL with --credentials-key-file FILE or --plaintext-credentials",
    .0.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(" or ")
)]
struct NoDatabase(Vec<PathBuf>);

impl ExistingDatabaseArgs {
    /// Returns the state directory, to complete commands in hints.
    pub fn state(&self) -> StateDir {
        StateDir::of(self.state_dir.clone())
    }

    /// Opens the database; a missing file is an error. The selected kubeconfig is usually in the data directory of the
    /// cluster that it is for.
    pub async fn open(&self, kubeconfig: Option<&Path>) -> Result<Ledger, CommandError> {
        self.resolve(kubeconfig)?.open_existing().await
    }

    /// Opens the database; creates a missing file.
    pub async fn open_or_create(&self, kubeconfig: Option<&Path>) -> Result<Ledger, CommandError> {
        Ok(self.resolve(kubeconfig)?.open(false).await?.0)
    }

    fn resolve(&self, kubeconfig: Option<&Path>) -> Result<DatabaseSettings, CommandError> {
        let mut database = self.database.settings();
        if database.has_url() || url_from_env().is_some() {
            return Ok(database.with_key_beside(KEYS));
        }
        let dirs = match &self.state_dir {
            Some(dir) => vec![dir.clone()],
            None => state_dirs(kubeconfig, std::env::var_os("KUBECONFIG").map(PathBuf::from))?,
        };
        let Some(dir) = dirs.iter().find(|dir| dir.join(FILE).exists()) else {
            return Err(NoDatabase(dirs).into());
        };
        let file = dir.join(FILE);
        print_stderr(format_args!("using the database {}", file.display()));
        database.set_url(format!("sqlite:{}", file.display()));
        Ok(database.with_key_beside(KEYS))
    }
}

/// Returns the state directories that may belong to the selected cluster.
fn state_dirs(kubeconfig: Option<&Path>, variable: Option<PathBuf>) -> Result<Vec<PathBuf>, CommandError> {
    let selected = kubeconfig.map(Path::to_path_buf).or(variable);
    let beside = selected.as_deref().and_then(Path::parent).map(|data| data.join(state_dir::KERNEL));
    let mut dirs: Vec<PathBuf> = beside.into_iter().collect();
    let own = StateDir::default().path()?;
    if !dirs.contains(&own) {
        dirs.push(own);
    }
    Ok(dirs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn state_directory_beside_the_kubeconfig_comes_first() {
        let (flag, variable) = (Path::new("/data/kubeconfig"), PathBuf::from("/other/kubeconfig"));
        let dirs = state_dirs(Some(flag), Some(variable.clone())).unwrap();
        assert_eq!((dirs[0].as_path(), dirs.len()), (Path::new("/data/kernel"), 2));
        assert_eq!(state_dirs(None, Some(variable)).unwrap()[0], Path::new("/other/kernel"));
        assert_eq!(state_dirs(None, None).unwrap(), [StateDir::default().path().unwrap()]);
    }
}
