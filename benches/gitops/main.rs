//! Deployments, from their creation to Argo CD's Application, with kube-apiserver and PostgreSQL: throughput, memory of
//! an idle deployment, and database load. Then ten times as many on the embedded cluster and SQLite, where the last
//! ones must cost as much CPU time as the first ones. No Argo CD runs, because the measurement ends at the Application.
//!
//! `DEPLOYMENTS=100` reduces the number, and `SIDES=switchboard,embedded` omits the others (`bare`, `managed-gitops`).
//! `SWITCHBOARD_MANAGED_GITOPS_BACKEND` and `SWITCHBOARD_MANAGED_GITOPS_AGENT` are the paths of managed-gitops binaries, built
//! elsewhere; without them, the comparison is skipped with a message. The bench fails after all tables if a goal is
//! missed.

#![allow(clippy::unwrap_used)]

mod goals;
mod managed_gitops;
mod progress;
mod work;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::StreamExt;
use goals::GitopsGoals;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use progress::{applications, until_deployed, until_idle};
use serde_json::json;
use switchboard_sql::postgres_server::PostgresServer;
use switchboard_suite::process::{UpProcess, binary};
use switchboard_suite::real::RealCluster;
use work::{WorkCounters, transactions};

/// Number of tenants that share the deployments.
const TENANTS: usize = 20;

/// Number of concurrent requests that create deployments.
const CREATE_AT_ONCE: usize = 16;

/// Duration of the idle measurement.
const IDLE: Duration = Duration::from_secs(30);

/// Maximum duration of remaining work before the idle measurement.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// Startup time of the programs.
const SETTLE: Duration = Duration::from_secs(10);

/// Duration without transactions after which the database is idle. PostgreSQL reports a connection's statistics up to
/// ten seconds late.
const QUIET_PERIOD: Duration = Duration::from_secs(25);

const DATABASE: &str = "gitops";
const NAMESPACE: &str = "argocd-bench";

fn main() -> std::process::ExitCode {
    let mut goals = GitopsGoals::default();
    let count: usize = std::env::var("DEPLOYMENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!(
        "| | deployments | created in | all Applications after | a second | backend per deployment | agent per deployment | transactions in {} idle s |",
        IDLE.as_secs()
    );
    println!("|---|---|---|---|---|---|---|---|");
    let bare = is_wanted("bare").then(|| runtime.block_on(bare(count)));
    let ours = is_wanted("switchboard").then(|| runtime.block_on(switchboard(count)));
    if let (Some(bare), Some(ours)) = (bare, &ours) {
        println!("{:.0} % of what the API server alone could do", 100.0 * ours.a_second / bare);
    }
    if let Some(ours) = &ours {
        goals.at_most("transactions of an idle service", ours.idle as f64, 0.0);
    }
    match managed_gitops::binaries() {
        _ if !is_wanted("managed-gitops") => {}
        Some(binaries) => {
            let theirs = runtime.block_on(managed_gitops::measure(count, &binaries));
            if let Some(bare) = bare {
                println!("the API server alone does {:.1} times as much as managed-gitops", bare / theirs.a_second);
            }
            if let Some(ours) = &ours {
                let times = ours.a_second / theirs.a_second;
                println!("{times:.1} times the throughput of managed-gitops");
                goals.at_least("times the throughput of managed-gitops", times, TIMES_GOAL);
            }
        }
        None => println!(
            "managed-gitops: not measured, SWITCHBOARD_MANAGED_GITOPS_BACKEND and SWITCHBOARD_MANAGED_GITOPS_AGENT do not name its binaries"
        ),
    }
    if is_wanted("embedded") {
        let parts = runtime.block_on(embedded(count * 10));
        goals.at_most(
            "what a deployment of the last part takes, in those of the first",
            parts[PARTS - 1] / parts[0],
            LINEAR_GOAL,
        );
    }
    goals.exit_code()
}

const SIDES: [&str; 4] = ["bare", "switchboard", "managed-gitops", "embedded"];

/// Whether a side is selected. By default, all sides are.
fn is_wanted(side: &str) -> bool {
    let Ok(sides) = std::env::var("SIDES") else { return true };
    let wanted: Vec<&str> = sides.split(',').map(str::trim).collect();
    assert!(wanted.iter().all(|one| SIDES.contains(one)), "SIDES takes {}, and not `{sides}`", SIDES.join(", "));
    wanted.contains(&side)
}

/// Minimum throughput relative to managed-gitops.
const TIMES_GOAL: f64 = 10.0;

/// Maximum cost of a deployment of the last part relative to the first part.
const LINEAR_GOAL: f64 = 1.3;

