//! TOML for Helm's `toToml` and `fromToml`: BurntSushi/toml 1.6.

mod emit;
mod read;
mod scan;

pub use emit::write;
pub use read::read;
