//! Output of Kubernetes objects: tables, JSON and YAML.

use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Function that formats a cell for an object at a time.
pub type CellFn = fn(&Value, Timestamp) -> String;

/// Column of a table.
pub struct TableColumn {
    /// Heading.
    pub heading: &'static str,
    /// Whether the column is shown only with `-o wide`.
    pub wide: bool,
    /// Function that formats the cells.
    pub cell: CellFn,
}

/// Table of objects of one kind.
pub struct ObjectTable {
    /// Columns of the table.
    pub columns: Vec<TableColumn>,
    /// Objects, one a row.
    pub objects: Vec<Value>,
    /// Whether one object was requested, not a list.
    pub is_one: bool,
    /// Time for ages.
    pub now: Timestamp,
}

/// Creates a column that is always shown.
pub fn column(heading: &'static str, cell: CellFn) -> TableColumn {
    TableColumn { heading, wide: false, cell }
}

/// Creates a column that is shown only with `-o wide`.
pub fn wide(heading: &'static str, cell: CellFn) -> TableColumn {
    TableColumn { heading, wide: true, cell }
}

/// Returns a text field of an object, or `-` if it is missing or empty.
pub fn text(object: &Value, pointer: &str) -> String {
    let found = object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.unwrap_or("-").to_string()
}

/// Returns the age of an object.
pub fn age(object: &Value, now: Timestamp) -> String {
    let created = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    crate::output_format::age(created.unwrap_or_default(), now)
}

impl fmt::Display for ObjectTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&TableColumn> = self.columns.iter().filter(|column| !column.wide || f.alternate()).collect();
        let mut lines = vec![columns.iter().map(|column| column.heading.to_string()).collect::<Vec<_>>()];
        for object in &self.objects {
            // A message may have several lines; a cell has one.
            let cell = |column: &&TableColumn| {
                (column.cell)(object, self.now).split_whitespace().collect::<Vec<_>>().join(" ")
            };
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

impl Serialize for ObjectTable {
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
        let report = ObjectTable {
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
        let one = ObjectTable { is_one: true, ..report };
        assert_eq!(serde_json::to_value(&one).unwrap()["metadata"]["name"], "web");
    }
}
