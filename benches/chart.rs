//! Rendering of charts: this crate, a `helm template` process, and Helm's engine as a library, with the same inputs in
//! turn.
//!
//! The charts are the integrations chart with 1, 100, 1,000 and 2,000 shards, an umbrella chart with 100 and 200
//! subcharts that use `tpl` everywhere, and ten public charts if they exist in `../shared/data`. The fastest of several
//! rounds counts, because noise only slows runs down. `ONLY=<part of a name>` selects charts. The engine is compared
//! with the engine; the process is compared with everything from loaded chart and values to the printed text. Missed
//! goals are reported at the end, and make the bench fail.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use switchboard_chart::chart::Chart;
use switchboard_chart::folder::SymlinkPolicy;
use switchboard_chart::output;
use switchboard_chart::release::Release;
use switchboard_chart::render::{CompiledChart, RenderRequest};
use switchboard_chart::values;
use switchboard_template::sprig::SystemInputs;

/// Minimum speedup over Helm's engine, and over a Helm process.
const ENGINE_GOAL: f64 = 3.0;
const PROCESS_GOAL: f64 = 20.0;
/// Maximum cost of twice the input.
const DOUBLE_GOAL: f64 = 2.2;

use switchboard_suite::BoxError;

const TURNS: usize = 5;
/// Number of renderings by the library in a turn.
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

struct ChartCase {
    name: String,
    chart: PathBuf,
    values: PathBuf,
}

struct HelmEngine {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl HelmEngine {
    fn start(program: &Path) -> Result<Self, BoxError> {
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take().ok_or("no stdin")?;
        let from = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        Ok(Self { child, to, from })
    }

    fn fastest(&mut self, case: &ChartCase) -> Result<Duration, BoxError> {
        writeln!(self.to, "{}\t{}\t{ROUNDS}", case.chart.display(), case.values.display())?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        Ok(Duration::from_nanos(line.trim().parse().map_err(|_| format!("{}: {line}", case.name))?))
    }
}

impl Drop for HelmEngine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() -> Result<(), BoxError> {
    let programs = PathBuf::from(std::env::var("SWITCHBOARD_REAL_BIN")?);
    let folder = tempfile::tempdir()?;
    let mut engine = HelmEngine::start(&programs.join("helm4-engine"))?;
    println!("| chart | engine here | Helm's engine | times | all here | helm template | times |");
    println!("|---|---|---|---|---|---|---|");
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut goals = ChartGoals::default();
    for case in cases(folder.path())?.into_iter().filter(|case| case.name.contains(&only)) {
        let taken = measured(&case, &mut engine, &programs)?;
        let RenderTimes { engine, library, whole, process } = taken;
        let (of_library, of_process) = (times(library, engine), times(process, whole));
        println!(
            "| {} | {engine:.2?} | {library:.2?} | {of_library:.1} | {whole:.2?} | {process:.2?} | {of_process:.0} |",
            case.name
        );
        goals.at_least(&format!("{}: times Helm's engine", case.name), of_library, ENGINE_GOAL);
        goals.at_least(&format!("{}: times a process of helm", case.name), of_process, PROCESS_GOAL);
        goals.seen.push((format!("templates of {}", case.name), engine));
        goals.seen.push((case.name, whole));
    }
    for (less, more) in [
        ("integrations, 1000 shards", "integrations, 2000 shards"),
        ("umbrella, 100 subcharts", "umbrella, 200 subcharts"),
    ] {
        goals.double(&format!("templates of {less}"), &format!("templates of {more}"));
        goals.double(less, more);
    }
    goals.report()
}

fn times(other: Duration, ours: Duration) -> f64 {
    other.as_secs_f64() / ours.as_secs_f64()
}

/// Fastest time of each.
struct RenderTimes {
    engine: Duration,
    library: Duration,
    whole: Duration,
    process: Duration,
}

fn measured(case: &ChartCase, engine: &mut HelmEngine, programs: &Path) -> Result<RenderTimes, BoxError> {
    let chart = CompiledChart::new(Chart::load(&case.chart, SymlinkPolicy::Inside)?);
    let mut request = RenderRequest::new(Release::new("rel", "default"));
    request.system_inputs = SystemInputs::fixed("2026-01-01T00:00:00Z".parse()?, b"bench");
    request.values = values::read(&std::fs::read_to_string(&case.values)?)?;
    let longest = Duration::MAX;
    let mut taken = RenderTimes { engine: longest, library: longest, whole: longest, process: longest };
    for _ in 0..TURNS {
        for _ in 0..ROUNDS {
            let start = Instant::now();
            std::hint::black_box(chart.render_files(&request)?);
            taken.engine = taken.engine.min(start.elapsed());
            let start = Instant::now();
            let rendered = chart.render(&request)?;
            std::hint::black_box(output::text(&rendered, &output::OutputOptions::default())?);
            taken.whole = taken.whole.min(start.elapsed());
        }
        taken.library = taken.library.min(engine.fastest(case)?);
        taken.process = taken.process.min(helm(&programs.join("helm4"), case)?);
    }
    Ok(taken)
}

/// Goals that were missed.
#[derive(Default)]
struct ChartGoals {
    seen: Vec<(String, Duration)>,
    missed: Vec<String>,
}

impl ChartGoals {
    fn at_least(&mut self, what: &str, reached: f64, goal: f64) {
        if reached < goal {
            self.missed.push(format!("{what}: {reached:.1}, and the goal is {goal}"));
        }
    }

