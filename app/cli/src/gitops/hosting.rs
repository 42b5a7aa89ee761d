//! The roles of the GitOps Service under `run`, `up`, `gitops backend` and `gitops agent`.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use switchboard_console::Flags;
use switchboard_kernel::config::{Config, GitopsConfig};
use switchboard_kernel::host::Handle;
use switchboard_kernel::listener::More;
use switchboard_kernel::operator::Operator;
use switchboard_kernel::place::Place;
use switchboard_ledger::migration::MigrationError;
use switchboard_ledger::{Address, Ledger, Moment, Sealing, Secret};
use switchboard_rest::limit::Rate;
use switchboard_rest::{Area, Guard, gitops as rest};
use switchboard_service::fleet::{Engine, Fleet};
use switchboard_service::{Agent, Backend, Store, backend, metrics, settings, setup};
use tokio::task::JoinHandle;

use super::credential::{self, CredentialError};
use super::database::{self, Database};
use super::network::Outside;
use super::units::Units;
use crate::failure::{self, Failure};
use crate::guests::Clusters;
use crate::talk::say;

/// The database, when nobody says which: beside the journal.
const FILE: &str = "gitops.db";
/// The keys of its credentials, when nobody says which.
const KEYS: &str = "gitops.keys";

/// The roles of one process.
pub struct Service {
    backend: Option<Backend>,
    agent: Option<Agent>,
    fleet: Fleet,
    ledger: Ledger,
    tenants: kube::Client,
    engine: kube::Client,
    names: Vec<&'static str>,
    hook_secret: Option<Secret>,
}

/// How often an agent looks whether a backend has migrated its database.
const LOOK_FOR_TABLES: Duration = Duration::from_secs(2);

/// Waits until the tables are those of this version: a backend makes them when it starts.
async fn migrated(ledger: &Ledger) -> Result<(), MigrationError> {
    let mut is_told = false;
    loop {
        match ledger.check_schema().await {
            Err(MigrationError::Behind) if !is_told => {
                say(
                    "gitops: waits for a backend to migrate the database\nhint: `switchboard gitops migrate` does it, too",
                );
                is_told = true;
            }
            Err(MigrationError::Behind) => {}
            over => return over,
        }
        tokio::time::sleep(LOOK_FOR_TABLES).await;
    }
}

impl Service {
    /// By what a configuration says. On the embedded cluster the kinds are made, and a first Argo CD is made known.
    pub async fn new(
        config: &Config,
        section: &GitopsConfig,
        clusters: &Clusters,
        dir: &Path,
    ) -> Result<Service, Failure> {
        // First of all: nothing is made for a service that will not start.
        let hook_secret = section.webhook_secret_file.as_deref().map(hook_secret).transpose()?;
        let client = |place| {
            let name = config.topology.cluster(place);
            clusters.clients.get(name).ok_or_else(|| format!("no cluster is called {name}"))
        };
        let (tenants, engine) = (client(Place::Configuration)?, client(Place::Management)?);
        for place in [Place::Configuration, Place::Management].into_iter().filter(|one| is_own(*one, config, clusters))
        {
            setup::install(client(place)?, &definitions(), &section.namespace).await?;
        }
        let ledger = open(section, dir).await?;
        match section.backend {
            true => drop(ledger.migrate().await?),
            false => {
                migrated(&ledger).await?;
                // As a backend does: keys that do not open what is stored are told of now, not when something is deployed.
                ledger.plan_migration().await?;
            }
        }
        let store = Store::new(ledger.clone(), tokio::runtime::Handle::current());
        if section.backend {
            // Commands that move units are told here what their agents are told by flags and files.
            settings::keep_isolation(&store, section.isolation).await?;
        }
        let now = Moment::from_unix_us(Timestamp::now().as_microsecond());
        if !setup::first_instance(&store, engine, &section.namespace, now).await? {
            say(format_args!(
                "gitops: no Argo CD is known, and there is no namespace `{}`\nhint: make that namespace, with an Argo CD or the operator `engine` at work in it, or name another with {}",
                section.namespace,
                section.said.name("namespace", "--argocd-namespace")
            ));
        }
        let engines = setup::known_as(engine).await?;
        if section.agent && !setup::has_instance(&store, &engines).await? {
            say(
                "gitops: no Argo CD that the database knows is on this cluster, and the agent leaves those of other clusters alone\nhint: `switchboard gitops fleet add` makes one of this cluster known; with --cluster-made-anew it is taken for a former one",
            );
        }
        let cluster = setup::identity(tenants).await?;
        let is_one = config.topology.cluster(Place::Configuration) == config.topology.cluster(Place::Management);
        let settings = backend::Settings {
            isolated: section.isolation,
            shared: section.shared_database,
            // Clusters that cannot be told apart are not taken for one: a tenant would deploy to somebody else's namespace.
            in_cluster: is_one || cluster.as_ref() == Some(&engines),
            cluster,
            engine: Some(engines.clone()),
            ..backend::Settings::default()
        };
        let backend = section.backend.then(|| Backend::new(store.clone(), settings));
        let agent = section.agent.then(|| Agent::new(store.clone(), section.isolation, engines));
        let names = [("gitops backend", section.backend), ("gitops agent", section.agent)];
        let names = names.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
        let fleet = Fleet::new(store, engine.clone(), section.isolation);
        let (tenants, engine) = (tenants.clone(), engine.clone());
        Ok(Service { backend, agent, fleet, ledger, tenants, engine, names, hook_secret })
    }

