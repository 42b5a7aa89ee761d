//! Runs a command in the sandbox, to try a sandbox out: `switchboard-sandbox FOLDER PROGRAM [ARGUMENT…]`.
//!
//! The variable `SANDBOX` holds limits, input and allow list as JSON. The outcome is JSON on stdout, including the
//! names of output files.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use switchboard_sandbox::egress::EgressRules;
use switchboard_sandbox::{STDOUT_BYTES, Sandbox, SandboxJob, SandboxLimits};

/// Limits of a request that sets none.
const TRIAL_LIMITS: SandboxLimits = SandboxLimits {
    wall: Duration::from_secs(25),
    memory_bytes: 1 << 30,
    disk_bytes: 64 << 20,
    processes: 256,
    stdout_bytes: STDOUT_BYTES,
};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SandboxRequest {
    wall_ms: Option<u64>,
    memory_bytes: Option<u64>,
    disk_bytes: Option<u64>,
    processes: Option<u32>,
    input: Option<PathBuf>,
    readable: Vec<PathBuf>,
    env: BTreeMap<String, String>,
    kubeconfig: Option<String>,
    egress: Option<Vec<String>>,
    unconfined: bool,
}

fn main() -> ExitCode {
    if let Some(code) = switchboard_sandbox::launcher_main(std::env::args_os()) {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err("pass a work folder and a program".into());
    };
    let request: SandboxRequest = match std::env::var("SANDBOX") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => SandboxRequest::default(),
    };
    let mut job = SandboxJob::new(program, TRIAL_LIMITS).args(arguments);
    job.limits.wall = request.wall_ms.map_or(job.limits.wall, Duration::from_millis);
    job.limits.memory_bytes = request.memory_bytes.unwrap_or(job.limits.memory_bytes);
    job.limits.disk_bytes = request.disk_bytes.unwrap_or(job.limits.disk_bytes);
    job.limits.processes = request.processes.unwrap_or(job.limits.processes);
    job.input = request.input;
    job.readable = request.readable;
    job.env = request.env;
    job.kubeconfig = request.kubeconfig;
    job.egress = request.egress.map(EgressRules::read).transpose()?.map(Arc::new);
    job.unconfined = request.unconfined;
    let finished = Sandbox::new(folder.as_ref())?.run(&job)?;
    let files = finished.output.files(job.limits.disk_bytes)?;
    let files: Vec<_> = files.into_iter().map(|file| file.display().to_string()).collect();
    let report = json!({
        "end": finished.end, "usage": finished.usage, "attempts": finished.attempts, "files": files,
        "stdout": String::from_utf8_lossy(&finished.stdout), "stderr": String::from_utf8_lossy(&finished.stderr),
    });
    println!("{report}");
    Ok(())
}
