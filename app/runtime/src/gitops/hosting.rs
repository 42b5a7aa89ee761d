//! Roles of the GitOps Service under `run`, `up`, `gitops backend` and `gitops agent`.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use switchboard_console::CommandFlags;
use switchboard_gitops::config::GitopsConfig;
use switchboard_gitops::instance::fleet::{EngineClient, Fleet};
use switchboard_gitops::{Agent, Backend, Store, backend, metrics, rest, settings, setup};
use switchboard_http::limit::Rate;
use switchboard_http::{ApiSection, Guard};
use switchboard_kernel::config::Config;
use switchboard_kernel::host::Handle;
use switchboard_kernel::listener::ExtraMetrics;
use switchboard_kernel::operator::Operator;
use switchboard_kernel::topology::ClusterType;
use switchboard_sql::migration::MigrationError;
use switchboard_sql::{DbTimestamp, Ledger, Sealer, SecretString};
use tokio::task::JoinHandle;

use super::console_fleet::HostedFleet;
use super::credential::{self, CredentialError};
use super::database::{self, DatabaseSettings};
use super::network::HostNetwork;
use crate::failure::{self, CommandError};
use crate::hosted::ClusterClients;
use crate::stderr::print_stderr;

/// Default database file in the state directory.
pub const FILE: &str = "gitops.db";
/// Default key file in the state directory.
pub const KEYS: &str = "gitops.keys";

/// Roles of the service in one process.
pub struct GitopsService {
    backend: Option<Backend>,
    agent: Option<Agent>,
    fleet: Fleet,
    ledger: Ledger,
    tenants: kube::Client,
    engine: kube::Client,
    names: Vec<&'static str>,
    hook_secret: Option<SecretString>,
}

/// Poll interval of an agent that waits for a backend to migrate the database.
const LOOK_FOR_TABLES: Duration = Duration::from_secs(2);

/// Waits until the tables have the version of this binary; a backend migrates them when it starts.
async fn wait_for_migration(ledger: &Ledger) -> Result<(), MigrationError> {
    let mut is_told = false;
    loop {
        match ledger.check_schema().await {
            Err(MigrationError::OutOfDate) if !is_told => {
                print_stderr(
                    "gitops: waiting for a backend to migrate the database\nhint: or run `switchboard gitops migrate`",
                );
                is_told = true;
            }
            Err(MigrationError::OutOfDate) => {}
            over => return over,
        }
        tokio::time::sleep(LOOK_FOR_TABLES).await;
    }
}

impl GitopsService {
    /// Creates the roles of a configuration. On the embedded cluster, installs the CRDs and registers a first Argo CD
    /// instance.
    pub async fn new(
        config: &Config,
        section: &GitopsConfig,
        clusters: &ClusterClients,
        dir: &Path,
    ) -> Result<GitopsService, CommandError> {
        // Checked first: a service that cannot start must not create anything.
        let hook_secret = section.webhook_secret_file.as_deref().map(hook_secret).transpose()?;
        let client = |place| {
            let name = config.topology.cluster(place);
            clusters.clients.get(name).ok_or_else(|| format!("no cluster is named {name}"))
        };
        let (tenants, engine) = (client(ClusterType::Configuration)?, client(ClusterType::Management)?);
        for place in [ClusterType::Configuration, ClusterType::Management]
            .into_iter()
            .filter(|one| is_embedded(*one, config, clusters))
        {
            setup::install(client(place)?, &definitions(), &section.namespace).await?;
        }
        let ledger = open(section, dir).await?;
        match section.backend {
            true => drop(ledger.migrate().await?),
            false => {
                wait_for_migration(&ledger).await?;
                // Like a backend: keys that do not decrypt the stored values are reported at startup, not at a
                // deployment.
                ledger.plan_migration().await?;
            }
        }
        let store = Store::new(ledger.clone(), tokio::runtime::Handle::current());
        if section.backend {
            // Stores the setting for commands that move placements.
            settings::save_isolation(&store, section.isolation).await?;
        }
        let now = DbTimestamp::from_unix_us(Timestamp::now().as_microsecond());
        if !setup::first_instance(&store, engine, &section.namespace, now).await? {
            print_stderr(format_args!(
                "gitops: the fleet has no Argo CD instance, and namespace `{}` does not exist\nhint: create that namespace with an Argo CD or with the operator `engine`, or set another one with {}",
                section.namespace,
                section.option_source.name("namespace", "--argocd-namespace")
            ));
        }
        let engines = setup::cluster_uid(engine).await?;
        if section.agent && !setup::has_instance(&store, &engines).await? {
            print_stderr(
                "gitops: no Argo CD instance of the fleet is on this cluster, and the agent ignores those of other clusters\nhint: add an instance of this cluster with `switchboard gitops fleet add`; with --cluster-recreated it replaces a former instance",
            );
        }
        let cluster = setup::cluster_identity(tenants).await?;
        let is_one =
            config.topology.cluster(ClusterType::Configuration) == config.topology.cluster(ClusterType::Management);
        let settings = backend::BackendSettings {
            isolated: section.isolation,
            shared_database: section.shared_database,
            // Clusters that cannot be distinguished are not treated as one: a tenant could deploy to the namespace of
            // another.
            in_cluster: is_one || cluster.as_ref() == Some(&engines),
            cluster,
            engine: Some(engines.clone()),
            ..backend::BackendSettings::default()
        };
        let backend = section.backend.then(|| Backend::new(store.clone(), settings));
        let agent = section.agent.then(|| Agent::new(store.clone(), section.isolation, engines));
        let names = [("gitops backend", section.backend), ("gitops agent", section.agent)];
        let names = names.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
        let fleet = Fleet::new(store, engine.clone(), section.isolation);
        let (tenants, engine) = (tenants.clone(), engine.clone());
        Ok(GitopsService { backend, agent, fleet, ledger, tenants, engine, names, hook_secret })
    }

