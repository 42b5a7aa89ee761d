//! Objects as tables, or as they are.

use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// What stands in a table for an object at a moment.
pub type Cell = fn(&Value, Timestamp) -> String;

/// A column: its heading, whether it is for wide screens alone, and what stands in it.
pub struct Column {
    /// The heading.
    pub heading: &'static str,
    /// Whether it is for wide screens alone.
    pub wide: bool,
    /// What stands in it.
    pub cell: Cell,
}

/// Objects of one kind, and how they are shown.
pub struct Report {
    /// The columns.
    pub columns: Vec<Column>,
    /// The objects.
    pub objects: Vec<Value>,
    /// Whether one was asked for, not a list.
    pub is_one: bool,
    /// When.
    pub now: Timestamp,
}

/// A column for every screen.
pub fn column(heading: &'static str, cell: Cell) -> Column {
    Column { heading, wide: false, cell }
}

/// A column for wide screens.
pub fn wide(heading: &'static str, cell: Cell) -> Column {
    Column { heading, wide: true, cell }
}

/// A text of an object; what is not there is `-`.
pub fn text(object: &Value, pointer: &str) -> String {
    let found = object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.unwrap_or("-").to_string()
}

/// How long ago it was created.
pub fn age(object: &Value, now: Timestamp) -> String {
    let created = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    crate::form::age(created.unwrap_or_default(), now)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&Column> = self.columns.iter().filter(|column| !column.wide || f.alternate()).collect();
        let mut lines = vec![columns.iter().map(|column| column.heading.to_string()).collect::<Vec<_>>()];
        for object in &self.objects {
            // One line each: a message may have several.
            let cell =
                |column: &&Column| (column.cell)(object, self.now).split_whitespace().collect::<Vec<_>>().join(" ");
            lines.push(columns.iter().map(cell).collect());
        }
        let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns.len()).map(width).collect();
        for line in &lines {
            let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width));
            writeln!(f, "{}", padded.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.objects.first().filter(|_| self.is_one) {
            Some(object) => object.serialize(to),
            None => json!({ "apiVersion": "v1", "kind": "List", "items": self.objects }).serialize(to),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_table_has_as_many_columns_as_fit() {
        let report = Report {
            columns: vec![
                column("Name", |object, _| text(object, "/metadata/name")),
                wide("Path", |object, _| text(object, "/path")),
                column("Age", age),
            ],
            objects: vec![
                json!({ "metadata": { "name": "web", "creationTimestamp": "2026-01-01T00:00:00Z" }, "path": "a\nb" }),
                json!({ "metadata": { "name": "database" } }),
            ],
            is_one: false,
            now: "2026-01-01T03:00:00Z".parse().unwrap(),
        };
        assert_eq!(report.to_string(), "Name      Age\nweb       3h\ndatabase  -\n");
        assert_eq!(format!("{report:#}"), "Name      Path  Age\nweb       a b   3h\ndatabase  -     -\n");
        assert_eq!(serde_json::to_value(&report).unwrap()["items"][0]["path"], "a\nb");
        let one = Report { is_one: true, ..report };
        assert_eq!(serde_json::to_value(&one).unwrap()["metadata"]["name"], "web");
    }
}
