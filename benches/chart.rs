//! Charts: this crate beside a `helm template` process and Helm's engine as a library, on the same inputs, turn by turn.
//!
//! The integrations chart with 1, 100, 1,000 and 2,000 shards, an umbrella of 100 and of 200 subcharts with `tpl` everywhere, and ten public
//! charts where `../shared/data` has them. The fastest of some rounds is taken of each: noise only makes slower.
//! `ONLY=<part of a name>` leaves the other charts out.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use switchboard_chart::chart::Chart;
use switchboard_chart::folder::Links;
use switchboard_chart::release::Release;
use switchboard_chart::render::{Compiled, Request};
use switchboard_chart::values;
use switchboard_template::sprig::Ambient;

type Failed = Box<dyn std::error::Error + Send + Sync>;

const TURNS: usize = 5;
/// How often the library renders in a turn.
const ROUNDS: usize = 5;
const PUBLIC: [&str; 10] = [
    "podinfo",
    "grafana",
    "ingress-nginx",
    "cert-manager",
    "argo-cd",
    "prometheus",
    "traefik",
    "vault",
    "velero",
    "keda",
];

struct Case {
    name: String,
    chart: PathBuf,
    values: PathBuf,
}

struct Engine {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Engine {
    fn start(program: &Path) -> Result<Self, Failed> {
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take().ok_or("no stdin")?;
        let from = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        Ok(Self { child, to, from })
    }

    fn fastest(&mut self, case: &Case) -> Result<Duration, Failed> {
        writeln!(self.to, "{}\t{}\t{ROUNDS}", case.chart.display(), case.values.display())?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        Ok(Duration::from_nanos(line.trim().parse().map_err(|_| format!("{}: {line}", case.name))?))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() -> Result<(), Failed> {
    let programs = PathBuf::from(std::env::var("SWITCHBOARD_REAL_BIN")?);
    let folder = tempfile::tempdir()?;
    let mut engine = Engine::start(&programs.join("helm4-engine"))?;
    println!("| chart | here | Helm's engine | times | helm template | times |");
    println!("|---|---|---|---|---|---|");
    let only = std::env::var("ONLY").unwrap_or_default();
    for case in cases(folder.path())?.into_iter().filter(|case| case.name.contains(&only)) {
        let chart = Compiled::new(Chart::load(&case.chart, Links::Inside)?);
        let mut request = Request::new(Release::new("rel", "default"));
        request.ambient = Ambient::fixed("2026-01-01T00:00:00Z".parse()?, b"bench");
        request.values = values::read(&std::fs::read_to_string(&case.values)?)?;
        let (mut ours, mut library, mut process) = (Duration::MAX, Duration::MAX, Duration::MAX);
        for _ in 0..TURNS {
            for _ in 0..ROUNDS {
                let start = Instant::now();
                std::hint::black_box(chart.render_files(&request)?);
                ours = ours.min(start.elapsed());
            }
            library = library.min(engine.fastest(&case)?);
            process = process.min(helm(&programs.join("helm4"), &case)?);
        }
        let times = |other: Duration| other.as_secs_f64() / ours.as_secs_f64();
        println!(
            "| {} | {ours:.2?} | {library:.2?} | {:.1} | {process:.2?} | {:.0} |",
            case.name,
            times(library),
            times(process)
        );
    }
    Ok(())
}

fn helm(program: &Path, case: &Case) -> Result<Duration, Failed> {
    let start = Instant::now();
    let mut command = Command::new(program);
    command.args(["template", "rel"]).arg(&case.chart).arg("-f").arg(&case.values);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if !status.success() {
        return Err(format!("helm template of {} failed", case.name).into());
    }
    Ok(start.elapsed())
}

fn cases(folder: &Path) -> Result<Vec<Case>, Failed> {
    let mut cases = Vec::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let integrations = data.join("integrations/chart");
    for shards in [1, 100, 1_000, 2_000] {
        if integrations.exists() {
            let values = folder.join(format!("shards-{shards}.yaml"));
            std::fs::write(&values, sharded(shards))?;
            cases.push(Case { name: format!("integrations, {shards} shards"), chart: integrations.clone(), values });
        }
    }
    for subcharts in [100, 200] {
        let chart = folder.join(format!("umbrella-{subcharts}"));
        umbrella(&chart, subcharts)?;
        let values = chart.join("values.yaml");
        cases.push(Case { name: format!("umbrella, {subcharts} subcharts"), chart, values });
    }
    let none = folder.join("none.yaml");
    std::fs::write(&none, "{}\n")?;
    for name in PUBLIC {
        let chart = data.join("charts").join(name).join("chart");
        if chart.exists() {
            cases.push(Case { name: name.to_string(), chart, values: none.clone() });
        }
    }
    Ok(cases)
}

/// Values of the integrations chart with one integration of so many shards.
fn sharded(shards: usize) -> String {
    let specs: Vec<String> = (0..shards)
        .map(|shard| {
            format!(
                "    - {{shard_id: '{shard}', shards: '{shards}', shard_name_suffix: '-{shard}', extra_args: '--shard {shard}'}}\n"
            )
        })
        .collect();
    format!(
        "integrations:\n- name: bench\n  resources: {{requests: {{memory: 100Mi, cpu: 100m}}, limits: {{memory: 200Mi, cpu: 200m}}}}\n  shard_specs:\n{}",
        specs.concat()
    )
}

/// A chart of subcharts whose values are templates.
fn umbrella(folder: &Path, subcharts: usize) -> std::io::Result<()> {
    let write = |name: String, text: String| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(path, text)
    };
    write("Chart.yaml".into(), "apiVersion: v2\nname: umbrella\nversion: 1.0.0\n".into())?;
    write("values.yaml".into(), "global: {zone: east}\n".into())?;
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"name\" . }}\n  labels:\n    {{- tpl (toYaml .Values.labels) . | nindent 4 }}\ndata:\n  {{- range $key, $value := .Values.data }}\n  {{ $key }}: {{ tpl $value $ | quote }}\n  {{- end }}\n";
    for n in 0..subcharts {
        write(format!("charts/s{n}/Chart.yaml"), format!("apiVersion: v2\nname: s{n}\nversion: 1.0.0\n"))?;
        let values = "labels: {app: '{{ .Chart.Name }}', zone: '{{ .Values.global.zone }}'}\ndata:\n";
        let entries: String =
            (0..10).map(|k| format!("  k{k}: '{{{{ .Release.Name }}}}-{{{{ .Chart.Name }}}}-{k}'\n")).collect();
        write(format!("charts/s{n}/values.yaml"), format!("{values}{entries}"))?;
        write(
            format!("charts/s{n}/templates/_h.tpl"),
            "{{ define \"name\" }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}\n".into(),
        )?;
        for t in 0..3 {
            write(format!("charts/s{n}/templates/c{t}.yaml"), template.into())?;
        }
    }
    Ok(())
}
