//! What is run, within which bounds, and what came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::direct::RunFolder;
use crate::egress::{ConnectionAttempt, EgressRules};

/// Where the program finds its input.
pub const INPUT: &str = "/switchboard/input";
/// Where it leaves its output.
pub const OUTPUT: &str = "/switchboard/out/output";
/// Its temporary directory.
pub const SCRATCH: &str = "/tmp";
/// Where it finds the kubeconfig, when the job has one.
pub const KUBECONFIG: &str = "/switchboard/kubeconfig";
/// Where the egress proxy listens, inside.
pub const PROXY: &str = "127.0.0.1:3128";

/// One run of a program.
#[derive(Clone, Debug)]
pub struct SandboxJob {
    /// The program, by its path from the root.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment, beside `PATH`, `HOME`, `TMPDIR` and what the proxy needs.
    pub env: BTreeMap<String, String>,
    /// Files and folders it may read, at their own paths, beside the system's libraries.
    pub readable: Vec<PathBuf>,
    /// The folder that it sees, read-only, as [`INPUT`].
    pub input: Option<PathBuf>,
    /// What it sees as [`KUBECONFIG`]. Never on a disk.
    pub kubeconfig: Option<String>,
    /// Where it may connect to, through a proxy; to nothing when absent.
    pub egress: Option<Arc<EgressRules>>,
    /// Within which bounds.
    pub limits: SandboxLimits,
    /// Run it as it is, with nothing but the time bounded. It is to be trusted like this process itself.
    pub unconfined: bool,
}

/// What a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxLimits {
    /// How long it may take.
    pub wall: Duration,
    /// What its processes may hold in memory together, its files included.
    pub memory_bytes: u64,
    /// What it may write: output and temporary files together.
    pub disk_bytes: u64,
    /// How many processes and threads it may have.
    pub processes: u32,
    /// How much of what it says on stdout is kept.
    pub stdout_bytes: usize,
}

/// [`Bounds::wall`] when not set.
pub const WALL: Duration = Duration::from_secs(25);
/// [`Bounds::memory_bytes`] when not set.
pub const MEMORY_BYTES: u64 = 512 << 20;
/// [`Bounds::disk_bytes`] when not set.
pub const DISK_BYTES: u64 = 64 << 20;
/// [`Bounds::processes`] when not set: the runtime of Go alone takes a dozen threads.
pub const PROCESSES: u32 = 128;
/// [`Bounds::stdout_bytes`] when not set.
pub const STDOUT_BYTES: usize = 4 << 20;

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            wall: WALL,
            memory_bytes: MEMORY_BYTES,
            disk_bytes: DISK_BYTES,
            processes: PROCESSES,
            stdout_bytes: STDOUT_BYTES,
        }
    }
}

impl SandboxJob {
    /// A program without arguments, within the usual bounds.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            env: BTreeMap::new(),
            readable: Vec::new(),
            input: None,
            kubeconfig: None,
            egress: None,
            limits: SandboxLimits::default(),
            unconfined: false,
        }
    }

    /// With these arguments.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunEnd {
    /// By itself, with that code.
    Exited(i32),
    /// By that signal, which somebody else sent or a fault raised.
    Signalled(i32),
    /// Killed: its time was over.
    Deadline,
    /// Killed: it held that many bytes.
    Memory(u64),
}

impl RunEnd {
    /// Whether it ended by itself and says all went well.
    pub fn is_success(self) -> bool {
        self == RunEnd::Exited(0)
    }

    /// Whether it ended by itself.
    pub fn is_exit(self) -> bool {
        matches!(self, RunEnd::Exited(_))
    }
}

