//! What `switchboard gitops backend` and `switchboard gitops agent` have in common.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use switchboard_kernel::config::{ClusterConfig, Config, ConsoleConfig, GITOPS_NAMESPACE, GitopsConfig, Said};
use switchboard_kernel::place::{ClusterName, Topology};
use switchboard_service::limits;
use tokio::signal::unix::{SignalKind, signal};

use super::database::Database;
use super::original;
use crate::failure::Failure;
use crate::guests;
use crate::kernel::StateDir;
use crate::reach::{Reach, ReachError};
use crate::run::{self, Running};
use crate::talk::say;

/// How the two clusters are called here.
const TENANTS: &str = "tenants";
const ENGINE: &str = "engine";

/// Where a role works.
#[derive(Args)]
pub struct Role {
    #[command(flatten)]
    database: Database,
    /// The cluster of Argo CD [default: the kubeconfig and context that are current]
    #[arg(long, value_name = "FILE")]
    engine_kubeconfig: Option<PathBuf>,
    /// The context in that kubeconfig
    #[arg(long, value_name = "NAME")]
    engine_context: Option<String>,
    /// The namespace of an Argo CD that is made known when there is none
    #[arg(long, value_name = "NAME", env = "ARGO_CD_NAMESPACE", default_value = GITOPS_NAMESPACE)]
    argocd_namespace: String,
    /// Let all tenants share what Argo CD may do, as the original does unless told otherwise
    #[arg(long)]
    no_isolation: bool,
    /// Serve metrics and health here
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// Serve the console here, and with it the REST API of a backend [default: this machine alone]
    #[arg(long, value_name = "ADDR:PORT")]
    console: Option<SocketAddr>,
    /// A name by which it is reached there, beside its address; may be repeated
    #[arg(long, value_name = "NAME")]
    console_host: Vec<String>,
    #[command(flatten)]
    state: StateDir,
}

/// The cluster of the tenants.
#[derive(Args, Default)]
pub struct Tenants {
    /// The cluster of the tenants [default: the kubeconfig and context that are current]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context in that kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Other backends keep their tenants in the same database
    #[arg(long)]
    shared_database: bool,
    /// The secret that events of git servers for all tenants are signed with [default: such events are not believed]
    #[arg(long, value_name = "FILE")]
    webhook_secret_file: Option<PathBuf>,
}

/// Nothing says where Argo CD is.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not tell which cluster Argo CD is on: there is no kubeconfig\nhint: give one with --engine-kubeconfig FILE, or set KUBECONFIG; `switchboard up` starts a cluster and prints the path of one"
)]
struct NoEngine;

impl Role {
    /// Runs until a signal comes: as backend of these tenants, or as agent.
    pub async fn run(self, tenants: Option<Tenants>, name: &str) -> Result<ExitCode, Failure> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let state = self.state.clone().or_alone(name).path()?;
        let engine = Reach { kubeconfig: self.engine_kubeconfig.clone(), context: self.engine_context.clone() };
        if let Err(ReachError::Nowhere) = engine.config().await {
            return Err(NoEngine.into());
        }
        original::unheard(original::ambient).iter().for_each(|unheard| say(format_args!("note: {unheard}")));
        let config = self.config(tenants);
        let clusters = guests::clusters(&config).await?;
        // To start may take as long as somebody else takes to migrate the database.
        let running = tokio::select! {
            running = Running::start(&config, clusters, &state, false) => running?,
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

    fn config(self, tenants: Option<Tenants>) -> Config {
        let (database, credentials_key_file, plaintext_credentials) = self.database.said();
        let is_backend = tenants.is_some();
        let engine = ClusterConfig { kubeconfig: self.engine_kubeconfig, context: self.engine_context };
        let tenants = tenants.unwrap_or_default();
        // An agent never speaks to the tenants' cluster.
        let of_tenants = match is_backend {
            true => ClusterConfig { kubeconfig: tenants.kubeconfig, context: tenants.context },
            false => engine.clone(),
        };
        let (one, other) = (ClusterName::new(TENANTS), ClusterName::new(ENGINE));
        Config {
            topology: Topology::of([one.clone(), other.clone(), one.clone()]),
            clusters: BTreeMap::from([(one, of_tenants), (other, engine)]),
            limits: limits::global(),
            listen: self.listen,
            console: ConsoleConfig { address: self.console, hosts: self.console_host, ..ConsoleConfig::default() },
            gitops: Some(GitopsConfig {
                backend: is_backend,
                agent: !is_backend,
                database,
                credentials_key_file,
                plaintext_credentials,
                namespace: self.argocd_namespace,
                said: Said::Flags,
                isolation: !self.no_isolation && super::isolated(),
                shared_database: tenants.shared_database,
                webhook_secret_file: tenants.webhook_secret_file,
                ..GitopsConfig::default()
            }),
            ..Config::default()
        }
    }
}
