//! The simple YAML that programs write, read in one pass over its lines; whatever else there is, is left to the full reader.
//!
//! ```text
//! text ─▶ Scan: lines, levels ─▶ Sink: Builder (a whole value), Outline (a few entries of it)
//! ```
//!
//! Simple are block maps and lists, scalars that end on their line, texts behind `|` and `>`, and brackets that close on their
//! line. Comments, anchors, tags, merges, keys that stand twice, texts of several lines and everything that is wrong are for the
//! full reader: this one either gives what that gives, or nothing.
//!
//! # Guarantees
//! - What it reads, the full reader reads the same.       // test: guarantees_the_full_reader_reads_the_same
//! - What the full reader refuses, it does not read.      // the same test
//! - No line is looked at more than three times.          // test: guarantees_lines_are_looked_at_a_few_times

mod flow;
mod scan;
mod sink;
mod text;
mod value;

use scan::Scan;
use sink::{Builder, Outline};

use super::Document;
use crate::Value;

/// Reads a document, if it is a simple one.
pub(super) fn read(text: &str) -> Option<Document> {
    let (mut builder, mut scan) = (Builder::default(), Scan::of(text)?);
    scan.document(&mut builder)?;
    Some(Document { value: builder.into_value()?, line: scan.line, duplicates: Vec::new() })
}

/// Reads a document that is a map, if it is a simple one, and gives only those of its entries whose keys are wanted.
///
/// The rest is looked at as closely, and not kept: an answer says that the full reader reads the text, and that these entries are
/// all it would find under such keys.
pub(super) fn outline(text: &str, wanted: &[&str]) -> Option<Value> {
    let mut outline = Outline::of(wanted);
    Scan::of(text)?.document(&mut outline)?;
    outline.into_value()
}

#[cfg(test)]
mod tests;
