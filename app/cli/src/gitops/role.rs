//! Common parts of `switchboard gitops backend` and `switchboard gitops agent`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use switchboard_gitops::config::{GITOPS_NAMESPACE, GitopsConfig, OptionSource};
use switchboard_gitops::family::SECTION;
use switchboard_gitops::limits;
use switchboard_kernel::config::{ClusterConfig, Config, ConsoleConfig, SectionConfig};
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_runtime::cluster_access::{ClusterAccess, ClusterAccessError};
use switchboard_runtime::hosted;
use switchboard_runtime::run::{self, RunningKernel};
use switchboard_runtime::stderr::print_stderr;
use tokio::signal::unix::{SignalKind, signal};

use super::database::DatabaseArgs;
use super::managed_gitops_env;
use crate::failure::CommandError;
use crate::log::LogArgs;
use crate::own_operators::families;
use crate::state_args::StateArgs;

/// Names of the two clusters in the configuration of a role.
const TENANTS: &str = "tenants";
const ENGINE: &str = "engine";

/// Flags of both roles.
#[derive(Args)]
pub struct RoleArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Kubeconfig of the cluster with Argo CD [default: as kubectl does]
    #[arg(long, value_name = "FILE")]
    engine_kubeconfig: Option<PathBuf>,
    /// Context of that kubeconfig [default: the current context]
    #[arg(long, value_name = "NAME")]
    engine_context: Option<String>,
    /// Namespace of the Argo CD instance that is registered if the fleet is empty
    #[arg(long, value_name = "NAME", env = "ARGO_CD_NAMESPACE", default_value = GITOPS_NAMESPACE)]
    argocd_namespace: String,
    /// Let all tenants share the permissions of Argo CD, the default of managed-gitops
    #[arg(long)]
    no_isolation: bool,
    /// Address to serve metrics and health on
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// Address to serve the console and a backend's REST API on [default: loopback]
    #[arg(long, value_name = "ADDR:PORT")]
    console: Option<SocketAddr>,
    /// Host name under which clients reach the console, besides its address; may be repeated
    #[arg(long, value_name = "NAME")]
    console_host: Vec<String>,
    #[command(flatten)]
    state: StateArgs,
    /// Format of the log.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Flags for the tenants' cluster.
#[derive(Args, Default)]
pub struct TenantClusterArgs {
    /// Kubeconfig of the tenants' cluster [default: as kubectl does]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of that kubeconfig [default: the current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Share the database with other backends
    #[arg(long)]
    shared_database: bool,
    /// File with the secret that signs webhook events for all tenants [default: such events are refused]
    #[arg(long, value_name = "FILE")]
    webhook_secret_file: Option<PathBuf>,
}

/// No flag, variable or kubeconfig names the cluster of Argo CD.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not select the cluster of Argo CD: there is no kubeconfig\nhint: pass --engine-kubeconfig FILE, or set KUBECONFIG; `switchboard up` starts a cluster and prints the path of its kubeconfig"
)]
struct ArgoCdClusterNotSet;

impl RoleArgs {
    /// Runs until a signal arrives: as a backend if tenants are given, else as an agent.
    pub async fn run(self, tenants: Option<TenantClusterArgs>, name: &str) -> Result<ExitCode, CommandError> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let state = self.state.dir().or_for_operator(name).path()?;
        let engine = ClusterAccess(ClusterConfig {
            kubeconfig: self.engine_kubeconfig.clone(),
            context: self.engine_context.clone(),
        });
        if let Err(ClusterAccessError::Nowhere) = engine.config().await {
            return Err(ArgoCdClusterNotSet.into());
        }
        managed_gitops_env::ignored_variables(managed_gitops_env::process_env)
            .iter()
            .for_each(|note| print_stderr(format_args!("note: {note}")));
        let config = self.config(tenants);
        let clusters = hosted::connect(&config).await?;
        // The start may wait until a backend has migrated the database.
        let running = tokio::select! {
            running = RunningKernel::start(&config, clusters, &state, false) => running?,
            _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
            _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        run::stop(running, &mut interrupt, &mut terminate).await?;
        Ok(ExitCode::SUCCESS)
    }

    fn config(self, tenants: Option<TenantClusterArgs>) -> Config {
        let DatabaseArgs { database, credentials_key_file, plaintext_credentials } = self.database;
        let is_backend = tenants.is_some();
        let engine = ClusterConfig { kubeconfig: self.engine_kubeconfig, context: self.engine_context };
        let tenants = tenants.unwrap_or_default();
        // An agent never connects to the tenants' cluster.
        let of_tenants = match is_backend {
            true => ClusterConfig { kubeconfig: tenants.kubeconfig, context: tenants.context },
            false => engine.clone(),
        };
        let (one, other) = (ClusterName::new(TENANTS), ClusterName::new(ENGINE));
        let section = GitopsConfig {
            backend: is_backend,
            agent: !is_backend,
            database,
            credentials_key_file,
            plaintext_credentials,
            namespace: self.argocd_namespace,
            option_source: OptionSource::Flags,
            isolation: !self.no_isolation && super::isolated(),
            shared_database: tenants.shared_database,
            webhook_secret_file: tenants.webhook_secret_file,
        };
        Config {
            topology: Topology::of([one.clone(), other.clone(), one.clone()]),
            clusters: BTreeMap::from([(one, of_tenants), (other, engine)]),
            limits: limits::global(),
            listen: self.listen,
            console: ConsoleConfig { address: self.console, hosts: self.console_host, ..ConsoleConfig::default() },
            sections: BTreeMap::from([(SECTION, SectionConfig::new(section))]),
            families: families(),
            ..Config::default()
        }
    }
}
