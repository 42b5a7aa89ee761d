//! The runs without a sandbox that are under way: nothing but their host ends them.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard};

use rustix::process::{Pid, Signal, kill_process_group};

use super::work::{Work, remove};
use crate::run::SandboxError;

/// Those of one [`crate::Sandbox`].
#[derive(Debug, Default)]
pub(crate) struct Going(Mutex<Groups>);

#[derive(Debug, Default)]
struct Groups {
    /// Process groups, with the folders they work in.
    running: Vec<(Pid, PathBuf)>,
    /// None is to be started any more.
    over: bool,
}

impl Going {
    /// Starts one, unless all is over.
    pub fn start(&self, command: &mut Command, work: &Work) -> Result<Group<'_>, SandboxError> {
        let mut groups = self.groups();
        if groups.over {
            return Err(SandboxError::Over);
        }
        let child = command.spawn().map_err(|error| SandboxError::NoProgram {
            program: command.get_program().into(),
            reason: error.to_string(),
        })?;
        let group = Group { id: Pid::from_child(&child), child, going: self, ended: false };
        groups.running.push((group.id, work.path().to_path_buf()));
        drop(groups);
        // Without it the next start leaves the program alone, and clears up all the same.
        let _ = work.note(group.id);
        Ok(group)
    }

    /// Ends all of them, and removes what they were given; none is started from now on.
    pub fn end(&self) {
        let mut groups = self.groups();
        groups.over = true;
        for (group, folder) in groups.running.drain(..) {
            let _ = kill_process_group(group, Signal::KILL);
            remove(&folder);
        }
    }

    fn groups(&self) -> MutexGuard<'_, Groups> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A process group that does not outlive its run.
pub(crate) struct Group<'a> {
    pub id: Pid,
    pub child: Child,
    going: &'a Going,
    ended: bool,
}

impl Group<'_> {
    /// Ends what is left of it, and tells how its first process ended.
    pub fn end(&mut self) -> std::io::Result<ExitStatus> {
        if !std::mem::replace(&mut self.ended, true) {
            // Before its first process is waited for: from then on the number may be somebody else's.
            let _ = kill_process_group(self.id, Signal::KILL);
            self.going.groups().running.retain(|(other, _)| *other != self.id);
        }
        self.child.wait()
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