    /// Returns the display names of the roles.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.names.iter().map(ToString::to_string)
    }

    /// Returns the operators that the kernel hosts.
    pub fn operators(&self) -> Vec<Arc<dyn Operator>> {
        let backend = self.backend.iter().flat_map(Backend::operators);
        let agent = self.agent.iter().flat_map(Agent::operators);
        backend.chain(agent).collect()
    }

    /// Returns the REST API, if this process is a backend: the API writes what a backend reconciles.
    pub fn rest(&self) -> Option<ApiSection> {
        let guard = Guard::new(self.tenants.clone(), Rate::default());
        let service = rest::GitOpsApi::new(guard, self.tenants.clone(), self.ledger.clone())
            .with_engine_client(self.engine.clone());
        let service = service.with_webhook_secret(self.hook_secret.clone());
        self.backend.is_some().then(|| rest::section(service))
    }

    /// Returns the fleet for the console.
    pub fn fleet(&self) -> Arc<dyn switchboard_console::fleet::FleetProvider> {
        Arc::new(HostedFleet::new(self.fleet.clone(), self.ledger.clone()))
    }

    /// Returns the Prometheus metrics of the service: a backend counts rows, an agent also the objects of Argo CD.
    pub fn metrics(&self) -> ExtraMetrics {
        let engine = self.agent.is_some().then(|| EngineClient::new(self.engine.clone()));
        let (ledger, backend) = (self.ledger.clone(), self.backend.clone());
        Arc::new(move || {
            let (ledger, engine) = (ledger.clone(), engine.clone());
            let failing = backend.as_ref().map_or(0, Backend::failed_deployments);
            Box::pin(async move {
                let (page, error) = metrics::page(&ledger, engine.as_ref(), failing).await;
                if let Some(error) = error {
                    print_stderr(failure::message(&error));
                }
                page
            })
        })
    }

    /// Follows the database and runs the checks of clusters and git servers, until the kernel stops.
    pub fn follow(self, handle: &Handle, dir: &Path) -> Vec<JoinHandle<()>> {
        // The role that writes Argo CD objects also carries out moves.
        let carrying = self.agent.is_some().then_some(self.fleet);
        let mut tasks: Vec<JoinHandle<()>> =
            carrying.into_iter().map(|fleet| tokio::spawn(fleet.drive_moves())).collect();
        if let Some(agent) = self.agent {
            let handle = handle.clone();
            tasks.push(tokio::spawn(async move {
                while let Err(error) = agent.watch_rows(handle.clone()).await {
                    print_stderr(failure::message(&error));
                    tokio::time::sleep(FOLLOW_AGAIN).await;
                }
            }));
        }
        let Some(backend) = self.backend else { return tasks };
        let network = Arc::new(HostNetwork::new(dir));
        let (answering, requests) = (backend.clone(), handle.clone());
        let answering = tokio::spawn(async move { answering.run_external_checks(network, requests).await });
        let handle = handle.clone();
        let following = tokio::spawn(async move {
            while let Err(error) = backend.watch_rows(handle.clone()).await {
                print_stderr(failure::message(&error));
                tokio::time::sleep(FOLLOW_AGAIN).await;
            }
            self.ledger.close().await;
        });
        tasks.extend([answering, following]);
        tasks
    }
}

/// Reads a secret from the first line of a file.
fn hook_secret(path: &Path) -> Result<SecretString, CredentialError> {
    const WHAT: &str = "the secret of webhook events";
    let text = credential::read(WHAT, path)?;
    // With an empty secret, any sender could sign.
    match text.lines().next().filter(|line| !line.trim().is_empty()) {
        Some(line) => Ok(SecretString::from(line)),
        None => Err(CredentialError::Empty { what: WHAT, path: path.to_path_buf() }),
    }
}

/// Delay before the database is followed again after an error.
const FOLLOW_AGAIN: std::time::Duration = std::time::Duration::from_secs(2);

