//! Page with the results.

use std::time::Duration;

use crate::modes::{HostingMode, ModeResult};
use crate::script::{ScriptedChange, StudyScript};

/// Returns the content of docs/COST.md.
pub fn page(script: &StudyScript, sides: &[ModeResult]) -> String {
    let changes = script.changes();
    let noise = changes.iter().filter(|(_, _, change)| *change == ScriptedChange::Noise).count();
    let mut page = format!(
        "# Cost of resident and hosted operators\n\n\
         This page compares the cost of {} copies of [examples/beacon](../examples/beacon), as {} resident processes and hosted by one\n\
         `switchboard run`. Read it before you [move an operator from resident to hosted](how-to/resident-to-hosted.md). `make study` \
         writes it.\n\n\
         Each side ran on a real kube-apiserver (v1.36.1, with etcd), through the same script of {} s with {} changes, one every ten\n\
         seconds. {} of the changes are to objects that no operator reads.\n\n",
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
    ("open watches at the end", |side| side.requests.watches.to_string()),
    ("started watches", |side| side.requests.watches_begun.to_string()),
    ("read requests", |side| side.requests.reads.to_string()),
    ("write requests", |side| side.requests.writes.to_string()),
    ("requests for leases, tokens and discovery", |side| side.requests.upkeep.to_string()),
    ("peak memory, MiB", |side| (side.memory.peak_bytes >> 20).to_string()),
    ("memory, GB-seconds", |side| format!("{:.1}", side.memory.byte_seconds / 1e9)),
    ("processor time, s", |side| side.cpu.map_or("unknown".into(), seconds)),
    ("processor time of kube-apiserver, s", |side| seconds(side.apiserver_cpu)),
    ("processor time of etcd, s", |side| seconds(side.etcd_cpu)),
    ("runs of both commands of a program", |side| side.runs.map_or("–".into(), |runs| runs.to_string())),
    ("processor time per run, with its effects, s", |side| match (side.cpu, side.runs) {
        (Some(cpu), Some(runs)) if runs > 0 => format!("{:.2}", cpu.as_secs_f64() / runs as f64),
        _ => "–".into(),
    }),
    ("delay from change to effect, median, ms", |side| millis(&side.delays, 50)),
    ("delay from change to effect, 95th percentile, ms", |side| millis(&side.delays, 95)),
    ("mean load of the machine", |side| format!("{:.1}", side.memory.load)),
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
        Some(format!("- {}: {memory:.1} times less memory over time, {cpu:.1} times the processor time", hosted.mode))
    };
    let ratios: Vec<String> =
        sides.iter().filter(|side| side.mode != HostingMode::Resident).filter_map(ratio).collect();
    format!(
        "{}\n\n## How it was measured\n\n\
         - *Operators*: each copy has its own Beacon, namespaces and service account (`BEACON_INSTANCE`). A resident copy resyncs every \
         minute, a\n  hosted one every minute (`resync: 1m`) or every ten (`resync: 10m`). Other limits are defaults: a debounce of 200 ms, a \
         cool-down of\n  1 s. Both commands run in the sandbox.\n\
         - *Script*: every ten seconds one change, to the copies in turn: text of a banner, noise, desired replicas, status of a Deployment, \
         deletion\n  of a ConfigMap. The script polls for the effect every 50 ms, which is part of the delays.\n\
         - *Watches, requests*: from the audit log of the API server, by user, without requests of the script.\n\
         - *Memory*: proportional set size (PSS) of every process of a side, including short-lived ones, every 100 ms from start to end.\n\
         - *Processor time*: of the control group of a side, including launchers of the sandbox.\n\
         - *Start*, until every Beacon has all its conditions, is included in the figures: {}.\n\n\
         {}\
         ## Interpretation\n\n\
         The informers of a resident operator use memory all the time, and a change costs little. A hosted operator pays for each run, \
         which starts a\nprogram twice and reads the input. Hosting therefore saves memory and watches, and costs processor time and delay. \
         The result depends\non the frequency of changes.\n\n\
         {} s with a change every ten seconds are busier than a normal day, and a small operator has small informers. Both favour the resident \
         side.\n\n\
         ## Next steps\n\n\
         [Move an operator from resident to hosted](how-to/resident-to-hosted.md).\n",
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
        "Other processes used the machine at the same time, so delays are longer than on an idle machine, and processor times slightly longer."
    } else {
        "The machine was otherwise idle."
    };
    format!(
        "## This run\n\n\
         One run of each side, one after the other, on {date}, with profile `{built}` on {cores} cores. {busy}\n\n"
    )
}