    /// Their names, for people.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.names.iter().map(ToString::to_string)
    }

    /// What the kernel hosts.
    pub fn operators(&self) -> Vec<Arc<dyn Operator>> {
        let backend = self.backend.iter().flat_map(Backend::operators);
        let agent = self.agent.iter().flat_map(Agent::operators);
        backend.chain(agent).collect()
    }

    /// The REST API, where the backend is: it writes what the backend looks after.
    pub fn rest(&self) -> Option<Area> {
        let guard = Guard::new(self.tenants.clone(), Rate::default());
        let service = rest::Service::new(guard, self.tenants.clone(), self.ledger.clone()).engines(self.engine.clone());
        let service = service.hook_secret(self.hook_secret.clone());
        self.backend.is_some().then(|| rest::area(service))
    }

    /// What the console knows of the fleet, and what it moves units with.
    pub fn units(&self) -> Arc<dyn switchboard_console::fleet::Fleet> {
        Arc::new(Units::new(self.fleet.clone(), self.ledger.clone()))
    }

    /// What Prometheus reads of the service: the backend counts rows, an agent Argo CD's objects as well.
    pub fn metrics(&self) -> More {
        let engine = self.agent.is_some().then(|| Engine::new(self.engine.clone()));
        let (ledger, backend) = (self.ledger.clone(), self.backend.clone());
        Arc::new(move || {
            let (ledger, engine) = (ledger.clone(), engine.clone());
            let failing = backend.as_ref().map_or(0, Backend::failing);
            Box::pin(async move {
                let (page, error) = metrics::page(&ledger, engine.as_ref(), failing).await;
                if let Some(error) = error {
                    say(failure::tell(&error));
                }
                page
            })
        })
    }

    /// Follows the database, and answers what units ask of clusters and git servers, until the kernel stops.
    pub fn follow(self, handle: &Handle, dir: &Path) -> Vec<JoinHandle<()>> {
        // Whoever looks after Argo CD's objects carries units between instances, too.
        let carrying = self.agent.is_some().then_some(self.fleet);
        let mut tasks: Vec<JoinHandle<()>> = carrying.into_iter().map(|fleet| tokio::spawn(fleet.carry())).collect();
        if let Some(agent) = self.agent {
            let handle = handle.clone();
            tasks.push(tokio::spawn(async move {
                while let Err(error) = agent.follow(handle.clone()).await {
                    say(failure::tell(&error));
                    tokio::time::sleep(FOLLOW_AGAIN).await;
                }
            }));
        }
        let Some(backend) = self.backend else { return tasks };
        let network = Arc::new(Outside::new(dir));
        let (answering, asked) = (backend.clone(), handle.clone());
        let answering = tokio::spawn(async move { answering.answer(network, asked).await });
        let handle = handle.clone();
        let following = tokio::spawn(async move {
            while let Err(error) = backend.follow(handle.clone()).await {
                say(failure::tell(&error));
                tokio::time::sleep(FOLLOW_AGAIN).await;
            }
            self.ledger.close().await;
        });
        tasks.extend([answering, following]);
        tasks
    }
}

/// A secret in a file: its first line.
fn hook_secret(path: &Path) -> Result<Secret, CredentialError> {
    const WHAT: &str = "the secret of webhook events";
    let text = credential::read(WHAT, path)?;
    // Whoever signs with nothing would be believed.
    match text.lines().next().filter(|line| !line.trim().is_empty()) {
        Some(line) => Ok(Secret::from(line)),
        None => Err(CredentialError::Empty { what: WHAT, path: path.to_path_buf() }),
    }
}

/// How soon is listened again to a database that was not there.
const FOLLOW_AGAIN: std::time::Duration = std::time::Duration::from_secs(2);

/// Whether a place is a cluster of this very process.
pub fn is_own(place: Place, config: &Config, clusters: &Clusters) -> bool {
    let elsewhere = config
        .clusters
        .get(config.topology.cluster(place))
        .is_some_and(|cluster| cluster.kubeconfig.is_some() || cluster.context.is_some());
    clusters.embedded.is_some() && !elsewhere
}

