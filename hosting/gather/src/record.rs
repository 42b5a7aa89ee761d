//! Recording of API requests as mutations instead of executing them.

mod options;
mod request;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::contract::{ContractRules, OutputResources};
use crate::mutation::{Layout, Mutation, Naming, OutputCluster, WriteError, append, index_path};

pub use request::{CONTROLLER_HEADER, MutationRequest, RecordError, to_mutation};

/// Maximum number of mutations in a recording.
pub const MAX_RECORDED: usize = 100_000;

/// Error of a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The directory is not empty.
    #[error("could not record to `{}`: directory is not empty\nhint: use an empty directory", .0.display())]
    NotEmpty(PathBuf),
    /// The directory cannot be created or read.
    #[error("could not record to `{}`", path.display())]
    Io {
        /// Path of the directory.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("could not record mutation")]
    Write(#[from] WriteError),
    /// The recording has too many mutations.
    #[error("could not record mutation: {MAX_RECORDED} are already recorded")]
    Full,
}

/// Recorder that writes each mutation to a directory before its request is answered, so that a crash loses none.
#[derive(Debug)]
pub struct MutationRecorder {
    path: PathBuf,
    outputs: Option<OutputResources>,
    rules: ContractRules,
    state: Mutex<RecorderState>,
}

#[derive(Debug)]
struct RecorderState {
    layout: Layout,
    recorded: usize,
}

impl MutationRecorder {
    /// Starts a recording in a directory, which must be empty or missing. With declared outputs, each mutation is
    /// written to the folders of the clusters it is declared for, or to `Unspecified`; without them, actions are at the
    /// root.
    ///
    /// # Errors
    /// If the directory cannot be created or is not empty.
    pub fn create(path: &Path, outputs: Option<OutputResources>, naming: Naming) -> Result<Self, RecorderError> {
        let failed = |source| RecorderError::Io { path: path.into(), source };
        fs::create_dir_all(path).map_err(failed)?;
        if fs::read_dir(path).map_err(failed)?.next().is_some() {
            return Err(RecorderError::NotEmpty(path.into()));
        }
        match fs::remove_file(index_path(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let layout = Layout::new(Naming { bare: outputs.is_none(), ..naming });
        let state = Mutex::new(RecorderState { layout, recorded: 0 });
        Ok(Self { path: path.into(), outputs, rules: naming.rules, state })
    }

    /// Records a mutation.
    ///
    /// # Errors
    /// If a file cannot be written, or there are too many mutations.
    pub fn record(&self, mutation: &Mutation) -> Result<(), RecorderError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for place in self.clusters_for(mutation) {
            if state.recorded == MAX_RECORDED {
                return Err(RecorderError::Full);
            }
            let laid_out = state.layout.add(&Mutation { cluster: place, ..mutation.clone() });
            append(&self.path, &laid_out, self.rules)?;
            state.recorded += 1;
        }
        Ok(())
    }

    /// Returns the number of recorded mutations.
    pub fn count(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).recorded
    }

    fn clusters_for(&self, mutation: &Mutation) -> Vec<OutputCluster> {
        let declared =
            self.outputs.as_ref().map(|outputs| outputs.clusters_for(mutation, self.rules)).unwrap_or_default();
        if declared.is_empty() { vec![OutputCluster::Unspecified] } else { declared }
    }
}

#[cfg(test)]
mod tests;
