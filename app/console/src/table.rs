//! Order and filter of tables, from the query of a page: the one mechanism for every table of the console.
//!
//! `?q=shop&sort=-operators.runs` filters all tables of the page by `shop`, and sorts the table `operators` by the
//! column `runs` in descending order. Without `sort`, a table keeps the order of its data.

mod markup;

use switchboard_kernel::state::Health;

use crate::components::percent_encode;

pub use markup::{Column, filter_form, table_head};

/// Sort key of a cell. Numbers sort before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortKey {
    /// Number, duration or time.
    Number(u64),
    /// Text, in lower case.
    Text(String),
}

impl SortKey {
    /// Returns the key of a text.
    pub fn text(text: &str) -> Self {
        SortKey::Text(text.to_lowercase())
    }

    /// Returns the key of a size.
    pub fn count(number: usize) -> Self {
        SortKey::Number(u64::try_from(number).unwrap_or(u64::MAX))
    }

    /// Returns the key of a state: the more severe, the greater.
    pub fn state(state: Health) -> Self {
        SortKey::Number(match state {
            Health::Ready => 0,
            Health::Working => 1,
            Health::Waiting => 2,
            Health::Blocked => 3,
            Health::Failing => 4,
        })
    }

    /// Returns the key of a printed cell: a number or an age of kubectl such as `3d4h` is compared as a number.
    pub fn printed(cell: &str) -> Self {
        let number = cell.parse().ok().or_else(|| age_seconds(cell));
        number.map_or_else(|| SortKey::text(cell), SortKey::Number)
    }
}

/// Returns the seconds of an age as kubectl prints it, such as `45s` or `3d4h`.
fn age_seconds(cell: &str) -> Option<u64> {
    let (mut total, mut digits) = (0_u64, String::new());
    for letter in cell.chars() {
        let unit: u64 = match letter {
            '0'..='9' => {
                digits.push(letter);
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'y' => 31_536_000,
            _ => return None,
        };
        total = total.checked_add(digits.parse::<u64>().ok()?.checked_mul(unit)?)?;
        digits.clear();
    }
    (digits.is_empty() && !cell.is_empty()).then_some(total)
}

/// Row that can be sorted and filtered.
pub trait TableRow {
    /// Returns the sort key of a column; `None` for a column without an order.
    fn sort_key(&self, column: &str) -> Option<SortKey>;

    /// Returns the text that a filter searches. Must not contain more than the page shows.
    fn filter_text(&self) -> String;
}

/// Order of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TableOrder {
    table: String,
    column: String,
    descending: bool,
}

impl TableOrder {
    /// Parses `table.column`, or `-table.column` for the descending order.
    fn parse(text: &str) -> Option<Self> {
        let (descending, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (table, column) = rest.split_once('.')?;
        Some(Self { table: table.to_string(), column: column.to_string(), descending })
    }
}

/// Order and filter that the query of a page requests.
#[derive(Clone, Debug, Default)]
pub struct TableQuery {
    path: String,
    fields: Vec<(&'static str, String)>,
    filter: String,
    order: Option<TableOrder>,
}

impl TableQuery {
    /// Creates the query of a page. `fields` are its other parameters, which links and forms keep.
    pub fn new(path: impl Into<String>, fields: Vec<(&'static str, String)>, filter: &str, sort: &str) -> Self {
        Self { path: path.into(), fields, filter: filter.trim().to_string(), order: TableOrder::parse(sort) }
    }

    /// Returns the text of the filter.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Whether a table has an order of its own or a filter.
    pub fn changes(&self, table: &str) -> bool {
        !self.filter.is_empty() || self.order_of(table).is_some()
    }

    /// Returns the column that sorts a table, and whether the order is descending.
    pub fn order_of(&self, table: &str) -> Option<(&str, bool)> {
        let order = self.order.as_ref().filter(|order| order.table == table)?;
        Some((&order.column, order.descending))
    }

    /// Whether a text contains every word of the filter, in any case.
    pub fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.filter.split_whitespace().all(|word| text.contains(&word.to_lowercase()))
    }

    /// Filters and sorts the rows of a table. Rows with equal keys keep their order.
    pub fn arrange<T: TableRow>(&self, table: &str, rows: &mut Vec<T>) {
        rows.retain(|row| self.matches(&row.filter_text()));
        let Some((column, descending)) = self.order_of(table) else { return };
        let mut keyed: Vec<(Option<SortKey>, T)> = rows.drain(..).map(|row| (row.sort_key(column), row)).collect();
        keyed.sort_by(|(a, _), (b, _)| {
            let order = a.cmp(b);
            if descending { order.reverse() } else { order }
        });
        rows.extend(keyed.into_iter().map(|(_, row)| row));
    }

    /// Returns the link of the page with these parameters besides its own; an empty value removes a parameter.
    pub fn href(&self, changes: &[(&str, &str)]) -> String {
        let sort = self.sort_value();
        let own = self.fields.iter().map(|(name, value)| (*name, value.as_str()));
        let own = own.chain([("q", self.filter.as_str()), ("sort", sort.as_str())]);
        let kept = own.filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        let all: Vec<String> = kept
            .chain(changes.iter().copied())
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", percent_encode(value)))
            .collect();
        if all.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, all.join("&")) }
    }

    /// Returns the link that sorts a table by a column, in the other direction if the column sorts it already.
    fn sort_href(&self, table: &str, column: &str, first_descending: bool) -> String {
        let descending = match self.order_of(table) {
            Some((current, descending)) if current == column => !descending,
            _ => first_descending,
        };
        self.href(&[("sort", &format!("{}{table}.{column}", if descending { "-" } else { "" }))])
    }

    fn sort_value(&self) -> String {
        self.order.as_ref().map_or_else(String::new, |order| {
            format!("{}{}.{}", if order.descending { "-" } else { "" }, order.table, order.column)
        })
    }
}

#[cfg(test)]
mod tests;
