//! Reads of rows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ListedObject, View};
use crate::operator::DecideError;
use crate::resource::{ListQuery, ObjectKey};
use crate::row::{ColumnValue, Row, RowFilter, RowTable, TableRow};
use crate::row_cache::{RowAnswer, RowRead};
use crate::store::StoreName;

/// Reads of rows that are neither reads by key nor lists, which are among those of objects. Most runs have none, and
/// need no memory for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowReads(Option<Box<RowReadSets>>);

/// Content of [`RowReads`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowReadSets {
    /// Reads that are not cached yet; the run waits for them.
    pub missing: BTreeSet<RowRead>,
    /// Comparisons of a count with a maximum. They trigger the unit only when the result changes.
    pub counts: BTreeMap<ListQuery, bool>,
    /// Samples with their rows. Their changes do not trigger the unit.
    pub samples: BTreeMap<ListQuery, Vec<ListedObject>>,
}

impl Deref for RowReads {
    type Target = RowReadSets;

    fn deref(&self) -> &RowReadSets {
        static NONE: RowReadSets =
            RowReadSets { missing: BTreeSet::new(), counts: BTreeMap::new(), samples: BTreeMap::new() };
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for RowReads {
    fn deref_mut(&mut self) -> &mut RowReadSets {
        self.0.get_or_insert_default()
    }
}

/// [`RowReads`] of a recorded decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedRowReads {
    /// Comparisons of a count with a maximum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<(ListQuery, bool)>,
    /// Samples with their rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(ListQuery, Vec<ListedObject>)>,
}

impl RecordedRowReads {
    /// Whether the decision made no such read.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.samples.is_empty()
    }
}

impl From<&RowReads> for RecordedRowReads {
    fn from(reads: &RowReads) -> Self {
        Self {
            counts: reads.counts.iter().map(|(query, below)| (query.clone(), *below)).collect(),
            samples: reads.samples.iter().map(|(query, listed)| (query.clone(), listed.clone())).collect(),
        }
    }
}

impl View {
    /// Returns a view of a store's rows.
    pub fn rows<'a>(&'a self, store: &'a StoreName) -> RowView<'a> {
        RowView { view: self, store }
    }

    fn miss(&self, read: RowRead) -> DecideError {
        let mut reads = self.reads.borrow_mut();
        let table = match &read {
            RowRead::Row(key) => &key.table,
            RowRead::Rows(query) => &query.table,
        };
        let error = DecideError::NotCached(table.resource.to_string());
        reads.missing.insert(table.clone());
        reads.rows.missing.insert(read);
        error
    }
}

/// View of the rows of one store.
///
/// # Errors
/// All reads return [`DecideError::NotCached`] for rows that are not cached yet, and [`DecideError::Failed`] for tables
/// that are not among the operator's inputs and for rows that the type cannot read.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    view: &'a View,
    store: &'a StoreName,
}

