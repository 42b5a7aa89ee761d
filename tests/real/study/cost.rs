//! Resource usage of processes: memory by sampling, CPU time by control group, or by process if there is none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sampling interval of memory.
const SAMPLE: Duration = Duration::from_millis(100);
/// Clock ticks per second, as reported to user space by every Linux.
const TICKS: u64 = 100;

/// Memory over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryUse {
    /// Peak memory.
    pub peak_bytes: u64,
    /// Integral of memory over time.
    pub byte_seconds: f64,
    /// Average number of runnable processes on the machine.
    pub load: f64,
}

/// Samples processes and their descendants until stopped.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<MemoryUse>,
}

impl Sampler {
    /// Starts sampling.
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

    /// Stops sampling and returns the result.
    pub fn stop(self) -> MemoryUse {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Returns processes and all their descendants.
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

/// Returns the fields of `stat` after the process name: state, parent, ...
fn stat(process: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some(rest.split_whitespace().map(str::to_string).collect())
}

/// Returns the proportional set size of a process.
fn share(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

/// Returns the load average of the last minute.
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Returns the CPU time of a process.
pub fn processor_time(process: u32) -> Duration {
    let fields = stat(process).unwrap_or_default();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    // utime and stime: fields 14 and 15 of the whole line.
    Duration::from_millis((ticks(11) + ticks(12)) * 1000 / TICKS)
}

/// Control group that counts the CPU time of its processes.
pub struct CpuGroup(PathBuf);

impl CpuGroup {
    /// Creates a control group, if permitted.
    pub fn create(name: &str) -> Option<Self> {
        let base = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"].map(Path::new);
        let base = base.into_iter().find(|base| base.join("cgroup.procs").exists())?;
        let group = base.join(format!("switchboard-study-{}-{name}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let group = Self(group);
        group.time().map(|_| group)
    }

    /// Returns a command that starts in the group.
    pub fn within(&self, program: &Path) -> Command {
        let mut command = Command::new("/bin/sh");
        let script = "echo $$ > \"$0\" && exec \"$@\"";
        command.args(["-c", script]).arg(self.0.join("cgroup.procs")).arg(program);
        command
    }

    /// Returns the CPU time so far.
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
        // A group with processes cannot be removed, and is identifiable by its name.
        let _ = fs::remove_dir(&self.0);
    }
}
