//! Git repositories, read through the `git` program.
//!
//! ```text
//!  address + Login ─▶ ls_remote ─▶ Refs ─▶ resolve ─▶ Commit ─▶ fetch ─▶ Tree ─▶ files, within bounds
//!                        └─────────── program: environment, deadline, bounds ───────────┘
//! ```
//!
//! The program is used, and no library: a library that speaks https, ssh and file costs minutes of build, and for ssh and file it
//! starts programs all the same. All of it blocks; callers with a runtime give it a thread.
//!
//! ```no_run
//! use switchboard_git::{Git, Login, Settings};
//!
//! let git = Git::new(Settings::in_folder("cache".as_ref()));
//! let refs = git.ls_remote("https://git.example/team/app.git", &Login::None)?;
//! let commit = refs.resolve("main")?;
//! let tree = git.fetch("https://git.example/team/app.git", &Login::None, &commit)?;
//! for (name, bytes) in tree.files("deploy")? {
//!     println!("{name}: {} bytes", bytes.len());
//! }
//! # Ok::<(), switchboard_git::GitError>(())
//! ```
//!
//! This crate never writes to a repository, never runs a hook, never follows a submodule, and never asks a person.
//!
//! # Guarantees
//! - A credential stands on no command line and in no message. // test: guarantees_a_password_is_never_told
//! - What a repository holds leads to no file of this machine. // test: guarantees_links_lead_nowhere_else

mod address;
mod error;
mod git;
mod login;
mod normal;
mod program;
mod refs;
mod tree;

pub use address::{Address, Scheme};
pub use error::GitError;
pub use git::{Git, MAX_CACHE_BYTES, MAX_REPOSITORY_BYTES, Settings};
pub use login::{HostKeys, Login};
pub use normal::normalise;
pub use refs::{Commit, Refs, Revision};
pub use tree::{MAX_FILE_BYTES, MAX_FILES, MAX_TREE_BYTES, Tree};
