//! Directories: must-gather dumps, input directories and mutation directories, and the conversion between them.
//!
//! ```text
//! directory ─┐                     ┌─▶ objects (one per key, the newest)
//!            ├─▶ source ─▶ layout ─┼─▶ pod logs                               dump: content that `serve` shows
//! .tar.gz  ──┘                     └─▶ problems: file, line, message
//!
//! must_gather ─▶ get, list ─▶ prune (contract: declared inputs) ─▶ input     input of an operator
//! mutation ◀──▶ files                                                        output of an operator
//! ```
//!
//! A file that cannot be read is a [`ReadProblem`] and does not stop the rest. This crate contacts no cluster and runs
//! no operator. Its callers decide how to use a [`Dump`], an input or a [`mutation::Mutation`].
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
pub mod manifest_client;
pub mod must_gather;
pub mod mutation;
pub mod prune;
pub mod record;
mod source;
#[cfg(test)]
mod tests;

pub use dump::{ContainerLog, Dump, DumpedObject, ReadProblem, ReadProgress, read};
pub use kinds::plural_of;
pub use source::SourceError;