/// Whether a cluster type is served by this process.
pub fn is_embedded(place: ClusterType, config: &Config, clusters: &ClusterClients) -> bool {
    let elsewhere = config
        .clusters
        .get(config.topology.cluster(place))
        .is_some_and(|cluster| cluster.kubeconfig.is_some() || cluster.context.is_some());
    clusters.embedded.is_some() && !elsewhere
}

async fn open(section: &GitopsConfig, dir: &Path) -> Result<Ledger, CommandError> {
    let database = database_of(section, dir);
    // A key is generated only for the default key file.
    if let Some(file) = database.key_file().filter(|file| **file == dir.join(KEYS)) {
        ensure_key_file(file)?;
    }
    Ok(database.open(false).await?.0)
}

/// Returns the database and its keys, with the defaults for missing settings.
fn database_of(section: &GitopsConfig, dir: &Path) -> DatabaseSettings {
    let database_url = section.database.clone().or_else(database::url_from_env);
    let mut database = DatabaseSettings::new(
        database_url.clone(),
        section.credentials_key_file.clone(),
        section.plaintext_credentials,
    );
    database.set_origin(section.option_source);
    if database_url.is_none() {
        database.set_url(format!("sqlite:{}", dir.join(FILE).display()));
        if !database.has_encryption_setting() {
            database.set_key_file(dir.join(KEYS));
        }
    }
    database
}

/// Adds the flags that commands need to use the service's database.
pub fn flags(section: &GitopsConfig, dir: &Path, flags: CommandFlags) -> CommandFlags {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    database_of(section, &dir).flags(flags)
}

/// Checked settings of a service; nothing is created.
pub struct SettingsCheck {
    /// URL of the database.
    pub database: String,
    /// Configured keys; `None` if the service generates one at its first start.
    pub keys: Result<Option<Sealer>, CommandError>,
    /// Whether the secret of webhook events is usable.
    pub hook_secret: Result<(), CommandError>,
}

impl SettingsCheck {
    /// Checks the settings of a configuration.
    pub fn of(section: &GitopsConfig, dir: &Path) -> Self {
        let database_url = section.database.clone().or_else(database::url_from_env);
        let mut keys = DatabaseSettings::new(
            database_url.clone(),
            section.credentials_key_file.clone(),
            section.plaintext_credentials,
        );
        keys.set_origin(section.option_source);
        let is_default = database_url.is_none() && !keys.has_encryption_setting();
        if is_default {
            keys.set_key_file(dir.join(KEYS));
        }
        let create_key = is_default && !dir.join(KEYS).exists();
        let secret = section.webhook_secret_file.as_deref().map(hook_secret).transpose();
        Self {
            database: database_url.unwrap_or_else(|| format!("sqlite:{}", dir.join(FILE).display())),
            keys: if create_key { Ok(None) } else { keys.sealing().map(Some) },
            hook_secret: secret.map(drop).map_err(Into::into),
        }
    }
}

/// A key file could not be created.
#[derive(Debug, thiserror::Error)]
#[error("could not create a key in `{}`", path.display())]
struct KeyFileCreateError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// Creates the key file, readable by its owner only, unless it exists.
fn ensure_key_file(file: &Path) -> Result<(), KeyFileCreateError> {
    let failed = |source| KeyFileCreateError { path: file.to_path_buf(), source };
    if file.try_exists().map_err(failed)? {
        return Ok(());
    }
    write_key_file(file).map_err(failed)
}

/// Writes the key file atomically: a partial file would break every later start.
fn write_key_file(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A temporary file is readable by its owner only.
    let mut create_key = tempfile::Builder::new().prefix(".keys-").tempfile_in(folder)?;
    create_key.write_all(database::new_key().as_bytes())?;
    create_key.as_file().sync_all()?;
    match create_key.persist_noclobber(file) {
        Ok(_) => File::open(folder)?.sync_all(),
        // Another process created the file first; its key counts.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

/// Returns the CRDs of Argo CD, for a cluster without them.
fn definitions() -> Vec<serde_json::Value> {
    switchboard_gitops::instance::definitions()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn key_is_created_once_atomically_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(KEYS);
        ensure_key_file(&file).unwrap();
        let key = std::fs::read_to_string(&file).unwrap();
        Sealer::with_keys(&key).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        ensure_key_file(&file).unwrap();
        write_key_file(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), key, "the one that is there stays");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn unusable_key_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(KEYS);
        std::fs::write(&file, "").unwrap();
        let refused = DatabaseSettings::new(None, Some(file.clone()), false).sealing().err().unwrap();
        let printed = failure::message(&*refused);
        assert!(printed.contains(&file.display().to_string()) && printed.contains("no line `ID:BASE64`"), "{printed}");
        assert!(printed.contains("\nhint: "), "{printed}");
        let printed = failure::message(&ensure_key_file(&dir.path().join("no/such").join(KEYS)).unwrap_err());
        assert!(printed.contains("no/such"), "{printed}");
    }
}
