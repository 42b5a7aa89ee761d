//! Drawings, as SVG that takes its colours from the stylesheet.

pub mod board;
pub mod relations;
pub mod spark;

/// A name as it fits a plate.
pub(crate) fn cut(name: &str, fits: usize) -> String {
    if name.chars().count() <= fits {
        return name.to_string();
    }
    // Names of one place begin alike and end apart.
    let tail: Vec<char> = name.chars().rev().take(fits - 1).collect();
    std::iter::once('…').chain(tail.into_iter().rev()).collect()
}
