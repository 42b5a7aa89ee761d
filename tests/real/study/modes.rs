//! Hosting modes and their measurements.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_suite::real::RealCluster;
use switchboard_suite::{process, tool};

use crate::cluster::{StudyCluster, instance, until};
use crate::cost::{CpuGroup, MemoryUse, Sampler, processor_time};
use crate::script::StudyScript;

/// Hosting mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostingMode {
    /// Each operator as a resident process.
    Resident,
    /// All operators hosted by one `switchboard run`.
    Hosted {
        /// Resync interval.
        resync: &'static str,
    },
}

impl fmt::Display for HostingMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostingMode::Resident => f.write_str("resident"),
            HostingMode::Hosted { resync } => write!(f, "hosted, resync {resync}"),
        }
    }
}

/// Measurements of a mode.
#[derive(Debug)]
pub struct ModeResult {
    pub mode: HostingMode,
    /// Time from the start of the processes until every operator has reported its status.
    pub start: Duration,
    pub memory: MemoryUse,
    pub cpu: Option<Duration>,
    pub apiserver_cpu: Duration,
    pub etcd_cpu: Duration,
    pub requests: RequestCounts,
    /// Number of program runs, if hosted.
    pub runs: Option<u64>,
    pub delays: Vec<Duration>,
}

/// Numbers of requests to the API server.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Open watches at the end.
    pub watches: usize,
    /// Watches started over the whole time.
    pub watches_begun: usize,
    pub reads: usize,
    pub writes: usize,
    /// Requests for leases, tokens and discovery.
    pub upkeep: usize,
}

/// Processes killed when dropped.
struct OperatorProcesses(Vec<Child>);

impl Drop for OperatorProcesses {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs the script in one mode.
pub fn run(way: HostingMode, real: &RealCluster, ground: &StudyCluster, script: &StudyScript) -> ModeResult {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let group = CpuGroup::create(if way == HostingMode::Resident { "resident" } else { "hosted" });
    let component = |name: &str| real.process(name).map(processor_time).unwrap_or_default();
    let before = (component("kube-apiserver"), component("etcd"));
    let begin = Instant::now();
    let running = match way {
        HostingMode::Resident => residents(ground, script, folder.path(), group.as_ref()),
        HostingMode::Hosted { resync } => {
            OperatorProcesses(vec![host(ground, script, folder.path(), group.as_ref(), resync)])
        }
    };
    let sampler = Sampler::start(running.0.iter().map(Child::id).collect());
    until("every operator to have said all", || ground.is_settled());
    let start = begin.elapsed();
    let delays = script.play(ground);
    let runs = matches!(way, HostingMode::Hosted { .. }).then(|| runs(folder.path()));
    let memory = sampler.stop();
    let cpu = group.as_ref().and_then(CpuGroup::time);
    let requests = RequestCounts::of(&real.audit());
    let (apiserver_cpu, etcd_cpu) = (component("kube-apiserver") - before.0, component("etcd") - before.1);
    drop(running);
    ModeResult { mode: way, start, memory, cpu, apiserver_cpu, etcd_cpu, requests, runs, delays }
}

fn command(program: &Path, group: Option<&CpuGroup>) -> Command {
    let mut command = group.map_or_else(|| Command::new(program), |group| group.within(program));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn beacon() -> PathBuf {
    tool::programs().join("beacon-operator").canonicalize().expect("tests/real/build made it")
}

fn residents(
    ground: &StudyCluster,
    script: &StudyScript,
    folder: &Path,
    group: Option<&CpuGroup>,
) -> OperatorProcesses {
    let start = |number: usize| {
        let namespace = format!("beacon-operator-{}", instance(number));
        let own = ground.identity(&namespace, &namespace, folder);
        let mut command = command(&beacon(), group);
        command.arg("start").arg("--kubeconfig").arg(own).args(["--namespace", &namespace]);
        command.env("BEACON_INSTANCE", instance(number)).spawn().expect("the operator starts")
    };
    OperatorProcesses((0..script.operators).map(start).collect())
}

fn host(ground: &StudyCluster, script: &StudyScript, folder: &Path, group: Option<&CpuGroup>, resync: &str) -> Child {
    let kernel = ground.identity("switchboard", "kernel", folder);
    let mut config = format!("clusters:\n  default: {{kubeconfig: {}}}\noperators:\n", kernel.display());
    for number in 0..script.operators {
        let name = instance(number);
        config += &format!(
            "- name: beacon-{name}\n  command: [{}]\n  live: true\n  env: {{BEACON_INSTANCE: {name}}}\n  \
             serviceAccount: beacon-operator-{name}/beacon-operator-{name}\n  resync: {resync}\n",
            beacon().display()
        );
    }
    let file = folder.join("switchboard.yaml");
    std::fs::write(&file, config).expect("a file can be written");
    let mut command = command(process::binary().expect("the binary is built"), group);
    command.arg("run").arg("--config").arg(file).arg("--state-dir").arg(folder.join("state"));
    command.spawn().expect("the kernel starts")
}

/// Returns the number of runs by the kernel.
fn runs(folder: &Path) -> u64 {
    let mut command = Command::new(process::binary().expect("the binary is built"));
    let top = command.args(["top", "-o", "json", "--state-dir"]).arg(folder.join("state")).output();
    let top: Value = serde_json::from_slice(&top.expect("the kernel is asked").stdout).unwrap_or_default();
    top["operators"].as_array().into_iter().flatten().filter_map(|row| row["runs"].as_u64()).sum()
}

impl RequestCounts {
    /// Counts the requests of the operators and of the host.
    fn of(audit: &[Value]) -> Self {
        let mut requests = Self::default();
        for event in audit {
            let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let user = text("/user/username");
            if !["system:serviceaccount:beacon-", "system:serviceaccount:switchboard:"]
                .iter()
                .any(|own| user.starts_with(own))
            {
                continue;
            }
            match (text("/verb"), text("/stage")) {
                ("watch", "ResponseStarted") => {
                    requests.watches += 1;
                    requests.watches_begun += 1;
                }
                ("watch", "ResponseComplete") => requests.watches = requests.watches.saturating_sub(1),
                (verb, "ResponseComplete") => {
                    let upkeep = text("/objectRef/resource") == "leases"
                        || text("/objectRef/subresource") == "token"
                        || text("/objectRef/resource").is_empty();
                    match verb {
                        _ if upkeep => requests.upkeep += 1,
                        "get" | "list" => requests.reads += 1,
                        _ => requests.writes += 1,
                    }
                }
                _ => {}
            }
        }
        requests
    }
}
