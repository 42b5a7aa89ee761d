//! Pages: pure functions of what was loaded for them.

pub mod acts;
pub mod browse;
pub mod decision;
pub mod fleet;
pub mod help;
pub mod map;
pub mod object;
pub mod operator;
pub mod overview;
pub mod search;
pub mod shards;
pub mod trouble;
pub mod units;

#[cfg(test)]
mod tests;
