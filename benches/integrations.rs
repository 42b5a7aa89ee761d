//! From a bundle to all desired objects: 1,000 integrations in 5 environments with 20,000 shards, compared per shard
//! with qontract-reconcile's approach on the same machine: a `helm template` process for each environment, followed by
//! PyYAML's safe loader.
//!
//! The fastest of several rounds counts, because noise only slows runs down. Sizes double, so that nonlinear costs
//! show.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::desired::DesiredBuilder;
use switchboard_integrations::settings::RenderSettings;
use switchboard_integrations::source::bundle;

use switchboard_suite::BoxError;

const ENVIRONMENTS: usize = 5;
const INTEGRATIONS: usize = 1_000;
const SHARDS: usize = 20_000;
const TURNS: usize = 3;
/// Minimum speedup over qontract-reconcile.
const TIMES: f64 = 20.0;
/// Maximum increase of the time per shard with four times as many shards; quadratic cost would increase it fourfold.
const LINEAR: f64 = 1.5;
/// Number of shards in one rendering of qontract-reconcile. The 4,000 shards of one environment would take minutes.
const RECONCILE_SHARDS: usize = 400;

fn main() -> Result<(), BoxError> {
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/integrations/chart");
    println!("| shards | read | desired | again, unchanged | charts rendered again | per shard | objects |");
    println!("|---|---|---|---|---|---|---|");
    let mut each: Vec<Duration> = Vec::new();
    let mut rendered_again = 0;
    for part in [4, 2, 1] {
        let bytes = serde_json::to_vec(&data(INTEGRATIONS / part, SHARDS / part))?;
        let (mut read, mut first, mut again) = (Duration::MAX, Duration::MAX, Duration::MAX);
        let (mut objects, mut rendered) = (0, 0);
        for _ in 0..TURNS {
            let start = Instant::now();
            let bundle = bundle::parse("bench", &bytes)?;
            read = read.min(start.elapsed());
            let mut builder = DesiredBuilder::new(IntegrationsChart::load(&chart)?, RenderSettings::default());
            let start = Instant::now();
            let desired = builder.build(&bundle);
            first = first.min(start.elapsed());
            if let Some(problem) = desired.problems().first() {
                return Err(problem.to_string().into());
            }
            objects = desired.len();
            let start = Instant::now();
            rendered = std::hint::black_box(builder.build(&bundle)).rendered;
            again = again.min(start.elapsed());
        }
        let shards = SHARDS / part;
        let per_shard = (read + first) / u32::try_from(shards)?;
        each.push(per_shard);
        rendered_again += rendered;
        println!("| {shards} | {read:.2?} | {first:.2?} | {again:.2?} | {rendered} | {per_shard:.2?} | {objects} |");
    }
    let (smallest, per_shard) = (each[0], each[each.len() - 1]);
    let reconcile = qontract_reconcile(&chart)?;
    let times = reconcile.as_secs_f64() / per_shard.as_secs_f64();
    let longer = per_shard.as_secs_f64() / smallest.as_secs_f64();
    println!("\n| qontract-reconcile, per shard | here, per shard | times |\n|---|---|---|");
    println!("| {reconcile:.2?} | {per_shard:.2?} | {times:.0} |");
    println!("\n| goal | measured | met |\n|---|---|---|");
    let met = |met: bool| if met { "yes" } else { "NO" };
    println!("| {TIMES:.0} times faster than qontract-reconcile | {times:.0} times | {} |", met(times >= TIMES));
    println!(
        "| linear: a shard of four times as many takes at most {LINEAR} times as long | {longer:.2} times | {} |",
        met(longer <= LINEAR)
    );
    println!("| a run without change renders nothing | {rendered_again} charts | {} |", met(rendered_again == 0));
    Ok(())
}

/// Returns a bundle with the integrations distributed over the environments and divided into shards.
fn data(integrations: usize, shards: usize) -> Value {
    let mut files = serde_json::Map::new();
    for environment in 0..ENVIRONMENTS {
        let value = json!({"$schema": "/openshift/lean-namespace-1.yml", "name": "integrations",
            "cluster": {"name": format!("cluster-{environment}"), "serverUrl": "https://example"},
            "environment": {"name": format!("environment-{environment}"), "parameters": {"IMAGE_TAG": "abc"}}});
        files.insert(format!("/namespaces/{environment}.yml"), value);
    }
    let each = shards / (integrations * ENVIRONMENTS);
    for number in 0..integrations {
        let managed: Vec<Value> = (0..ENVIRONMENTS)
            .map(|environment| {
                json!({"namespace": {"$ref": format!("/namespaces/{environment}.yml")}, "spec": spec(),
                    "sharding": {"strategy": "static", "shards": each}})
            })
            .collect();
        let value = json!({"$schema": "/app-sre/integration-1.yml", "name": format!("integration-{number}"), "managed": managed});
        files.insert(format!("/integrations/{number}.yml"), value);
    }
    json!({"data": files, "graphql": [], "resources": {}, "schemas": {}})
}

fn spec() -> Value {
    json!({"resources": {"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"memory": "200Mi"}},
        "logs": {"slack": true}, "state": true, "extraArgs": "--light"})
}

/// Measures qontract-reconcile's time per shard: a Helm process, and PyYAML for its output.
fn qontract_reconcile(chart: &Path) -> Result<Duration, BoxError> {
    let helm = PathBuf::from(std::env::var("SWITCHBOARD_REAL_BIN")?).join("helm");
    let shards: Vec<Value> = (0..RECONCILE_SHARDS)
        .map(|shard| {
            json!({"shards": RECONCILE_SHARDS.to_string(), "shard_id": shard.to_string(), "shard_key": "",
                "shard_name_suffix": format!("-{shard}"), "extra_args": "--light"})
        })
        .collect();
    let mut one = spec();
    one["name"] = "bench".into();
    one["shard_specs"] = shards.into();
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(json!({"integrations": [one], "cronjobs": []}).to_string().as_bytes())?;
    let mut fastest = Duration::MAX;
    for _ in 0..TURNS {
        let start = Instant::now();
        let mut template = Command::new(&helm);
        template.arg("template").arg(chart).args(["--namespace", "qontract-reconcile", "--values"]).arg(file.path());
        let printed = template.stderr(Stdio::null()).output()?;
        if !printed.status.success() {
            return Err("helm template failed".into());
        }
        let mut python = Command::new("python3");
        python.args(["-c", "import sys, yaml; yaml.safe_load(sys.stdin)"]).stdin(Stdio::piped());
        let mut loading = python.spawn()?;
        loading.stdin.take().ok_or("no stdin")?.write_all(&printed.stdout)?;
        if !loading.wait()?.success() {
            return Err("python3 needs PyYAML for this benchmark".into());
        }
        fastest = fastest.min(start.elapsed());
    }
    Ok(fastest / u32::try_from(RECONCILE_SHARDS)?)
}