/// Figures of a side.
struct SideFigures {
    /// Deployments per second, from the first creation to the last Application.
    a_second: f64,
    /// Transactions while idle.
    idle: i64,
}

/// Number of parts of the deployments on the embedded cluster.
const PARTS: usize = 4;

/// Measures both roles in one process with the embedded cluster and SQLite: CPU time per deployment of each part.
/// Elapsed time would depend more on other load of the machine.
async fn embedded(count: usize) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("switchboard.yaml");
    // As high as the limits of roles in separate processes.
    let limits = "limits: {requestsPerSecond: 4000}";
    std::fs::write(&config, format!("console: off\n{limits}\ngitops: {{namespace: {NAMESPACE}}}\n")).unwrap();
    let data = folder.path().join("data");
    let mut up = UpProcess::start_with(&data, &["--config".as_ref(), config.as_os_str()]).unwrap();
    let client = up.client().await.unwrap();
    tenants(&client).await;
    println!(
        "| deployments | all Applications after | a second | processor time of each | resident |\n|---|---|---|---|---|"
    );
    let mut parts = Vec::new();
    let mut all = applications(&client);
    until_idle(up.id()).await;
    for part in 0..PARTS {
        let (from, to) = (count * part / PARTS, count * (part + 1) / PARTS);
        let (begin, before) = (Instant::now(), work::seconds_of(up.id()));
        futures::stream::iter(from..to).for_each_concurrent(CREATE_AT_ONCE, |number| create(&client, number)).await;
        until_deployed(&mut all, to).await;
        let took = begin.elapsed().as_secs_f64();
        // Includes the remaining work of the part; otherwise it would count for the next part.
        until_idle(up.id()).await;
        let each = (work::seconds_of(up.id()) - before) * 1000.0 / (to - from) as f64;
        let resident = resident_kib(up.id()) as f64 / 1024.0;
        let a_second = (to - from) as f64 / took;
        println!("| {from} to {to} | {took:.1} s | {a_second:.0} | {each:.1} ms | {resident:.0} MiB |");
        parts.push(each);
    }
    parts
}

async fn tenants(client: &kube::Client) {
    let namespaces = api(client, "v1", "Namespace", "");
    for tenant in 0..TENANTS {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": format!("tenant-{tenant}") } });
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
    }
}

/// API server and database, with the tenants' kinds.
struct BenchServers {
    real: RealCluster,
    postgres: PostgresServer,
    client: kube::Client,
    folder: tempfile::TempDir,
}

impl BenchServers {
    async fn new() -> BenchServers {
        let (folder, real, postgres) =
            (tempfile::tempdir().unwrap(), RealCluster::start_own().unwrap(), PostgresServer::start().unwrap());
        let kubeconfig = kube::config::Kubeconfig::read_from(real.kubeconfig()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
        let client = kube::Client::try_from(config).unwrap();
        kinds(&real, folder.path());
        managed_gitops::engine_kinds(&real);
        // Autovacuum would add transactions at arbitrary times.
        postgres.psql("postgres", "alter system set autovacuum = off").unwrap();
        postgres.psql("postgres", "select pg_reload_conf()").unwrap();
        BenchServers { real, postgres, client, folder }
    }

    /// Waits until the remaining work is done, up to a timeout.
    async fn idle(&self) {
        let end = Instant::now() + IDLE_TIMEOUT;
        let mut last = transactions(&self.postgres);
        while Instant::now() < end {
            tokio::time::sleep(QUIET_PERIOD).await;
            let now = transactions(&self.postgres);
            if now == last {
                return;
            }
            last = now;
        }
    }

    /// Measures a side with its running roles, which are killed at the end.
    async fn measure(&self, name: &str, count: usize, roles: &mut [Child; 2]) -> SideFigures {
        tenants(&self.client).await;
        tokio::time::sleep(SETTLE).await;
        let resident = |roles: &[Child; 2]| [0, 1].map(|at: usize| resident_kib(roles[at].id()));
        let before = resident(roles);
        let work = WorkCounters::read(self).await;
        let begin = Instant::now();
        let mut all = applications(&self.client);
        let numbers = futures::stream::iter(0..count);
        numbers.for_each_concurrent(CREATE_AT_ONCE, |number| create(&self.client, number)).await;
        let created = begin.elapsed().as_secs_f64();
        until_deployed(&mut all, count).await;
        let took = begin.elapsed().as_secs_f64();
        let each = WorkCounters::read(self).await.per_deployment(&work, count);
        eprintln!(
            "{name}: all after {took:.1} s ({created:.1} s to create them), {each}; now idle, for a minute or two"
        );
        self.idle().await;
        let after = resident(roles);
        let asked = transactions(&self.postgres);
        tokio::time::sleep(IDLE).await;
        let idle = transactions(&self.postgres) - asked;
        let per = |at: usize| after[at].saturating_sub(before[at]) as f64 / count as f64;
        let a_second = count as f64 / took;
        println!(
            "| {name} | {count} | {created:.1} s | {took:.1} s | {a_second:.0} | {:.1} KiB | {:.1} KiB | {idle} |",
            per(0),
            per(1)
        );
        println!("{name}, {each}");
        for role in roles {
            let _ = role.kill();
            let _ = role.wait();
        }
        SideFigures { a_second, idle }
    }
}

/// Returns deployments per second if this program creates both objects of each: an upper bound for any service.
async fn bare(count: usize) -> f64 {
    let ground = BenchServers::new().await;
    // The measured database is otherwise unused.
    ground.postgres.database(DATABASE).unwrap();
    managed_gitops::engine(&ground).await;
    tenants(&ground.client).await;
    tokio::time::sleep(SETTLE).await;
    let work = WorkCounters::read(&ground).await;
    let begin = Instant::now();
    let mut all = applications(&ground.client);
    let both = async |number: usize| {
        create(&ground.client, number).await;
        let object = json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {
                "name": format!("gitopsdepl-{number}"), "namespace": NAMESPACE,
                "labels": { "databaseID": number.to_string() },
                "finalizers": ["resources-finalizer.argocd.argoproj.io"],
            },
            "spec": {
                "source": { "repoURL": "https://git.example/web", "path": "deploy", "targetRevision": "main" },
                "destination": { "name": "in-cluster", "namespace": "tenant" }, "project": "tenant",
                "syncPolicy": { "automated": { "prune": true, "selfHeal": true, "allowEmpty": true } },
            },
        });
        let api = api(&ground.client, "argoproj.io/v1alpha1", "Application", NAMESPACE);
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    };
    futures::stream::iter(0..count).for_each_concurrent(CREATE_AT_ONCE, both).await;
    until_deployed(&mut all, count).await;
    let took = begin.elapsed().as_secs_f64();
    let each = WorkCounters::read(&ground).await.per_deployment(&work, count);
    let a_second = count as f64 / took;
    println!("| the API server alone | {count} | | {took:.1} s | {a_second:.0} | | | |");
    println!("the API server alone, {each}");
    a_second
}

