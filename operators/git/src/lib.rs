//! Read-only access to git repositories through the `git` program.
//!
//! ```text
//!  address + Login ─▶ ls_remote ─▶ Refs ─▶ resolve ─▶ Commit ─▶ fetch ─▶ CommitTree ─▶ files, within limits
//!                        └─────────── GitProgram: environment, timeout, limits ──────────┘
//! ```
//!
//! The crate runs the program instead of linking a library: a library with https, ssh and file support adds minutes to
//! the build, and still starts programs for ssh and file. All functions block, so callers with an async runtime run
//! them on a thread.
//!
//! ```no_run
//! use switchboard_git::{Git, GitSettings, Login};
//!
//! let git = Git::new(GitSettings::with_cache("cache".as_ref()));
//! let refs = git.ls_remote("https://git.example/team/app.git", &Login::None)?;
//! let commit = refs.resolve("main")?;
//! let tree = git.fetch("https://git.example/team/app.git", &Login::None, &commit)?;
//! for (name, bytes) in tree.files("deploy")? {
//!     println!("{name}: {} bytes", bytes.len());
//! }
//! # Ok::<(), switchboard_git::GitError>(())
//! ```
//!
//! This crate never writes to a remote repository, runs a hook, follows a submodule or prompts for input.
//!
//! # Guarantees
//! - A credential appears on no command line and in no message.   // test: guarantees_a_password_is_never_revealed
//! - A repository cannot make a read leave the repository.        // test: guarantees_links_do_not_leave_the_repository

mod address;
mod error;
mod git;
mod login;
mod normal_form;
mod program;
mod refs;
mod tree;

pub use address::{RepositoryAddress, Scheme};
pub use error::GitError;
pub use git::{Git, GitSettings, MAX_CACHE_BYTES, MAX_REPOSITORY_BYTES};
pub use login::{HostKeys, Login};
pub use normal_form::normalize;
pub use refs::{Commit, Refs, Revision};
pub use tree::{CommitTree, MAX_FILE_BYTES, MAX_FILES, MAX_TREE_BYTES};