async fn open(section: &GitopsConfig, dir: &Path) -> Result<Ledger, Failure> {
    let database = database_of(section, dir);
    // One that is made is made where nobody named another.
    if let Some(file) = database.key_file().filter(|file| **file == dir.join(KEYS)) {
        made_key(file)?;
    }
    Ok(database.open(false).await?.0)
}

/// The database of a service and its keys, with what is used when nobody names one.
fn database_of(section: &GitopsConfig, dir: &Path) -> Database {
    let said = section.database.clone().or_else(database::ambient);
    let mut database = Database::of(said.clone(), section.credentials_key_file.clone(), section.plaintext_credentials);
    database.said_by(section.said);
    if said.is_none() {
        database.set_url(format!("sqlite:{}", dir.join(FILE).display()));
        if !database.is_sealing_said() {
            database.set_key_file(dir.join(KEYS));
        }
    }
    database
}

/// What commands over the database of a service must say.
pub fn flags(section: &GitopsConfig, dir: &Path, flags: Flags) -> Flags {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    database_of(section, &dir).flags(flags)
}

/// What a service would use, without making any of it.
pub struct Means {
    /// Its database.
    pub database: String,
    /// Whether its keys can be used; none are needed where one is made.
    pub keys: Result<(), Failure>,
    /// Whether the secret of webhook events can be.
    pub hook_secret: Result<(), Failure>,
}

impl Means {
    /// By what a configuration says.
    pub fn of(section: &GitopsConfig, dir: &Path) -> Self {
        let said = section.database.clone().or_else(database::ambient);
        let mut keys = Database::of(said.clone(), section.credentials_key_file.clone(), section.plaintext_credentials);
        keys.said_by(section.said);
        let made = said.is_none() && !keys.is_sealing_said();
        let secret = section.webhook_secret_file.as_deref().map(hook_secret).transpose();
        Self {
            database: said.unwrap_or_else(|| format!("sqlite:{}", dir.join(FILE).display())),
            keys: if made { Ok(()) } else { keys.check_sealing() },
            hook_secret: secret.map(drop).map_err(Into::into),
        }
    }
}

/// The operators of a service over a database that is in memory and empty: for whoever asks what they declare.
pub async fn declaring(section: &GitopsConfig) -> Result<Vec<Arc<dyn Operator>>, Failure> {
    let ledger = Ledger::open(&Address::parse("sqlite::memory:")?, Sealing::plain()).await?;
    let store = Store::new(ledger, tokio::runtime::Handle::current());
    let settings = backend::Settings { isolated: section.isolation, ..backend::Settings::default() };
    let backend = section.backend.then(|| Backend::new(store.clone(), settings).operators());
    let agent = section.agent.then(|| Agent::new(store, section.isolation, setup::SYSTEM.into()).operators());
    Ok(backend.into_iter().chain(agent).flatten().collect())
}

/// No file of keys can be made.
#[derive(Debug, thiserror::Error)]
#[error("could not make a key in `{}`", path.display())]
struct NoKeyMade {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// A key that only its owner reads: the one that is there, or a new one.
fn made_key(file: &Path) -> Result<(), NoKeyMade> {
    let failed = |source| NoKeyMade { path: file.to_path_buf(), source };
    if file.try_exists().map_err(failed)? {
        return Ok(());
    }
    key_in(file).map_err(failed)
}

/// The file is there with its key or not at all: one that was made by half would stop every later start.
fn key_in(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Only its owner reads a file of this sort.
    let mut made = tempfile::Builder::new().prefix(".keys-").tempfile_in(folder)?;
    made.write_all(database::new_key().as_bytes())?;
    made.as_file().sync_all()?;
    match made.persist_noclobber(file) {
        Ok(_) => File::open(folder)?.sync_all(),
        // Somebody else was faster, whose key counts.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

/// Argo CD's kinds, for a cluster that has none.
fn definitions() -> Vec<serde_json::Value> {
    switchboard_gitops::fleet::setup::definitions()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_whole_once_and_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(KEYS);
        made_key(&file).unwrap();
        let key = std::fs::read_to_string(&file).unwrap();
        Sealing::with_keys(&key).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        made_key(&file).unwrap();
        key_in(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), key, "the one that is there stays");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_file_of_keys_that_cannot_be_used_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(KEYS);
        std::fs::write(&file, "").unwrap();
        let refused = Database::of(None, Some(file.clone()), false).check_sealing().unwrap_err();
        let told = failure::tell(&*refused);
        assert!(told.contains(&file.display().to_string()) && told.contains("there is no line `ID:BASE64`"), "{told}");
        assert!(told.contains("\nhint: "), "{told}");
        let told = failure::tell(&made_key(&dir.path().join("no/such").join(KEYS)).unwrap_err());
        assert!(told.contains("no/such"), "{told}");
    }
}