/// `exited with 1`, `was killed by signal 9`.
impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunEnd::Exited(code) => write!(f, "exited with {code}"),
            RunEnd::Signalled(signal) => write!(f, "was killed by signal {signal}"),
            RunEnd::Deadline => f.write_str("did not end in its time and was killed"),
            RunEnd::Memory(bytes) => write!(f, "held {} MiB of memory and was killed", bytes >> 20),
        }
    }
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunUsage {
    /// From its start to its end, without the making of the sandbox.
    pub wall: Duration,
    /// Time on processors.
    pub cpu: Duration,
    /// The most that one of its processes held.
    pub peak_memory_bytes: u64,
    /// What its files took.
    pub disk_bytes: u64,
    /// Whether there was room for no further file.
    pub disk_full: bool,
}

/// What came of a run.
#[derive(Debug)]
pub struct JobOutcome {
    /// How it ended.
    pub end: RunEnd,
    /// What it cost.
    pub usage: RunUsage,
    /// What it said on stdout, its beginning when it said too much.
    pub stdout: Vec<u8>,
    /// Whether it said more than was kept.
    pub stdout_truncated: bool,
    /// The end of what it said on stderr.
    pub stderr: Vec<u8>,
    /// Its output.
    pub output: OutputFolder,
    /// Where it wanted to connect to.
    pub attempts: Vec<ConnectionAttempt>,
}

/// The folder a program left its output in. Its files are gone when this is dropped.
#[derive(Debug)]
pub enum OutputFolder {
    /// A file system in memory that nobody else has a name for.
    Memory(OwnedFd),
    /// A folder on the disk.
    Disk(RunFolder),
}

impl OutputFolder {
    /// The folder's path.
    pub fn path(&self) -> PathBuf {
        match self {
            OutputFolder::Memory(folder) => Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()),
            OutputFolder::Disk(work) => work.path().join("output"),
        }
    }
}

/// How deep folders of an output may lie in each other.
const MAX_DEPTH: usize = 16;

/// What is odd about what a program left.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A link, a pipe or a socket: reading it would lead elsewhere, or nowhere.
    #[error("{} in the output is neither a file nor a folder", .0.display())]
    NotAFile(PathBuf),
    /// Folders in folders.
    #[error("the folders of the output lie more than {MAX_DEPTH} deep")]
    TooDeep,
    /// Files with holes take no room where they lie, and all of it in who reads them.
    #[error("the files of the output say they are {bytes} bytes long together, and {most} are allowed")]
    TooLong {
        /// How long they are together.
        bytes: u64,
        /// What is allowed.
        most: u64,
    },
    /// The system says no.
    #[error("could not look at the output")]
    Read(#[source] std::io::Error),
}

impl OutputFolder {
    /// The files in it, by their paths from it, in order; a folder that holds anything but files and folders is refused, so
    /// that whoever reads on is led nowhere else, and so are files that are longer together than `most` bytes, so that
    /// whoever reads them has room for them.
    ///
    /// # Errors
    /// What is odd about it.
    pub fn files(&self, most: u64) -> Result<Vec<PathBuf>, OutputError> {
        let root = self.path();
        let (mut files, mut bytes) = (Vec::new(), 0_u64);
        let mut waiting = vec![(root.clone(), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            if depth > MAX_DEPTH {
                return Err(OutputError::TooDeep);
            }
            for entry in std::fs::read_dir(&folder).map_err(OutputError::Read)? {
                let entry = entry.map_err(OutputError::Read)?;
                let kind = entry.file_type().map_err(OutputError::Read)?;
                let path = entry.path();
                let name = || path.strip_prefix(&root).unwrap_or(&path).to_path_buf();
                match (kind.is_dir(), kind.is_file()) {
                    (true, _) => waiting.push((path, depth + 1)),
                    (_, true) => {
                        bytes = bytes.saturating_add(entry.metadata().map_err(OutputError::Read)?.len());
                        files.push(name());
                    }
                    _ => return Err(OutputError::NotAFile(name())),
                }
            }
        }
        if bytes > most {
            return Err(OutputError::TooLong { bytes, most });
        }
        files.sort();
        Ok(files)
    }
}
