//! Run in a sandbox: without network, and with only the system and a copy of the input visible.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use switchboard_gather::cases::{INPUT_DIRECTORY, OperatorCase};
use switchboard_sandbox::{INPUT, OUTPUT, ProgramEnd, Sandbox, SandboxError, SandboxJob};

use super::{CaseRunOptions, ProcessEnvironment, contract_arguments, program_of};
use crate::cases::program::{ProgramExit, ProgramRun};

/// Variables that the sandbox sets itself.
const OWN: [&str; 2] = ["HOME", "TMPDIR"];

/// Runs a case. Returns its exit, and the reason why its output is incomplete.
pub fn run(case: &OperatorCase, output: &Path, how: CaseRunOptions) -> io::Result<(ProgramRun, Option<String>)> {
    let begin = Instant::now();
    let work = tempfile::tempdir()?;
    // The input is copied: the sandboxed user may be unable to read files of the checkout.
    let input = work.path().join("input");
    copy(&case.directory.join(INPUT_DIRECTORY), &input)?;
    let (program, first) = program_of(&case.description)?;
    let Some(program) = switchboard_hosted::resolve_program(&program) else {
        let ended = ProgramExit::NotStarted(io::Error::from(io::ErrorKind::NotFound));
        return Ok((ProgramRun { ended, took: begin.elapsed() }, None));
    };
    let mut job = SandboxJob::new(program, switchboard_hosted::default_limits(how.timeout))
        .args(first)
        .args(contract_arguments(case, INPUT, OUTPUT, how));
    job.input = Some(input);
    job.env = case.description.env.clone();
    if how.environment == ProcessEnvironment::Inherited {
        let own = |name: &String| OWN.contains(&name.as_str());
        job.env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| !own(name))
            .collect();
    }
    let ran = Sandbox::new(&work.path().join("sandbox")).and_then(|sandbox| sandbox.run(&job));
    let ran = match ran {
        Ok(ran) => ran,
        Err(SandboxError::NoProgram { reason, .. }) => {
            let ended = ProgramExit::NotStarted(io::Error::other(reason));
            return Ok((ProgramRun { ended, took: begin.elapsed() }, None));
        }
        Err(error) => return Err(io::Error::other(crate::failure::message(&error))),
    };
    fs::write(output.join("stdout.log"), &ran.stdout)?;
    fs::write(output.join("stderr.log"), &ran.stderr)?;
    let mut odd = ran.usage.disk_full.then(|| format!("its disk of {} MiB was full", job.limits.disk_bytes >> 20));
    match ran.output.files(job.limits.disk_bytes) {
        Ok(files) => {
            for file in files {
                let to = output.join(&file);
                fs::create_dir_all(to.parent().unwrap_or(output))?;
                fs::write(to, fs::read(ran.output.path().join(&file))?)?;
            }
        }
        Err(error) => odd = Some(error.to_string()),
    }
    let ended = match ran.end {
        ProgramEnd::Exited(code) => ProgramExit::Exited(code),
        ProgramEnd::Signalled(signal) => ProgramExit::Killed(signal),
        ProgramEnd::Deadline => ProgramExit::TimedOut,
        ProgramEnd::Memory(bytes) => ProgramExit::OutOfMemory(bytes),
    };
    Ok((ProgramRun { ended, took: begin.elapsed() }, odd))
}

/// Copies a folder, readable by all users.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            fs::write(&to, fs::read(&path)?)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(0o644))?;
        }
    }
    Ok(())
}
