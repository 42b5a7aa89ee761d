//! Selection of rows by equality of columns.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ColumnValue, Row};
use crate::resource::{ListQuery, Selection, TableKey};

/// Selection of a table's rows. Conditions of several columns hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowFilter {
    /// Columns, each with the values it may have.
    pub equal: Vec<(Cow<'static, str>, Vec<ColumnValue>)>,
    /// Maximum number of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Number of rows that the result is compared with; the result is then whether there are fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<u32>,
}

impl RowFilter {
    /// Selects every row.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects rows whose column has this value.
    pub fn by(column: &'static str, value: impl Into<ColumnValue>) -> Self {
        Self::all().and(column, value)
    }

    /// Limits the selection to rows whose column has this value.
    #[must_use]
    pub fn and(self, column: &'static str, value: impl Into<ColumnValue>) -> Self {
        self.is_any_of(column, [value])
    }

    /// Limits the selection to rows whose column has one of these values.
    #[must_use]
    pub fn is_any_of(mut self, column: &'static str, values: impl IntoIterator<Item = impl Into<ColumnValue>>) -> Self {
        self.equal.push((column.into(), values.into_iter().map(Into::into).collect()));
        self
    }

    /// Limits the number of rows.
    #[must_use]
    pub fn limit(self, rows: u32) -> Self {
        Self { limit: Some(rows), ..self }
    }

    pub(crate) fn below(self, max: u32) -> Self {
        Self { below: Some(max), ..self }
    }

    /// Whether the filter selects a row.
    pub fn matches(&self, row: &Row) -> bool {
        self.equal.iter().all(|(column, values)| values.contains(row.value(column)))
    }

    /// Returns the query of these rows.
    pub fn query(self, table: TableKey) -> ListQuery {
        ListQuery { table, selection: Selection { rows: Some(Arc::new(self)), ..Selection::default() } }
    }
}

impl ListQuery {
    /// Returns the filter of a list of rows.
    pub fn row_filter(&self) -> Option<&RowFilter> {
        self.selection.rows.as_deref()
    }
}

/// Formats the filter: `owner=u-1, state=Open|Waiting (at most 5)`.
impl fmt::Display for RowFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let condition = |(column, values): &(Cow<'static, str>, Vec<ColumnValue>)| {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            format!("{column}={}", values.join("|"))
        };
        f.write_str(&self.equal.iter().map(condition).collect::<Vec<_>>().join(", "))?;
        self.limit.map_or(Ok(()), |limit| write!(f, " (at most {limit})"))?;
        self.below.map_or(Ok(()), |max| write!(f, " (fewer than {max})"))
    }
}
