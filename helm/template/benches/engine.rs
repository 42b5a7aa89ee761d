//! Benchmark of warm, parsed templates: this engine and Go's text/template take turns in the same run.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value as Json, json};
use switchboard_template::{ExecutionOptions, Functions, JsonNumbers, TemplateSet, Value};

/// Turns of each side. The benchmark reports the median of their quotients.
const TURNS: usize = 15;

/// Approximate duration of one turn on Go's side.
const TURN_NS: u128 = 100_000_000;

/// Factor by which this engine must be faster than Go's.
const TARGET: f64 = 2.0;

/// A Go process that has parsed the template and executes it on request.
struct GoProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl GoProcess {
    fn start(case: &Json) -> GoProcess {
        let folder = std::env::var("SWITCHBOARD_REAL_BIN").expect("SWITCHBOARD_REAL_BIN: run `make bench`");
        let mut command = Command::new(std::path::Path::new(&folder).join("oracle"));
        let mut child = command.arg("bench").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{case}").unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        GoProcess { child, stdin, stdout }
    }

    fn run(&mut self, rounds: u128) -> u128 {
        writeln!(self.stdin, "{rounds}").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim().parse().unwrap()
    }
}

impl Drop for GoProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn main() -> ExitCode {
    println!("{:<12} {:>14} {:>14} {:>8}", "template", "Go ns", "ours ns", "faster");
    // `cargo bench ... -- NAME` measures one case.
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let mut missed = Vec::new();
    for (name, case) in cases().into_iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        let (go, ours, quotient) = compare(&case);
        println!("{name:<12} {go:>14} {ours:>14} {quotient:>7.1}x");
        if quotient < TARGET {
            missed.push(format!("{name}: {quotient:.1} times as fast as Go's, and the goal is {TARGET}"));
        }
    }
    missed.iter().for_each(|missed| println!("goal missed: {missed}"));
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures both sides: nanoseconds of one execution each, and the median quotient of the turns.
fn compare(case: &Json) -> (u128, u128, f64) {
    let mut set = TemplateSet::new("t", Arc::new(Functions::new()));
    set.parse("t", case["template"].as_str().unwrap()).unwrap();
    let set = Arc::new(set);
    let data = Value::from_json(&case["data"], JsonNumbers::Int);
    let mut out = Vec::new();
    let mut ours = |rounds: u128| {
        let begin = Instant::now();
        for _ in 0..rounds {
            out.clear();
            set.execute("t", &data, &ExecutionOptions::default(), &mut out).unwrap();
        }
        begin.elapsed().as_nanos()
    };
    let mut go = GoProcess::start(case);
    go.run(10);
    ours(10);
    let rounds = (TURN_NS / (go.run(10) / 10).max(1)).max(1);
    let mut turns: Vec<(u128, u128)> = (0..TURNS).map(|_| (go.run(rounds), ours(rounds))).collect();
    turns.sort_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)));
    let (go, ours) = turns[TURNS / 2];
    (go / rounds, ours / rounds, go as f64 / ours as f64)
}

fn cases() -> Vec<(&'static str, Json)> {
    let containers: Vec<Json> = (0..20)
        .map(|n| {
            json!({
                "name": format!("container-{n}"), "image": "registry/team/service", "tag": format!("1.{n}.0"),
                "ports": [{"name": "http", "port": 8080 + n}, {"name": "metrics", "port": 9090 + n}],
                "env": {"LOG_LEVEL": "info", "REGION": "here", "SHARD": n}, "enabled": n % 3 != 0,
            })
        })
        .collect();
    let data = json!({
        "Values": {"containers": containers, "name": "shop", "replicas": 3, "labels": {"team": "a", "tier": "web"}},
        "Release": {"Name": "release", "Namespace": "default"}, "list": (0..1000).collect::<Vec<i64>>(),
    });
    let manifest = include_str!("manifest.tpl");
    let case = |template: &str| json!({"kind": "text", "template": template, "data": data});
    vec![
        ("manifest", case(manifest)),
        ("fields", case(&"{{ .Values.name }}-{{ .Release.Name }} ".repeat(100))),
        ("loop", case("{{ range $i, $e := .list }}{{ if gt $e 500 }}{{ $i }}={{ $e }},{{ end }}{{ end }}")),
        ("printf", case("{{ range .list }}{{ printf \"%05d|%-8s|%v\" . \"x\" 1.5 }}{{ end }}")),
        ("define", case("{{ define \"x\" }}{{ . }}{{ end }}{{ range .list }}{{ template \"x\" . }}{{ end }}")),
        ("variables", case("{{ $s := \"\" }}{{ range .list }}{{ $x := . }}{{ $s = $x }}{{ end }}{{ $s }}")),
    ]
}
