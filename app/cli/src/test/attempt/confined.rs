//! A run in a sandbox: no network, nothing to see but the system and a copy of the input.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use switchboard_gather::cases::{Case, INPUT_DIRECTORY};
use switchboard_sandbox::{Bounds, End, INPUT, Job, OUTPUT, Sandbox, SandboxError};

use super::{Environment, How, program_of, words};
use crate::test::program::{Ended, Finished};

/// What the sandbox has of its own.
const OWN: [&str; 2] = ["HOME", "TMPDIR"];

/// Runs a case; how it went, and what is odd about what it left.
pub fn run(case: &Case, output: &Path, how: How) -> io::Result<(Finished, Option<String>)> {
    let begin = Instant::now();
    let work = tempfile::tempdir()?;
    // A copy, because the program may be nobody in there, and files of a checkout may be for their owner alone.
    let input = work.path().join("input");
    copy(&case.directory.join(INPUT_DIRECTORY), &input)?;
    let (program, first) = program_of(&case.description)?;
    let Some(program) = switchboard_hosted::found(&program) else {
        let ended = Ended::NotStarted(io::Error::from(io::ErrorKind::NotFound));
        return Ok((Finished { ended, took: begin.elapsed() }, None));
    };
    let mut job = Job::new(program).args(first).args(words(case, INPUT, OUTPUT, how));
    job.input = Some(input);
    job.env = case.description.env.clone();
    if how.environment == Environment::Inherited {
        let own = |name: &String| OWN.contains(&name.as_str());
        job.env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| !own(name))
            .collect();
    }
    job.bounds = Bounds { wall: how.timeout, ..Bounds::default() };
    let ran = Sandbox::new(&work.path().join("sandbox")).and_then(|sandbox| sandbox.run(&job));
    let ran = match ran {
        Ok(ran) => ran,
        Err(SandboxError::NoProgram { reason, .. }) => {
            let ended = Ended::NotStarted(io::Error::other(reason));
            return Ok((Finished { ended, took: begin.elapsed() }, None));
        }
        Err(error) => return Err(io::Error::other(crate::failure::tell(&error))),
    };
    fs::write(output.join("stdout.log"), &ran.stdout)?;
    fs::write(output.join("stderr.log"), &ran.stderr)?;
    let mut odd = ran.usage.disk_full.then(|| format!("its {} MiB of disk were full", job.bounds.disk_bytes >> 20));
    match ran.output.files(job.bounds.disk_bytes) {
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
        End::Exited(code) => Ended::Exited(code),
        End::Signalled(signal) => Ended::Killed(signal),
        End::Deadline => Ended::TimedOut,
        End::Memory(bytes) => Ended::Hoarded(bytes),
    };
    Ok((Finished { ended, took: begin.elapsed() }, odd))
}

/// Files and folders, for everybody to read.
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
