//! Pages: pure functions of their loaded data.

pub mod actions;
pub mod browse;
pub mod decision;
pub mod error_page;
pub mod fleet;
pub mod help;
pub mod map;
pub mod object;
pub mod operator;
pub mod overview;
pub mod placements;
pub mod resource_tree;
pub mod search;
pub mod shards;
pub mod timeline;

#[cfg(test)]
mod tests;