async fn switchboard(count: usize) -> SideFigures {
    let ground = BenchServers::new().await;
    let url = ground.postgres.database(DATABASE).unwrap();
    let kubeconfig = ground.real.kubeconfig();
    let base = ["--database", url.as_str(), "--plaintext-credentials"];
    let run = |arguments: &[&str]| {
        let mut command = Command::new(binary().unwrap());
        command.arg("gitops").args(arguments).args(base);
        command
    };
    run_to_end(&mut run(&["migrate"]));
    run_to_end(
        run(&["fleet", "add", NAMESPACE, "--create-namespace", "--max-applications", "100000"])
            .arg("--kubeconfig")
            .arg(&kubeconfig),
    );
    let start = |name: &str| -> Child {
        let mut command = run(&[name, "--argocd-namespace", NAMESPACE]);
        command.arg("--engine-kubeconfig").arg(&kubeconfig).arg("--state-dir").arg(ground.folder.path().join(name));
        if name == "backend" {
            command.arg("--kubeconfig").arg(&kubeconfig);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut roles = [start("backend"), start("agent")];
    ground.measure("switchboard", count, &mut roles).await
}

async fn create(client: &kube::Client, number: usize) {
    let namespace = format!("tenant-{}", number % TENANTS);
    let object = json!({
        "apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment",
        "metadata": { "name": format!("web-{number}"), "namespace": namespace },
        "spec": {
            "source": { "repoURL": format!("https://git.example/{namespace}/web"), "path": "deploy", "targetRevision": "main" },
            "destination": {}, "type": "automated",
        },
    });
    let api = api(client, "managed-gitops.redhat.com/v1alpha1", "GitOpsDeployment", &namespace);
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// Installs the tenants' kinds.
fn kinds(real: &RealCluster, folder: &Path) {
    let file = folder.join("kinds.yaml");
    std::fs::write(&file, switchboard_gitops::kinds::CRDS.join("\n---\n")).unwrap();
    let bin = std::env::var_os("SWITCHBOARD_REAL_BIN").expect("`make bench` sets SWITCHBOARD_REAL_BIN");
    let kubectl = Path::new(&bin).join("kubectl");
    run_to_end(
        Command::new(kubectl)
            .arg("--kubeconfig")
            .arg(real.kubeconfig())
            .args(["apply", "--server-side", "-f"])
            .arg(file),
    );
}

fn api(client: &kube::Client, version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match namespace {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    }
}

fn resident_kib(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0)
}

fn run_to_end(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
