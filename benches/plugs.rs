//! One socket with many plugs: cost of coupling them, of a changed socket, and of an unrelated change, without limits and
//! with the default ones. With the feature `real`, also integration-operator and Switchboard on one kube-apiserver, both with
//! default settings, in turns.
//!
//! `cargo bench --bench plugs`; `PLUGS=1000` for fewer plugs. `SWITCHBOARD_INTEGRATION_OPERATOR` is the path of
//! integration-operator's binary, built elsewhere; without it, the comparison is skipped with a message.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt};
use kube::Client;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_kernel::host::{Handle, Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::topology::{ClusterName, Topology};

/// Number of plugs of the large run. A tenth of it runs first, to check that the cost is linear.
const PLUGS: usize = 10_000;
/// Number of plugs with the default limits, and the goal for them.
const DEFAULT_PLUGS: usize = 200;
const DEFAULT_GOAL: Duration = Duration::from_secs(10);
/// Number of concurrent requests while plugs are created.
const AT_ONCE: usize = 32;
const POLL: Duration = Duration::from_millis(50);
/// Maximum share of time for polling, because a list of ten thousand objects is expensive and not part of the
/// measurement.
const MAX_POLL_SHARE: u32 = 20;
/// Timeout.
const TIMEOUT: Duration = Duration::from_secs(1800);

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let most = std::env::var("PLUGS").ok().and_then(|count| count.parse().ok()).unwrap_or(PLUGS);
    println!(
        "| limits | plugs | coupled in | per plug | writes per plug | socket changed, all updated in | per plug | writes per plug | runs for an unrelated change |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for count in [most / 10, most] {
        runtime.block_on(measure_many(count, "none", unlimited()));
    }
    let coupled = runtime.block_on(measure_many(DEFAULT_PLUGS, "default", Default::default()));
    let met = if coupled <= DEFAULT_GOAL { "met" } else { "missed" };
    println!("goal: {DEFAULT_PLUGS} plugs with the default limits within {DEFAULT_GOAL:?}: {met}");
    beside::run(&runtime);
}

fn unlimited() -> (GlobalLimits, Limits) {
    let global = GlobalLimits { requests_per_second: Some(u32::MAX), ..GlobalLimits::default() };
    (global, Limits { writes_per_second: Some(u32::MAX), writes_per_minute: Some(u32::MAX), ..Limits::default() })
}

fn operators(client: &Client, (global, limits): (GlobalLimits, Limits)) -> (Host, Handle) {
    let name = ClusterName::new("main");
    let settings = HostSettings {
        clusters: BTreeMap::from([(name.clone(), client.clone())]),
        topology: Topology::standalone(&name),
        global,
        journal: Journal::in_memory(JournalLimits::default()),
        dry_run: false,
    };
    let operators = switchboard_plugs::operators(switchboard_plugs::plug::PlugOptions::default())
        .into_iter()
        .map(|operator| (operator, limits.clone()))
        .collect();
    Host::new(settings, operators)
}

async fn send(client: &Client, method: &str, path: &str, kind: &str, body: Value) -> Option<Value> {
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", kind);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    client.request::<Value>(request.body(body).expect("a request can be made")).await.ok()
}

async fn post(client: &Client, path: &str, body: Value) {
    send(client, "POST", path, "application/json", body).await.expect("the cluster takes it");
}

async fn prepare(client: &Client) {
    for definition in switchboard_plugs::crds::crds() {
        post(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    }
    post(client, "/api/v1/namespaces", json!({"metadata": {"name": "crowd"}})).await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/crowd";
    let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    post(client, &format!("{rbac}/roles"), json!({"metadata": {"name": "all"}, "rules": rules})).await;
    let subject = json!({"kind": "ServiceAccount", "name": "default", "namespace": "crowd"});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all"});
    post(
        client,
        &format!("{rbac}/rolebindings"),
        json!({"metadata": {"name": "all"}, "roleRef": role, "subjects": [subject]}),
    )
    .await;
}

const GROUP: &str = "/apis/integration.rock8s.com/v1beta1/namespaces/crowd";

fn socket() -> Value {
    json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Socket", "metadata": {"name": "hub"}, "spec": {"config": {"host": "one"}}})
}

fn plug(number: usize) -> Value {
    let name = format!("plug-{number:05}");
    let data = json!({"host": "{% .socketConfig.host %}", "name": "{% .plugConfig.name %}"});
    let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
    json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Plug", "metadata": {"name": name},
        "spec": {"socket": {"name": "hub"}, "config": {"name": name}, "resources": [{"when": ["coupled", "updated"], "do": "apply", "template": template}]}})
}

