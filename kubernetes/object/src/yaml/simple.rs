//! Fast path for simple YAML, as programs write it: one pass over the lines. Everything else is left to the full
//! reader.
//!
//! ```text
//! text ─▶ LineScanner: lines, levels ─▶ ScanSink: ValueBuilder (a whole value), OutlineBuilder (some of its entries)
//! ```
//!
//! Simple YAML consists of block maps and lists, scalars that end on their line, texts behind `|` and `>`, and brackets
//! that close on their line. The full reader handles comments, anchors, tags, merges, duplicate keys, scalars of
//! several lines and all errors: the fast path returns either the full reader's result or nothing.
//!
//! # Guarantees
//! - The full reader reads the same value from every text that the fast path reads. // test: guarantees_the_full_reader_reads_the_same
//! - The fast path reads no text that the full reader refuses.                      // the same test
//! - No line is examined more than three times.                                     // test: guarantees_lines_are_examined_at_most_three_times

mod flow;
mod scan;
mod sink;
mod text;
mod value;

use scan::LineScanner;
use sink::{OutlineBuilder, ValueBuilder};

use super::YamlDocument;
use crate::Value;

/// Reads a document, if it is simple.
pub(super) fn read(text: &str) -> Option<YamlDocument> {
    let (mut builder, mut scan) = (ValueBuilder::default(), LineScanner::of(text)?);
    scan.document(&mut builder)?;
    Some(YamlDocument { value: builder.into_value()?, line: scan.line, duplicates: Vec::new() })
}

/// Reads a document that is a map, if it is simple, and returns only the entries whose keys are wanted.
///
/// The rest is checked just as strictly but not kept: a result means that the full reader reads the text and finds
/// exactly these entries under the wanted keys.
pub(super) fn outline(text: &str, wanted: &[&str]) -> Option<Value> {
    let mut outline = OutlineBuilder::of(wanted);
    LineScanner::of(text)?.document(&mut outline)?;
    outline.into_value()
}

#[cfg(test)]
mod tests;
