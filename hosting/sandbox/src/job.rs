//! Jobs, their limits and their outcomes.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::direct::RunFolder;
use crate::egress::{ConnectionAttempt, EgressRules};

/// Path of the input in the sandbox.
pub const INPUT: &str = "/switchboard/input";
/// Path of the output folder in the sandbox.
pub const OUTPUT: &str = "/switchboard/out/output";
/// Path of the temporary folder in the sandbox.
pub const SCRATCH: &str = "/tmp";
/// Path of the kubeconfig in the sandbox, if the job has one.
pub const KUBECONFIG: &str = "/switchboard/kubeconfig";
/// Address of the egress proxy in the sandbox.
pub const PROXY: &str = "127.0.0.1:3128";

/// One run of a program.
#[derive(Clone, Debug)]
pub struct SandboxJob {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Arguments.
    pub arguments: Vec<String>,
    /// Environment, besides `PATH`, `HOME`, `TMPDIR` and the proxy variables.
    pub env: BTreeMap<String, String>,
    /// Readable files and folders at their own paths, besides system libraries.
    pub readable: Vec<PathBuf>,
    /// Folder mounted read-only at [`INPUT`].
    pub input: Option<PathBuf>,
    /// Content of [`KUBECONFIG`], never written to a disk.
    pub kubeconfig: Option<String>,
    /// Allowed connections through a proxy; none if absent.
    pub egress: Option<Arc<EgressRules>>,
    /// Limits of the run.
    pub limits: SandboxLimits,
    /// Whether to run without a sandbox, with only the time limited. The program must be as trusted as this process.
    pub unconfined: bool,
}

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxLimits {
    /// Maximum duration.
    pub wall: Duration,
    /// Maximum memory of all processes together, including their files in memory.
    pub memory_bytes: u64,
    /// Maximum size of output and temporary files together.
    pub disk_bytes: u64,
    /// Maximum number of processes and threads. The Go runtime alone uses a dozen threads.
    pub processes: u32,
    /// Maximum kept size of stdout.
    pub stdout_bytes: usize,
}

/// Usual value of [`SandboxLimits::stdout_bytes`].
pub const STDOUT_BYTES: usize = 4 << 20;

impl SandboxJob {
    /// Creates a job without arguments.
    pub fn new(program: impl Into<PathBuf>, limits: SandboxLimits) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            env: BTreeMap::new(),
            readable: Vec::new(),
            input: None,
            kubeconfig: None,
            egress: None,
            limits,
            unconfined: false,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }
}

/// End of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProgramEnd {
    /// Exited with a code.
    Exited(i32),
    /// Killed by a signal, either sent by another process or raised by a fault.
    Signalled(i32),
    /// Killed at its deadline.
    Deadline,
    /// Killed because it held this many bytes of memory.
    Memory(u64),
}

impl ProgramEnd {
    /// Whether the program exited with code 0.
    pub fn is_success(self) -> bool {
        self == ProgramEnd::Exited(0)
    }

    /// Whether the program exited by itself.
    pub fn is_exit(self) -> bool {
        matches!(self, ProgramEnd::Exited(_))
    }
}

/// Formats as `exited with 1` or `was killed by signal 9`.
impl fmt::Display for ProgramEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramEnd::Exited(code) => write!(f, "exited with {code}"),
            ProgramEnd::Signalled(signal) => write!(f, "was killed by signal {signal}"),
            ProgramEnd::Deadline => f.write_str("exceeded its time limit and was killed"),
            ProgramEnd::Memory(bytes) => write!(f, "used {} MiB of memory and was killed", bytes >> 20),
        }
    }
}

/// Resource usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunUsage {
    /// Duration of the program, without the creation of the sandbox.
    pub wall: Duration,
    /// CPU time.
    pub cpu: Duration,
    /// Peak memory of the largest process.
    pub peak_memory_bytes: u64,
    /// Size of the files.
    pub disk_bytes: u64,
    /// Whether the disk was full.
    pub disk_full: bool,
}

/// Outcome of a run.
#[derive(Debug)]
pub struct JobOutcome {
    /// End of the run.
    pub end: ProgramEnd,
    /// Resource usage.
    pub usage: RunUsage,
    /// Stdout, truncated to its beginning.
    pub stdout: Vec<u8>,
    /// Whether stdout was truncated.
    pub stdout_truncated: bool,
    /// End of stderr.
    pub stderr: Vec<u8>,
    /// Output folder.
    pub output: OutputFolder,
    /// Connection attempts.
    pub attempts: Vec<ConnectionAttempt>,
}

/// Output folder of a program. The files are deleted when this value is dropped.
#[derive(Debug)]
pub enum OutputFolder {
    /// Anonymous file system in memory.
    Memory(OwnedFd),
    /// Folder on the disk.
    Disk(RunFolder),
}

impl OutputFolder {
    /// Returns the path of the folder.
    pub fn path(&self) -> PathBuf {
        match self {
            OutputFolder::Memory(folder) => Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()),
            OutputFolder::Disk(work) => work.path().join("output"),
        }
    }
}

/// Maximum depth of folders in an output.
const MAX_DEPTH: usize = 16;

/// Problem with the output of a program.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The output contains a link, pipe or socket, which must not be followed.
    #[error("{} is neither a file nor a folder", .0.display())]
    NotAFile(PathBuf),
    /// Folders are nested too deeply.
    #[error("its folders are nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The files are too large. Sparse files use no disk space but would fill the reader's memory.
    #[error("its files have {bytes} bytes, and at most {most} are allowed")]
    TooLong {
        /// Total size.
        bytes: u64,
        /// Maximum size.
        most: u64,
    },
    /// The output could not be read.
    #[error("could not read the output")]
    Read(#[source] std::io::Error),
}

impl OutputFolder {
    /// Returns the sorted relative paths of all files. Refuses other file types, so that readers are not redirected,
    /// and files with more than `most` bytes together, so that they fit into memory.
    ///
    /// # Errors
    /// The problem with the output.
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
