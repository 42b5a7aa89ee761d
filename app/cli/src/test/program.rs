//! A program that is run for a test: with a deadline, in a process group of its own.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How a program ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself, with that exit code.
    Exited(i32),
    /// By a signal that was not ours.
    Killed(i32),
    /// It had to be killed: it took longer than it may.
    TimedOut,
    /// It had to be killed: it held that many bytes of memory.
    Hoarded(u64),
    /// It never began.
    NotStarted(io::Error),
}

/// What came of a run.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// After how long.
    pub took: Duration,
}

/// Runs a program until it ends or its time is up, then ends whatever it left behind. What it says goes to `stdout.log`
/// and `stderr.log` of that directory.
pub fn run(mut command: Command, logs: &Path, timeout: Duration) -> Finished {
    let begin = Instant::now();
    let started = File::create(logs.join("stdout.log")).and_then(|out| {
        let err = File::create(logs.join("stderr.log"))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0).spawn()
    });
    let ended = match started {
        Ok(child) => wait(child, timeout).unwrap_or_else(Ended::NotStarted),
        Err(error) => Ended::NotStarted(error),
    };
    Finished { ended, took: begin.elapsed() }
}

fn wait(mut child: Child, timeout: Duration) -> io::Result<Ended> {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return Err(io::Error::other("the process has no id"));
    };
    let (ended, told) = mpsc::channel();
    std::thread::spawn(move || {
        // Not reaped yet: as long as it is not, nobody else can have its group's id.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let _ = ended.send(());
    });
    let in_time = told.recv_timeout(timeout).is_ok();
    // Also what it started and did not wait for. That nobody is left is no error.
    let _ = kill_process_group(pid, Signal::KILL);
    let status = child.wait()?;
    Ok(match (in_time, status.code(), status.signal()) {
        (false, ..) => Ended::TimedOut,
        (true, Some(code), _) => Ended::Exited(code),
        (true, None, signal) => Ended::Killed(signal.unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn shell(script: &str, timeout_ms: u64) -> (Finished, String) {
        let logs = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let finished = run(command, logs.path(), Duration::from_millis(timeout_ms));
        (finished, std::fs::read_to_string(logs.path().join("stdout.log")).unwrap_or_default())
    }

    #[test]
    fn a_program_ends_as_it_ends() {
        let (finished, said) = shell("echo hello; exit 3", 60_000);
        assert!(matches!(finished.ended, Ended::Exited(3)), "{finished:?}");
        assert_eq!(said, "hello\n");
        assert!(matches!(shell("kill -TERM $$", 60_000).0.ended, Ended::Killed(15)));
        let none = run(Command::new("/no/such/program"), Path::new("/no/such"), Duration::from_secs(1));
        assert!(matches!(none.ended, Ended::NotStarted(_)), "{none:?}");
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("alive");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // The grandchild holds the pipe open for as long as it lives.
        let script =
            format!("sh -c 'exec 3>{0}; while :; do :; done' & exec 4>{0}; while :; do :; done", pipe.display());
        let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
        let (finished, _) = shell(&script, 300);
        assert!(matches!(finished.ended, Ended::TimedOut), "{finished:?}");
        assert_eq!(reader.join().unwrap(), b"", "nobody holds the pipe any more");
    }

    #[test]
    fn what_a_program_leaves_behind_is_ended_as_well() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("alive");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let script = format!("(exec 3>{}; while :; do :; done) & exit 0", pipe.display());
        // Held open by the test until the program is gone, so that the reader is not done before it began.
        let own = pipe.clone();
        let writer = std::thread::spawn(move || File::options().write(true).open(own).unwrap());
        let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
        let held = writer.join().unwrap();
        assert!(matches!(shell(&script, 60_000).0.ended, Ended::Exited(0)));
        drop(held);
        assert_eq!(reader.join().unwrap(), b"");
    }
}
