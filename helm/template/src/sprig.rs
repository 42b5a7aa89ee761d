//! Native implementation of sprig's functions: v3 as in Helm, and v2 where it differs.
//!
//! ```text
//! table ─▶ Functions ─▶ templates
//!   │
//!   ├─ words, runes, encoding, regexp, url, json, toml     on bytes
//!   ├─ cast, decimal, semver, time                         on numbers, versions, times
//!   └─ crypto, system_inputs                               on inputs from the caller
//! ```
//!
//! Time, randomness, environment and network come from [`SystemInputs`], which the caller passes to the execution as a
//! host. Without them, functions that need them fail with an error. All other functions are deterministic.

mod cast;
mod crypto;
mod decimal;
mod encoding;
pub mod json;
mod letter_case;
mod regexp;
mod runes;
mod semver;
pub mod system_inputs;
mod table;
mod text;
mod time;
mod time_values;
pub mod toml;
mod url;

pub use regexp::{MAX_COMPILED_BYTES, Regexp};
pub use semver::{ConstraintsV3, SemVersion, SemverError, SemverGeneration, parse_version};
pub use system_inputs::{Entropy, Resolver, SeededEntropy, SystemInputs};

use crate::function::Functions;

/// Version of sprig.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SprigVersion {
    /// github.com/Masterminds/sprig 2.22.
    V2,
    /// github.com/Masterminds/sprig/v3 3.3, as in Helm.
    V3,
}

impl SprigVersion {
    /// Returns all functions of this version, including `env` and `expandenv`, which Helm removes.
    pub fn functions(self) -> Functions {
        table::FunctionTable::new(self).functions
    }
}
