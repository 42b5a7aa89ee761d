//! Writes that were asked of a server, kept as mutations instead of being carried out.

mod options;
mod request;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::contract::{OutputResources, Rules};
use crate::mutation::{Layout, Mutation, Naming, Place, WriteError, append, index_path};

pub use request::{RecordError, Request, mutation_of};

/// Most mutations of one recording.
pub const MAX_RECORDED: usize = 100_000;

/// Why a recording cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// There is something in the directory already.
    #[error("could not record into `{}`: it is not empty\nhint: give a fresh directory, so that old mutations are not taken for new ones", .0.display())]
    NotEmpty(PathBuf),
    /// The directory cannot be made or looked at.
    #[error("could not record into `{}`", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("could not keep a mutation")]
    Write(#[from] WriteError),
    /// There are too many.
    #[error("could not keep a mutation: there are {MAX_RECORDED} already")]
    Full,
}

/// Keeps mutations in a directory, one by one, so that a crash loses none that was answered.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    outputs: Option<OutputResources>,
    rules: Rules,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    layout: Layout,
    recorded: usize,
}

impl Recorder {
    /// Into a directory, which must be empty or absent. With declared outputs each mutation goes to the folders of the clusters it is
    /// declared for, or to `Unspecified`; without them actions stand at the root.
    ///
    /// # Errors
    /// When the directory cannot be made or holds something.
    pub fn begin(path: &Path, outputs: Option<OutputResources>, naming: Naming) -> Result<Self, RecorderError> {
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
        let state = Mutex::new(State { layout, recorded: 0 });
        Ok(Self { path: path.into(), outputs, rules: naming.rules, state })
    }

    /// Keeps one mutation.
    ///
    /// # Errors
    /// When it cannot be written, or there are too many.
    pub fn keep(&self, mutation: &Mutation) -> Result<(), RecorderError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for place in self.places(mutation) {
            if state.recorded == MAX_RECORDED {
                return Err(RecorderError::Full);
            }
            let laid_out = state.layout.add(&Mutation { place, ..mutation.clone() });
            append(&self.path, &laid_out, self.rules)?;
            state.recorded += 1;
        }
        Ok(())
    }

    /// How many were kept.
    pub fn recorded(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).recorded
    }

    fn places(&self, mutation: &Mutation) -> Vec<Place> {
        let declared = self.outputs.as_ref().map(|outputs| outputs.places(mutation, self.rules)).unwrap_or_default();
        if declared.is_empty() { vec![Place::Unspecified] } else { declared }
    }
}

#[cfg(test)]
mod tests;