async fn make(client: &Client, count: usize) {
    post(client, &format!("{GROUP}/sockets"), socket()).await;
    stream::iter(0..count).for_each_concurrent(AT_ONCE, |number| post_plug(client, number)).await;
}

async fn post_plug(client: &Client, number: usize) {
    post(client, &format!("{GROUP}/plugs"), plug(number)).await;
}

/// Returns the number of ConfigMaps with this host.
async fn reached(client: &Client, host: &str) -> usize {
    let list = send(client, "GET", "/api/v1/namespaces/crowd/configmaps", "application/json", Value::Null).await;
    let items = list.and_then(|list| list["items"].as_array().cloned()).unwrap_or_default();
    items.iter().filter(|map| map["data"]["host"] == host).count()
}

/// Waits until all ConfigMaps have this host, and returns the number of polls.
async fn until(client: &Client, host: &str, count: usize) -> u32 {
    let began = Instant::now();
    let mut looks = 0;
    loop {
        let looked = Instant::now();
        looks += 1;
        if reached(client, host).await >= count {
            return looks;
        }
        assert!(began.elapsed() < TIMEOUT, "{count} plugs are not reached in time");
        tokio::time::sleep(POLL.max(looked.elapsed() * MAX_POLL_SHARE)).await;
    }
}

async fn counts(handle: &Handle) -> (u64, u64) {
    let state = handle.state().await.expect("the kernel answers");
    state.operators.iter().fold((0, 0), |(runs, writes), one| (runs + one.runs, writes + one.writes))
}

