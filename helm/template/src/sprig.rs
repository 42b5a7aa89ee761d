//! Sprig's functions, natively: v3 as Helm has it, and v2 where that differs.
//!
//! ```text
//! table ─▶ Functions ─▶ templates
//!   │
//!   ├─ words, runes, encoding, regexp, url, json, toml     on bytes
//!   ├─ cast, decimal, semver, time                         on numbers, versions, times
//!   └─ crypto, ambient                                     on what the caller gives of the world
//! ```
//!
//! Time, randomness, environment and network come in as an [`Ambient`] that the execution has as a host. Without one,
//! functions that need them fail and say so; all others give the same answer always.

pub mod ambient;
mod cast;
mod clock;
mod crypto;
mod decimal;
mod encoding;
pub mod json;
mod regexp;
mod runes;
mod semver;
mod table;
mod text;
mod time;
pub mod toml;
mod url;
mod words;

pub use ambient::{Ambient, Entropy, Resolver, Seeded};
pub use regexp::{MAX_COMPILED_BYTES, Regexp};
pub use semver::{Constraints, Generation, SemverError, Version};

use crate::function::Functions;

/// Which sprig.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sprig {
    /// github.com/Masterminds/sprig 2.22.
    V2,
    /// github.com/Masterminds/sprig/v3 3.3, which Helm has.
    V3,
}

impl Sprig {
    /// All functions of this version by name, `env` and `expandenv` among them, which Helm takes out.
    pub fn functions(self) -> Functions {
        table::Table::new(self).functions
    }
}
