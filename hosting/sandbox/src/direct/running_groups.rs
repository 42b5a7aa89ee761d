//! The runs without a sandbox that are under way: nothing but their host ends them.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard};

use rustix::process::{Pid, Signal, kill_process_group};

use super::run_folder::{RunFolder, remove};
use crate::run::SandboxError;

/// Those of one [`crate::Sandbox`].
#[derive(Debug, Default)]
pub(crate) struct RunningGroups(Mutex<GroupTable>);

#[derive(Debug, Default)]
struct GroupTable {
    /// Process groups, with the folders they work in.
    running: Vec<(Pid, PathBuf)>,
    /// None is to be started any more.
    stopped: bool,
}

impl RunningGroups {
    /// Starts one, unless all is over.
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
        // Without it the next start leaves the program alone, and clears up all the same.
        let _ = work.record_group(group.id);
        Ok(group)
    }

    /// Ends all of them, and removes what they were given; none is started from now on.
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
    /// Ends what is left of it, and tells how its first process ended.
    pub fn end(&mut self) -> std::io::Result<ExitStatus> {
        if !std::mem::replace(&mut self.ended, true) {
            // Before its first process is waited for: from then on the number may be somebody else's.
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
