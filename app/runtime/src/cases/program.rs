//! Program run of a test, with a deadline and in its own process group.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Exit of a program.
#[derive(Debug)]
pub enum ProgramExit {
    /// The program exited with this code.
    Exited(i32),
    /// The program was ended by a foreign signal.
    Killed(i32),
    /// The program was killed at its deadline.
    TimedOut,
    /// The program was killed at this size of memory in bytes.
    OutOfMemory(u64),
    /// The program did not start.
    NotStarted(io::Error),
}

/// Result of a program run.
#[derive(Debug)]
pub struct ProgramRun {
    /// Exit of the program.
    pub ended: ProgramExit,
    /// Duration of the run.
    pub took: Duration,
}

/// Runs a program until it ends or its deadline passes, then kills its remaining child processes. Its output goes to
/// `stdout.log` and `stderr.log` in the directory.
pub fn run(mut command: Command, logs: &Path, timeout: Duration) -> ProgramRun {
    let begin = Instant::now();
    let started = File::create(logs.join("stdout.log")).and_then(|out| {
        let err = File::create(logs.join("stderr.log"))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0).spawn()
    });
    let ended = match started {
        Ok(child) => wait(child, timeout).unwrap_or_else(ProgramExit::NotStarted),
        Err(error) => ProgramExit::NotStarted(error),
    };
    ProgramRun { ended, took: begin.elapsed() }
}

fn wait(mut child: Child, timeout: Duration) -> io::Result<ProgramExit> {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return Err(io::Error::other("the process has no id"));
    };
    let (ended, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // The process is not reaped yet, so its group id cannot be reused.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let _ = ended.send(());
    });
    let in_time = receiver.recv_timeout(timeout).is_ok();
    // Also kills child processes that were not waited for. An empty group is not an error.
    let _ = kill_process_group(pid, Signal::KILL);
    let status = child.wait()?;
    Ok(match (in_time, status.code(), status.signal()) {
        (false, ..) => ProgramExit::TimedOut,
        (true, Some(code), _) => ProgramExit::Exited(code),
        (true, None, signal) => ProgramExit::Killed(signal.unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn shell(script: &str, timeout_ms: u64) -> (ProgramRun, String) {
        let logs = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let finished = run(command, logs.path(), Duration::from_millis(timeout_ms));
        (finished, std::fs::read_to_string(logs.path().join("stdout.log")).unwrap_or_default())
    }

    #[test]
    fn exit_status_is_reported() {
        let (finished, printed) = shell("echo hello; exit 3", 60_000);
        assert!(matches!(finished.ended, ProgramExit::Exited(3)), "{finished:?}");
        assert_eq!(printed, "hello\n");
        assert!(matches!(shell("kill -TERM $$", 60_000).0.ended, ProgramExit::Killed(15)));
        let none = run(Command::new("/no/such/program"), Path::new("/no/such"), Duration::from_secs(1));
        assert!(matches!(none.ended, ProgramExit::NotStarted(_)), "{none:?}");
    }

    #[test]
    fn timeout_kills_the_program_and_its_children() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("alive");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // The grandchild keeps the pipe open while it lives.
        let script =
            format!("sh -c 'exec 3>{0}; while :; do :; done' & exec 4>{0}; while :; do :; done", pipe.display());
        let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
        let (finished, _) = shell(&script, 300);
        assert!(matches!(finished.ended, ProgramExit::TimedOut), "{finished:?}");
        assert_eq!(reader.join().unwrap(), b"", "no process holds the pipe open");
    }

    #[test]
    fn processes_left_behind_are_killed() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("alive");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let script = format!("(exec 3>{}; while :; do :; done) & exit 0", pipe.display());
        // The test holds the pipe open until the program has ended, so that the reader does not finish before it
        // starts.
        let own = pipe.clone();
        let writer = std::thread::spawn(move || File::options().write(true).open(own).unwrap());
        let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
        let output = writer.join().unwrap();
        assert!(matches!(shell(&script, 60_000).0.ended, ProgramExit::Exited(0)));
        drop(output);
        assert_eq!(reader.join().unwrap(), b"");
    }
}
