//! Process groups of runs without a sandbox. Only the host can stop them.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard};

use rustix::process::{Pid, Signal, kill_process_group};

use super::run_folder::{RunFolder, remove};
use crate::run::SandboxError;

/// Running process groups of one [`crate::Sandbox`].
#[derive(Debug, Default)]
pub(crate) struct RunningGroups(Mutex<GroupTable>);

#[derive(Debug, Default)]
struct GroupTable {
    /// Process groups with their folders.
    running: Vec<(Pid, PathBuf)>,
    /// Whether no further group may start.
    stopped: bool,
}

impl RunningGroups {
    /// Starts a process group, unless all are stopped.
    pub fn start(&self, command: &mut Command, work: &RunFolder) -> Result<ProcessGroup<'_>, SandboxError> {
        let mut groups = self.groups();
        if groups.stopped {
            return Err(SandboxError::Stopped);
        }
        let child = command.spawn().map_err(|error| SandboxError::NoProgram {
            program: command.get_program().into(),
            reason: error.to_string(),
        })?;
        let group = ProcessGroup { id: Pid::from_child(&child), child, running: self, ended: false };
        groups.running.push((group.id, work.path().to_path_buf()));
        drop(groups);
        // Without this file, the next start of the host cannot kill the program, but still removes the folder.
        let _ = work.record_group(group.id);
        Ok(group)
    }

    /// Kills all groups and removes their folders. No further group can start.
    pub fn end(&self) {
        let mut groups = self.groups();
        groups.stopped = true;
        for (group, folder) in groups.running.drain(..) {
            let _ = kill_process_group(group, Signal::KILL);
            remove(&folder);
        }
    }

    fn groups(&self) -> MutexGuard<'_, GroupTable> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A process group that does not outlive its run.
pub(crate) struct ProcessGroup<'a> {
    pub id: Pid,
    pub child: Child,
    running: &'a RunningGroups,
    ended: bool,
}

impl ProcessGroup<'_> {
    /// Kills the group and returns the exit status of its first process.
    pub fn end(&mut self) -> std::io::Result<ExitStatus> {
        if !std::mem::replace(&mut self.ended, true) {
            // Before waiting for the first process, because its id may be reused afterwards.
            let _ = kill_process_group(self.id, Signal::KILL);
            self.running.groups().running.retain(|(other, _)| *other != self.id);
        }
        self.child.wait()
    }
}

impl Drop for ProcessGroup<'_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
