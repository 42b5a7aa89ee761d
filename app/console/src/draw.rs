//! Drawings as SVG, with colors from the stylesheet.

pub mod map;
pub mod relations;
pub mod spark;

/// Shortens a name to a number of characters.
pub(crate) fn truncate_start(name: &str, fits: usize) -> String {
    if name.chars().count() <= fits {
        return name.to_string();
    }
    // Related names share a prefix, so the end is kept.
    let tail: Vec<char> = name.chars().rev().take(fits - 1).collect();
    std::iter::once('…').chain(tail.into_iter().rev()).collect()
}