/// Waits until no unit has run for a while.
async fn until_idle(handle: &Handle) -> (u64, u64) {
    let mut last = counts(handle).await;
    let mut since = Instant::now();
    while since.elapsed() < Duration::from_secs(2) {
        tokio::time::sleep(POLL * MAX_POLL_SHARE / 2).await;
        let now = counts(handle).await;
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    last
}

/// Measures one row, and returns the time until all plugs were coupled.
async fn measure_many(count: usize, name: &str, limits: (GlobalLimits, Limits)) -> Duration {
    let cluster = Cluster::ephemeral().await;
    cluster.start_controllers();
    let client = cluster.client();
    prepare(&client).await;
    let (host, handle) = operators(&client, limits);
    let host = tokio::spawn(host.run());
    let began = Instant::now();
    make(&client, count).await;
    until(&client, "one", count).await;
    let coupled = began.elapsed();
    let (_, first) = until_idle(&handle).await;
    let patch = json!({"spec": {"config": {"host": "two"}}});
    let began = Instant::now();
    send(&client, "PATCH", &format!("{GROUP}/sockets/hub"), "application/merge-patch+json", patch)
        .await
        .expect("the socket changes");
    until(&client, "two", count).await;
    let updated = began.elapsed();
    let (runs, second) = until_idle(&handle).await;
    post(&client, "/api/v1/namespaces/crowd/configmaps", json!({"metadata": {"name": "unrelated"}})).await;
    let (after, _) = until_idle(&handle).await;
    let per = |time: Duration| time / u32::try_from(count).unwrap_or(1);
    println!(
        "| {name} | {count} | {coupled:.1?} | {:.2?} | {:.1} | {updated:.1?} | {:.2?} | {:.1} | {} |",
        per(coupled),
        first as f64 / count as f64,
        per(updated),
        (second - first) as f64 / count as f64,
        after - runs,
    );
    handle.stop().await;
    host.await.expect("the host ends well");
    coupled
}

#[cfg(not(feature = "real"))]
mod beside {
    pub fn run(_: &tokio::runtime::Runtime) {
        println!("beside integration-operator: not measured, it needs the feature `real`");
    }
}

#[cfg(feature = "real")]
mod beside {
    use std::ffi::OsStr;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use switchboard_suite::real::RealCluster;
    use switchboard_suite::target::TestTarget;

    use kube::Client;

    use super::{make, prepare, until};

    const PLUGS: usize = super::DEFAULT_PLUGS;
    /// Number of measurements of each side.
    const ROUNDS: usize = 3;
    /// Startup time of an operator, followed by the duration of the idle measurement.
    const SETTLES: Duration = Duration::from_secs(5);
    const IDLE: Duration = Duration::from_secs(5);

    /// Operator process, killed when dropped.
    struct OperatorProcess(Child);

    impl Drop for OperatorProcess {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    pub fn run(runtime: &tokio::runtime::Runtime) {
        println!("\n| 200 plugs on a real kube-apiserver | coupled in | API requests | memory |\n|---|---|---|---|");
        let theirs = std::env::var_os("SWITCHBOARD_INTEGRATION_OPERATOR");
        for _ in 0..ROUNDS {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            runtime.block_on(measure("ours", |kubeconfig| ours(kubeconfig, folder.path())));
            if let Some(program) = &theirs {
                runtime
                    .block_on(measure("integration-operator", |kubeconfig| integration_operator(program, kubeconfig)));
            }
        }
        if theirs.is_none() {
            println!("integration-operator: not measured, SWITCHBOARD_INTEGRATION_OPERATOR does not name its binary");
        }
    }

    fn integration_operator(program: &OsStr, kubeconfig: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("KUBECONFIG", kubeconfig);
        command.args(["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"]);
        command
    }

    fn ours(kubeconfig: &Path, folder: &Path) -> Command {
        let config = folder.join("switchboard.yaml");
        let kubeconfig = kubeconfig.display();
        let text = format!("clusters:\n  default:\n    kubeconfig: {kubeconfig}\noperators:\n  plugs: {{}}\n");
        std::fs::write(&config, text).expect("the configuration can be written");
        let mut command = Command::new(switchboard_suite::process::binary().expect("the binary is built"));
        command.arg("run").arg("--config").arg(config).arg("--state-dir").arg(folder.join("state"));
        command
    }

    /// Measures an operator on a separate server.
    async fn measure(name: &str, command: impl Fn(&Path) -> Command) {
        let real = RealCluster::start().expect("the real components are there");
        let target = TestTarget::open(&real.kubeconfig()).await.expect("its kubeconfig is good");
        prepare(&target.admin).await;
        let mut command = command(&real.kubeconfig());
        let operator = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let operator = OperatorProcess(operator.expect("the operator can be started"));
        // Requests of the server itself and of the idle operator are not counted.
        tokio::time::sleep(SETTLES).await;
        let idle = requests(&target.admin).await;
        tokio::time::sleep(IDLE).await;
        let before = requests(&target.admin).await;
        let idle_per_second = (before - idle) / IDLE.as_secs_f64();
        let began = Instant::now();
        make(&target.admin, PLUGS).await;
        let looks = until(&target.admin, "one", PLUGS).await;
        let took = began.elapsed();
        let own = (PLUGS + 1) as f64 + f64::from(looks) + idle_per_second * took.as_secs_f64();
        let asked = requests(&target.admin).await - before - own;
        println!("| {name} | {took:.1?} | {asked:.0} | {} |", memory(operator.0.id()));
    }

    /// Returns the number of requests, without those of the server itself.
    async fn requests(client: &Client) -> f64 {
        let request = http::Request::get("/metrics").body(Vec::new()).expect("a request can be made");
        let text = client.request_text(request).await.unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("apiserver_request_total{"));
        let of_crowd = lines.filter(|line| !line.contains("resource=\"leases\"") && !line.contains("verb=\"CONNECT\""));
        of_crowd.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    fn memory(process: u32) -> String {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.map_or_else(|| "unknown".to_string(), |size| size.trim().to_string())
    }
}