impl RowView<'_> {
    /// Reads a row by key. Columns of a composite key are joined by `/`.
    pub fn get<R: TableRow>(&self, key: &str) -> Result<Option<R>, DecideError> {
        self.get_row(R::TABLE, key)?.map(|row| typed(&row)).transpose()
    }

    /// Lists rows by index, sorted by key.
    pub fn list<R: TableRow>(&self, filter: RowFilter) -> Result<Vec<R>, DecideError> {
        self.list_rows(R::TABLE, filter)?.iter().map(|row| typed(row)).collect()
    }

    /// Whether there are fewer rows than `max`. The unit is triggered only when that changes.
    pub fn below<R: TableRow>(&self, filter: RowFilter, max: u32) -> Result<bool, DecideError> {
        let (query, answer) = self.query(R::TABLE, filter.below(max))?;
        let RowAnswer::Below(below) = answer else { return Err(mismatch(&query)) };
        self.view.reads.borrow_mut().rows.counts.insert(query, below);
        Ok(below)
    }

    /// Lists rows like [`RowView::list`], but their changes do not trigger the unit. For a choice among many rows that
    /// needs no repetition when they change.
    pub fn sample<R: TableRow>(&self, filter: RowFilter) -> Result<Vec<R>, DecideError> {
        let (query, answer) = self.query(R::TABLE, filter)?;
        let RowAnswer::Rows(rows) = answer else { return Err(mismatch(&query)) };
        self.view.reads.borrow_mut().rows.samples.insert(query, listed(&rows));
        rows.iter().map(|row| typed(row)).collect()
    }

    /// Makes several independent reads, so that a run that misses some of them waits for all at once.
    pub fn all<Q: RowReadGroup>(&self, reads: Q) -> Result<Q::Output, DecideError> {
        reads.read(self)
    }

    /// Reads an untyped row by key.
    pub fn get_row(&self, table: &'static RowTable, key: &str) -> Result<Option<Arc<Row>>, DecideError> {
        self.check(table, Some(key))?;
        let key = table.row_key(self.store, key);
        let Some(row) = self.view.reader.row(&key, table) else { return Err(self.view.miss(RowRead::Row(key))) };
        self.view.reads.borrow_mut().gets.insert(key, row.as_ref().map(|row| row.revision));
        Ok(row)
    }

    /// Lists untyped rows by index.
    pub fn list_rows(&self, table: &'static RowTable, filter: RowFilter) -> Result<Vec<Arc<Row>>, DecideError> {
        let (query, answer) = self.query(table, filter)?;
        let RowAnswer::Rows(rows) = answer else { return Err(mismatch(&query)) };
        self.view.reads.borrow_mut().lists.insert(query, listed(&rows));
        Ok(rows)
    }

    fn query(&self, table: &'static RowTable, filter: RowFilter) -> Result<(ListQuery, RowAnswer), DecideError> {
        self.check(table, None)?;
        check_columns(table, &filter)?;
        let query = filter.query(table.key(self.store));
        match self.view.reader.rows(&query, table) {
            Some(answer) => Ok((query, answer)),
            None => Err(self.view.miss(RowRead::Rows(query))),
        }
    }

    fn check(&self, table: &RowTable, key: Option<&str>) -> Result<(), DecideError> {
        let resource = table.resource();
        // A rule for all kinds does not cover rows: no permission of a cluster limits their readers.
        let covers = |input: &crate::operator::AccessRule| input.resource == resource && input.covers_object(None, key);
        if self.view.inputs.iter().any(covers) {
            return Ok(());
        }
        Err(DecideError::Failed(format!("{resource} is not among the operator's declared inputs")))
    }
}

/// Independent reads of one call: a tuple of closures over the view.
pub trait RowReadGroup {
    /// Results.
    type Output;

    /// Makes all reads, and returns the first error.
    ///
    /// # Errors
    /// Errors of the reads.
    fn read(self, view: &RowView<'_>) -> Result<Self::Output, DecideError>;
}

macro_rules! groups {
    ($($name:ident $output:ident),*) => {
        impl<$($name, $output),*> RowReadGroup for ($($name,)*)
        where $($name: FnOnce(&RowView<'_>) -> Result<$output, DecideError>),*
        {
            type Output = ($($output,)*);

            #[expect(non_snake_case, reason = "one name for the type and the value of each part")]
            fn read(self, view: &RowView<'_>) -> Result<Self::Output, DecideError> {
                let ($($name,)*) = self;
                $(let $name = $name(view);)*
                Ok(($($name?,)*))
            }
        }
    };
}

groups!(A X, B Y);
groups!(A X, B Y, C Z);
groups!(A X, B Y, C Z, D W);

fn typed<R: TableRow>(row: &Row) -> Result<R, DecideError> {
    R::from_row(row).map_err(|problem| match row.values.iter().any(ColumnValue::is_redacted) {
        true => DecideError::unrecorded(format!("a credential of {}", row.key)),
        false => DecideError::Failed(format!("could not read {}: {problem}", row.key)),
    })
}

fn listed(rows: &[Arc<Row>]) -> Vec<ListedObject> {
    let one = |row: &Arc<Row>| ListedObject {
        namespace: row.key.namespace.clone(),
        name: row.key.name.clone(),
        revision: row.revision,
    };
    rows.iter().map(one).collect()
}

fn check_columns(table: &RowTable, filter: &RowFilter) -> Result<(), DecideError> {
    let unknown = filter.equal.iter().find(|(column, _)| table.position(column).is_none());
    unknown.map_or(Ok(()), |(column, _)| Err(DecideError::Failed(format!("{} has no column `{column}`", table.name))))
}

fn mismatch(query: &ListQuery) -> DecideError {
    DecideError::Failed(format!("the list of {query} has another form of result"))
}

/// Returns the keys of a list's rows.
pub(crate) fn listed_keys<'a>(
    query: &'a ListQuery,
    listed: &'a [ListedObject],
) -> impl Iterator<Item = ObjectKey> + use<'a> {
    listed.iter().map(|one| ObjectKey {
        table: query.table.clone(),
        namespace: one.namespace.clone(),
        name: one.name.clone(),
    })
}
