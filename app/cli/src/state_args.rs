//! Flag for the state directory.

use std::path::PathBuf;

use clap::Args;
use switchboard_runtime::state_dir::StateDir;

/// Flag for the state directory.
#[derive(Args, Clone, Default)]
pub struct StateArgs {
    /// State directory of the kernel [default: kernel in the user's data directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl StateArgs {
    /// Returns the state directory.
    pub fn dir(&self) -> StateDir {
        StateDir::of(self.state_dir.clone())
    }
}
