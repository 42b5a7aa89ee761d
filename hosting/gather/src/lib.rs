//! Directories: must-gather dumps and inputs in, mutation directories out, and what is between.
//!
//! ```text
//! directory ─┐                     ┌─▶ objects (one per key, the newest)
//!            ├─▶ source ─▶ layout ─┼─▶ pod logs                               dump: what `serve` shows
//! .tar.gz  ──┘                     └─▶ problems: file, line, what
//!
//! must_gather ─▶ get, list ─▶ prune (contract: declared inputs) ─▶ input     what an operator is given to read
//! mutation ◀──▶ files                                                        what an operator wants written
//! ```
//!
//! A file that cannot be read is a [`Problem`] and never the end of the rest. This crate knows no cluster and no operator; what is
//! done with a [`Dump`], an input or a [`mutation::Mutation`] is decided elsewhere.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = std::env::temp_dir().join(format!("dump-{}", std::process::id()));
//! std::fs::create_dir_all(folder.join("namespaces/shop/core"))?;
//! std::fs::write(
//!     folder.join("namespaces/shop/core/configmaps.yaml"),
//!     "{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a, namespace: shop}}]}",
//! )?;
//! let dump = switchboard_gather::read(&folder, |_| {})?;
//! assert_eq!(dump.objects[0].value["kind"], "ConfigMap");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```

pub mod cases;
mod content;
pub mod contract;
pub mod discovery;
mod dump;
pub mod input;
pub mod jsonpath;
mod kinds;
mod layout;
pub mod must_gather;
pub mod mutation;
pub mod original;
pub mod prune;
pub mod record;
mod source;
#[cfg(test)]
mod tests;

pub use dump::{Dump, Log, Object, Problem, Progress, read};
pub use kinds::plural_of;
pub use source::SourceError;
