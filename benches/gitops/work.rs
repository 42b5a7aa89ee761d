//! Resource usage: CPU time of all processes, requests to the API server, and transactions of the database.

use std::collections::BTreeMap;
use std::fs;

use switchboard_sql::postgres_server::PostgresServer;

use super::{BenchServers, DATABASE};

/// Clock ticks of `/proc` per second, on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Counters at a point in time.
pub struct WorkCounters {
    seconds: BTreeMap<String, f64>,
    requests: BTreeMap<String, f64>,
    transactions: i64,
}

impl WorkCounters {
    pub async fn read(ground: &BenchServers) -> WorkCounters {
        WorkCounters {
            seconds: seconds(ground),
            requests: requests(&ground.client).await,
            transactions: transactions(&ground.postgres),
        }
    }

    /// Formats the usage per deployment since `before`.
    pub fn per_deployment(&self, before: &WorkCounters, count: usize) -> String {
        let count = count as f64;
        let rest = |now: &BTreeMap<String, f64>, before: &BTreeMap<String, f64>| -> Vec<(String, f64)> {
            let new = |(name, all): (&String, &f64)| (name.clone(), all - before.get(name).unwrap_or(&0.0));
            now.iter().map(new).collect()
        };
        let mut processes = rest(&self.seconds, &before.seconds);
        processes.retain(|(_, seconds)| *seconds >= 0.05);
        processes.sort_by(|one, other| other.1.total_cmp(&one.1));
        let processes: Vec<String> =
            processes.iter().map(|(name, seconds)| format!("{name} {:.1} ms", seconds * 1000.0 / count)).collect();
        let mut requests = rest(&self.requests, &before.requests);
        requests.retain(|(_, asked)| asked / count >= 0.01);
        let requests: Vec<String> =
            requests.iter().map(|(name, asked)| format!("{name} {:.2}", asked / count)).collect();
        format!(
            "processor time of each: {}; requests of each: {}; transactions of each: {:.1}",
            processes.join(", "),
            requests.join(", "),
            (self.transactions - before.transactions) as f64 / count
        )
    }
}

/// Components of the API server, which are not descendants of this process.
const SERVERS: [&str; 2] = ["kube-apiserver", "etcd"];

/// Returns the CPU seconds of this process, its descendants and the API server, by name.
fn seconds(ground: &BenchServers) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<u32, (u32, String, f64)> = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(found) = fs::read_to_string(entry.path().join("stat")).ok().and_then(|text| stat(&text)) {
            all.insert(process, found);
        }
    }
    let own = std::process::id();
    let servers: Vec<u32> = SERVERS.iter().filter_map(|server| ground.real.process(server)).collect();
    let is_own = |mut process: u32| {
        while process != own && !servers.contains(&process) {
            match all.get(&process) {
                Some((parent, ..)) => process = *parent,
                None => return false,
            }
        }
        true
    };
    let mut named = BTreeMap::new();
    for (process, (_, name, taken)) in &all {
        if is_own(*process) {
            let role = role(*process).unwrap_or_else(|| name.clone());
            *named.entry(role).or_default() += taken;
        }
    }
    named
}

/// Returns the CPU seconds of a process.
pub fn seconds_of(process: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).expect("the process is there");
    stat(&text).expect("the kernel's own form").2
}

/// Returns the parent, the name, and the CPU seconds of a process and its reaped children.
fn stat(text: &str) -> Option<(u32, String, f64)> {
    let (before, after) = text.rsplit_once(") ")?;
    let name = before.split_once(" (")?.1.to_string();
    let fields: Vec<&str> = after.split(' ').collect();
    let ticks: f64 = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    Some((fields.get(1)?.parse().ok()?, name, ticks / TICKS_PER_SECOND))
}

/// Returns the role, because both roles of Switchboard are one program.
fn role(process: u32) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{process}/cmdline")).ok()?;
    let mut words = line.split('\0').skip_while(|word| *word != "gitops");
    words.nth(1).filter(|word| matches!(*word, "backend" | "agent")).map(|word| format!("switchboard {word}"))
}

/// Returns the API server's requests by verb and resource.
async fn requests(client: &kube::Client) -> BTreeMap<String, f64> {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let text = client.request_text(request).await.unwrap_or_default();
    let mut found: BTreeMap<String, f64> = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("apiserver_request_total{")) {
        let Some((labels, count)) = line.rsplit_once("} ") else { continue };
        let label = |name: &str| {
            let all = labels.split(',').filter_map(|pair| pair.split_once('='));
            all.filter(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('"')).next().unwrap_or_default()
        };
        let (verb, resource, part) = (label("verb"), label("resource"), label("subresource"));
        let slash = if part.is_empty() { "" } else { "/" };
        *found.entry(format!("{verb} {resource}{slash}{part}")).or_default() += count.parse().unwrap_or(0.0);
    }
    found
}

/// Returns the number of transactions. The statistics themselves are queried from another database.
pub fn transactions(postgres: &PostgresServer) -> i64 {
    let sql = format!("select xact_commit + xact_rollback from pg_stat_database where datname = '{DATABASE}'");
    postgres.psql("postgres", &sql).unwrap().parse().unwrap()
}
