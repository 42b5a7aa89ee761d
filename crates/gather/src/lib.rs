//! Reads dumps: what `oc adm must-gather` and `oc adm inspect` write, as a directory or an archive.
//!
//! ```text
//! directory ─┐                     ┌─▶ objects (one per key, the newest)
//!            ├─▶ source ─▶ layout ─┼─▶ pod logs
//! .tar.gz  ──┘                     └─▶ problems: file, line, what
//! ```
//!
//! A file that cannot be read is a [`Problem`] and never the end of the rest. This crate writes nothing and knows no
//! cluster; what is done with a [`Dump`] is decided elsewhere.
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

mod content;
mod dump;
mod kinds;
mod layout;
mod source;
#[cfg(test)]
mod tests;

pub use dump::{Dump, Log, Object, Problem, Progress, read};
pub use kinds::plural_of;
pub use source::SourceError;
