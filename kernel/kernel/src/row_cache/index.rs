//! Index from a row to the cached queries that select it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::resource::{ListQuery, TableKey};
use crate::row::{ColumnValue, Row, RowFilter};

/// Names of the columns that a query compares with one value each.
type Shape = Vec<Cow<'static, str>>;

/// Cached queries by table, columns and values, so that the cost of a changed row does not depend on their number.
#[derive(Default)]
pub(super) struct QueryIndex(BTreeMap<TableKey, TableQueries>);

#[derive(Default)]
struct TableQueries {
    shapes: BTreeMap<Shape, HashMap<Vec<ColumnValue>, Vec<Arc<ListQuery>>>>,
    all: BTreeMap<Arc<ListQuery>, ()>,
}

impl QueryIndex {
    pub fn has_queries(&self, table: &TableKey) -> bool {
        self.0.contains_key(table)
    }

    /// Adds a query, and returns the shared one.
    pub fn add(&mut self, query: ListQuery) -> Arc<ListQuery> {
        let table = self.0.entry(query.table.clone()).or_default();
        if let Some((known, ())) = table.all.get_key_value(&query) {
            return known.clone();
        }
        let query = Arc::new(query);
        table.all.insert(query.clone(), ());
        let (shape, values) = shape(&query);
        table.shapes.entry(shape).or_default().entry(values).or_default().push(query.clone());
        query
    }

    pub fn remove(&mut self, query: &Arc<ListQuery>) {
        let Some(table) = self.0.get_mut(&query.table) else { return };
        table.all.remove(query);
        let (shape, values) = shape(query);
        if let Some(by_values) = table.shapes.get_mut(&shape) {
            if let Some(queries) = by_values.get_mut(&values) {
                queries.retain(|one| one != query);
                if queries.is_empty() {
                    by_values.remove(&values);
                }
            }
            if by_values.is_empty() {
                table.shapes.remove(&shape);
            }
        }
        if table.all.is_empty() {
            self.0.remove(&query.table);
        }
    }

    /// Returns the queries that select a row, regardless of limits.
    pub fn matching(&self, row: &Row) -> Vec<Arc<ListQuery>> {
        let Some(table) = self.0.get(&row.key.table) else { return Vec::new() };
        let mut found = Vec::new();
        for (shape, by_values) in &table.shapes {
            let values: Vec<ColumnValue> = shape.iter().map(|column| row.value(column).clone()).collect();
            let queries = by_values.get(&values).into_iter().flatten();
            found.extend(queries.filter(|query| filter(query).matches(row)).cloned());
        }
        found
    }

    /// Returns the counts of a table.
    pub fn counts(&self, table: &TableKey) -> impl Iterator<Item = &Arc<ListQuery>> {
        let all = self.0.get(table).into_iter().flat_map(|table| table.all.keys());
        all.filter(|query| filter(query).below.is_some())
    }
}

/// Returns the columns of a query with one value, and these values. Other conditions are checked for each row.
fn shape(query: &ListQuery) -> (Shape, Vec<ColumnValue>) {
    let single = filter(query).equal.iter().filter(|(_, values)| values.len() == 1);
    single.map(|(column, values)| (column.clone(), values[0].clone())).unzip()
}

fn filter(query: &ListQuery) -> &RowFilter {
    static ALL: RowFilter = RowFilter { equal: Vec::new(), limit: None, below: None };
    query.row_filter().unwrap_or(&ALL)
}
