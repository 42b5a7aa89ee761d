//! Backend and agent of managed-gitops, started as in its Makefile.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio::net::{TcpListener, TcpStream, UnixStream};

use super::{BenchServers, DATABASE, NAMESPACE, SideFigures, run_to_end};
use switchboard_suite::real::RealCluster;

/// Fixed address of PostgreSQL in managed-gitops.
const POSTGRES: &str = "127.0.0.1:5432";

/// Timeout of the backend's migration, which the agent depends on.
const MIGRATION: Duration = Duration::from_secs(20);

/// Returns the paths of backend and agent, if both are specified.
pub fn binaries() -> Option<[PathBuf; 2]> {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
    Some([path("SWITCHBOARD_MANAGED_GITOPS_BACKEND")?, path("SWITCHBOARD_MANAGED_GITOPS_AGENT")?])
}

/// Measures managed-gitops with separate servers.
pub async fn measure(count: usize, [backend, agent]: &[PathBuf; 2]) -> SideFigures {
    let ground = BenchServers::new().await;
    ground.postgres.database(DATABASE).unwrap();
    let listener = TcpListener::bind(POSTGRES).await.expect("port 5432 is free");
    let socket = ground.postgres.socket();
    let proxy = tokio::spawn(async move {
        while let Ok((from, _)) = listener.accept().await {
            tokio::spawn(forward(from, socket.clone()));
        }
    });
    engine(&ground).await;
    let start = |program: &Path| -> Child {
        let name = program.file_name().unwrap();
        let log = File::create(ground.folder.path().join(name)).unwrap();
        Command::new(program)
            // The backend reads its migrations from a path relative to its own.
            .current_dir(program.parent().unwrap())
            .args(["--zap-log-level", "error"])
            .env("KUBECONFIG", ground.real.kubeconfig())
            .env("ARGO_CD_NAMESPACE", NAMESPACE)
            .env("DB_ADDR", "127.0.0.1")
            .env("POSTGRESQL_DATABASE", DATABASE)
            .env("ENABLE_APPPROJECT_ISOLATION", "true")
            .env("DISABLE_APPSTUDIO_WEBHOOK", "true")
            .env("DEV_ONLY_ALLOW_NON_TLS_CONNECTION_TO_POSTGRESQL", "true")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap()
    };
    let first = start(backend);
    tokio::time::sleep(MIGRATION).await;
    let mut roles = [first, start(agent)];
    let measured = ground.measure("managed-gitops", count, &mut roles).await;
    proxy.abort();
    measured
}

/// Installs the published definitions of Argo CD for both sides; without them, `fleet add` would install permissive
/// ones.
pub fn engine_kinds(real: &RealCluster) {
    let bin = std::env::var_os("SWITCHBOARD_REAL_BIN").expect("`make bench` sets SWITCHBOARD_REAL_BIN");
    let kinds = Path::new(&bin).join("argocd-kinds");
    let mut command = Command::new(Path::new(&bin).join("kubectl"));
    command.arg("--kubeconfig").arg(real.kubeconfig()).args(["apply", "--server-side"]);
    for kind in ["application", "appproject"] {
        command.arg("-f").arg(kinds.join(format!("{kind}-crd.yaml")));
    }
    run_to_end(&mut command);
}

/// Creates the namespace of Argo CD, which `fleet add` creates for Switchboard.
pub async fn engine(ground: &BenchServers) {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    let namespaces = super::api(&ground.client, "v1", "Namespace", "");
    namespaces.create(&Default::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
}

async fn forward(mut from: TcpStream, socket: PathBuf) {
    if let Ok(mut to) = UnixStream::connect(socket).await {
        let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
    }
}
