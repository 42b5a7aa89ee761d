//! What processes take: memory by samples, processor time by control group or, where there is none, by process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often memory is looked at.
const SAMPLE: Duration = Duration::from_millis(100);
/// Ticks of the kernel's clock in a second, as every Linux has them for its users.
const TICKS: u64 = 100;

/// Memory over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryUse {
    /// The most at one moment.
    pub peak_bytes: u64,
    /// Bytes times seconds.
    pub byte_seconds: f64,
    /// How many processes wanted to run meanwhile, on the whole machine and on average.
    pub load: f64,
}

/// Looks at processes, and all they start, until it is told to stop.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<MemoryUse>,
}

impl Sampler {
    /// Begins.
    pub fn start(roots: Vec<u32>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let thread = std::thread::spawn(move || {
            let (mut memory, mut last, mut looks) = (MemoryUse::default(), Instant::now(), 0.0);
            while !told.load(Ordering::Relaxed) {
                std::thread::sleep(SAMPLE);
                let now: u64 = descendants(&roots).into_iter().map(share).sum();
                memory.peak_bytes = memory.peak_bytes.max(now);
                memory.byte_seconds += now as f64 * last.elapsed().as_secs_f64();
                last = Instant::now();
                (memory.load, looks) = ((memory.load * looks + load()) / (looks + 1.0), looks + 1.0);
            }
            memory
        });
        Self { stop, thread }
    }

    /// Ends; what was seen.
    pub fn stop(self) -> MemoryUse {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Processes and all that descend from them.
fn descendants(roots: &[u32]) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(parent) = stat(process).and_then(|fields| fields.get(1)?.parse().ok()) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut all = roots.to_vec();
    let mut at = 0;
    while let Some(process) = all.get(at) {
        all.extend(children.remove(process).unwrap_or_default());
        at += 1;
    }
    all
}

/// What follows the name of a process in its `stat`: its state, its parent, ...
fn stat(process: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some(rest.split_whitespace().map(str::to_string).collect())
}

/// A process' share of memory: what several share is divided among them.
fn share(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

/// How many processes want to run, of the last minute.
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The processor time of a process so far.
pub fn processor_time(process: u32) -> Duration {
    let fields = stat(process).unwrap_or_default();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    // utime and stime: fields 14 and 15 of the whole line.
    Duration::from_millis((ticks(11) + ticks(12)) * 1000 / TICKS)
}

/// A control group that counts the processor time of all that is started in it.
pub struct CpuGroup(PathBuf);

impl CpuGroup {
    /// Makes one, where that is possible.
    pub fn create(name: &str) -> Option<Self> {
        let base = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"].map(Path::new);
        let base = base.into_iter().find(|base| base.join("cgroup.procs").exists())?;
        let group = base.join(format!("switchboard-study-{}-{name}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let group = Self(group);
        group.time().map(|_| group)
    }

    /// A command that is started within.
    pub fn within(&self, program: &Path) -> Command {
        let mut command = Command::new("/bin/sh");
        let script = "echo $$ > \"$0\" && exec \"$@\"";
        command.args(["-c", script]).arg(self.0.join("cgroup.procs")).arg(program);
        command
    }

    /// The time so far.
    pub fn time(&self) -> Option<Duration> {
        if let Ok(nanos) = fs::read_to_string(self.0.join("cpuacct.usage")) {
            return nanos.trim().parse().ok().map(Duration::from_nanos);
        }
        let text = fs::read_to_string(self.0.join("cpu.stat")).ok()?;
        let micros = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        micros.parse().ok().map(Duration::from_micros)
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        // A group with a process in it stays, and is told by its name.
        let _ = fs::remove_dir(&self.0);
    }
}
