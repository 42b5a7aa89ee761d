//! Page with the results.

use std::time::Duration;

use crate::modes::{HostingMode, ModeResult};
use crate::script::{ScriptedChange, StudyScript};

/// Returns the content of docs/COST.md.
pub fn page(script: &StudyScript, sides: &[ModeResult]) -> String {
    let changes = script.changes();
    let noise = changes.iter().filter(|(_, _, change)| *change == ScriptedChange::Noise).count();
    let mut page = format!(
        "# What operators cost: resident and hosted\n\n\
         {} copies of [examples/beacon](../examples/beacon), once as {} resident processes and once hosted by one `switchboard run`, on the\n\
         same real kube-apiserver (v1.36.1, with etcd), through the same script of {} s: {} changes, one every ten seconds, {} of them to \
         objects\nthat nobody reads. Written by `make study`.\n\n",
        script.operators,
        script.operators,
        script.duration.as_secs(),
        changes.len(),
        noise,
    );
    page += &table(sides);
    page += &summary(script, sides);
    page
}

type ReportRow = (&'static str, fn(&ModeResult) -> String);

const ROWS: [ReportRow; 15] = [
    ("watches, open at the end", |side| side.requests.watches.to_string()),
    ("watches begun", |side| side.requests.watches_begun.to_string()),
    ("requests that read", |side| side.requests.reads.to_string()),
    ("requests that write", |side| side.requests.writes.to_string()),
    ("requests for leases, tokens and discovery", |side| side.requests.upkeep.to_string()),
    ("peak memory, MiB", |side| (side.memory.peak_bytes >> 20).to_string()),
    ("memory, GB-seconds", |side| format!("{:.1}", side.memory.byte_seconds / 1e9)),
    ("processor time, s", |side| side.cpu.map_or("not known".into(), seconds)),
    ("of the kube-apiserver meanwhile, s", |side| seconds(side.apiserver_cpu)),
    ("of etcd meanwhile, s", |side| seconds(side.etcd_cpu)),
    ("runs of a program's two commands", |side| side.runs.map_or("–".into(), |runs| runs.to_string())),
    ("processor time of one such run and what it caused, s", |side| match (side.cpu, side.runs) {
        (Some(cpu), Some(runs)) if runs > 0 => format!("{:.2}", cpu.as_secs_f64() / runs as f64),
        _ => "–".into(),
    }),
    ("from a change to its effect: median, ms", |side| millis(&side.delays, 50)),
    ("the same, 95th percentile, ms", |side| millis(&side.delays, 95)),
    ("load of the machine meanwhile, mean", |side| format!("{:.1}", side.memory.load)),
];

fn table(sides: &[ModeResult]) -> String {
    let mut lines = vec![String::new(), format!("|---|{}", "---:|".repeat(sides.len()))];
    lines[0] = format!("| |{}", sides.iter().map(|side| format!(" {} |", side.mode)).collect::<String>());
    for (name, cell) in ROWS {
        lines.push(format!("| {name} |{}", sides.iter().map(|side| format!(" {} |", cell(side))).collect::<String>()));
    }
    lines.join("\n") + "\n\n"
}

fn seconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64())
}

fn millis(delays: &[Duration], percent: usize) -> String {
    let mut sorted = delays.to_vec();
    sorted.sort();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or("–".into(), |delay| delay.as_millis().to_string())
}

fn summary(script: &StudyScript, sides: &[ModeResult]) -> String {
    let starts: Vec<String> = sides.iter().map(|side| format!("{} {} s", side.mode, seconds(side.start))).collect();
    let resident = sides.iter().find(|side| side.mode == HostingMode::Resident);
    let ratio = |hosted: &ModeResult| -> Option<String> {
        let resident = resident?;
        let (memory, cpu) = (
            resident.memory.byte_seconds / hosted.memory.byte_seconds.max(1.0),
            hosted.cpu?.as_secs_f64() / resident.cpu?.as_secs_f64().max(0.001),
        );
        Some(format!("{}: {memory:.1} times less memory over time, {cpu:.1} times the processor time.", hosted.mode))
    };
    let ratios: Vec<String> =
        sides.iter().filter(|side| side.mode != HostingMode::Resident).filter_map(ratio).collect();
    format!(
        "{}\n\n## How it was measured\n\n\
         - *Operators*: `BEACON_INSTANCE` makes ten of one program, each with its own Beacon, namespaces and service account. A resident one \
         looks\n  at its surroundings every minute; hosted with `resync: 1m` each does the same, with `resync: 10m` every ten minutes. \
         Otherwise the\n  limits are the defaults (a debounce of 200 ms, a cool-down of 1 s). Both commands run in the sandbox.\n\
         - *Script*: every ten seconds one change, in turns to the ten: a banner's text, noise, the wanted replicas, a Deployment that came up, a\n  \
         ConfigMap that somebody deleted. The effect of each is looked for every 50 ms, which is in the delays.\n\
         - *Watches, requests*: from the audit log of the API server, by who asked. What the script itself asks is not in it.\n\
         - *Memory*: the proportional share (PSS) of every process of a side, those that run for a moment included, every 100 ms from their\n  \
         start to the end of the script.\n\
         - *Processor time*: of the control group in which a side ran, launchers of the sandbox included.\n\
         - *Start*, from the start of the processes until every Beacon has all its conditions: {}. It is in the figures.\n\n\
         {}\
         ## What it means, and what not\n\n\
         A resident operator pays for its memory all the time and for a change hardly anything: its informers are warm. A hosted one pays for \
         each run,\nwhich starts a Go program twice and lets it read its input. So hosting saves memory and watches, and costs processor time \
         and delay per\nchange; which side wins depends on how often things change. {} s of a script with a change every ten seconds are \
         busier than a platform is\nover a day, and a small operator such as this one has small informers: both favour the resident side.\n",
        ratios.join("\n"),
        starts.join("; "),
        conditions(sides),
        script.duration.as_secs(),
    )
}

/// Returns the conditions of the run, as far as the program knows them.
fn conditions(sides: &[ModeResult]) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let date = jiff::Timestamp::now().strftime("%-d %B %Y");
    let built = switchboard_suite::process::binary().ok().and_then(|path| path.parent()?.file_name());
    let built = built.map_or("unknown".into(), |folder| folder.to_string_lossy().into_owned());
    let busiest = sides.iter().map(|side| side.memory.load).fold(0.0, f64::max);
    let busy = if busiest > cores as f64 {
        "Others used the machine meanwhile, so delays are longer than on a quiet one, and processor times a little: they count the work, not the\n\
         waiting, but caches are shared."
    } else {
        "The machine had little else to do."
    };
    format!(
        "## This run\n\n\
         One run of each side, one after the other, ended on {date}; `switchboard` is of the profile `{built}`, on {cores} cores. {busy}\n\n"
    )
}
