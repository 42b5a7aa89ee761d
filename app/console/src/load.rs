//! What each page shows, and the API gives out: read once, masked, bounded.

pub mod board;
pub mod browse;
pub mod decision;
pub mod fleet;
pub mod object;
pub mod operator;
pub mod overview;
pub mod relations;
pub mod search;
pub mod shards;
pub mod units;