    /// Checks that twice the input takes little more than twice the time.
    fn double(&mut self, less: &str, more: &str) {
        let taken = |name: &str| self.seen.iter().find(|(seen, _)| seen == name).map(|(_, taken)| *taken);
        let (Some(one), Some(two)) = (taken(less), taken(more)) else { return };
        let cost = times(two, one);
        println!("\n{more} take {cost:.2} times what {less} take");
        if cost > DOUBLE_GOAL {
            self.missed.push(format!("{more}: {cost:.2} times {less}, and the goal is {DOUBLE_GOAL}"));
        }
    }

    fn report(&self) -> Result<(), BoxError> {
        for missed in &self.missed {
            println!("goal missed: {missed}");
        }
        if !self.missed.is_empty() {
            return Err(format!("{} goals are missed", self.missed.len()).into());
        }
        println!("every goal is met");
        Ok(())
    }
}

fn helm(program: &Path, case: &ChartCase) -> Result<Duration, BoxError> {
    let start = Instant::now();
    let mut command = Command::new(program);
    command.args(["template", "rel"]).arg(&case.chart).arg("-f").arg(&case.values);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if !status.success() {
        return Err(format!("helm template of {} failed", case.name).into());
    }
    Ok(start.elapsed())
}

fn cases(folder: &Path) -> Result<Vec<ChartCase>, BoxError> {
    let mut cases = Vec::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let integrations = data.join("integrations/chart");
    for shards in [1, 100, 1_000, 2_000] {
        if integrations.exists() {
            let values = folder.join(format!("shards-{shards}.yaml"));
            std::fs::write(&values, sharded(shards))?;
            cases.push(ChartCase {
                name: format!("integrations, {shards} shards"),
                chart: integrations.clone(),
                values,
            });
        }
    }
    for subcharts in [100, 200] {
        let chart = folder.join(format!("umbrella-{subcharts}"));
        umbrella(&chart, subcharts)?;
        let values = chart.join("values.yaml");
        cases.push(ChartCase { name: format!("umbrella, {subcharts} subcharts"), chart, values });
    }
    let none = folder.join("none.yaml");
    std::fs::write(&none, "{}\n")?;
    for name in PUBLIC {
        let chart = data.join("charts").join(name).join("chart");
        if chart.exists() {
            cases.push(ChartCase { name: name.to_string(), chart, values: none.clone() });
        }
    }
    Ok(cases)
}

/// Returns values of the integrations chart with one integration and the given number of shards.
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

/// Writes a chart of subcharts whose values are templates.
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
