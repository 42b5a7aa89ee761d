//! Data of each page and API response: loaded once, redacted and limited.

pub mod browse;
pub mod decision;
pub mod fleet;
pub mod map;
pub mod object;
pub mod operator;
pub mod overview;
pub mod placements;
pub mod relations;
pub mod resource_tree;
pub mod search;
pub mod shards;
pub mod timeline;
