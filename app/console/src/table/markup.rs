//! Head and filter of a table, as links and a form: both work without scripts.

use std::borrow::Cow;

use maud::{Markup, html};

use super::TableQuery;

/// Column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    id: Cow<'static, str>,
    title: Cow<'static, str>,
    descending_first: bool,
    right: bool,
}

impl Column {
    /// Column of texts, which sorts ascending first.
    pub fn text(id: impl Into<Cow<'static, str>>, title: impl Into<Cow<'static, str>>) -> Self {
        Self { id: id.into(), title: title.into(), descending_first: false, right: false }
    }

    /// Column of numbers, which sorts descending first.
    pub fn number(id: impl Into<Cow<'static, str>>, title: impl Into<Cow<'static, str>>) -> Self {
        Self { descending_first: true, right: true, ..Self::text(id, title) }
    }

    /// Column that sorts descending first, such as a state or a time: the worst or newest comes first.
    pub fn descending(id: impl Into<Cow<'static, str>>, title: impl Into<Cow<'static, str>>) -> Self {
        Self { descending_first: true, ..Self::text(id, title) }
    }

    /// Column without an order.
    pub fn plain(title: impl Into<Cow<'static, str>>) -> Self {
        Self::text("", title)
    }
}

/// Renders the head of a table with a link for each column that sorts it.
pub fn table_head(query: &TableQuery, table: &str, columns: &[Column]) -> Markup {
    html! { thead { tr { @for column in columns { (header_cell(query, table, column)) } } } }
}

fn header_cell(query: &TableQuery, table: &str, column: &Column) -> Markup {
    if column.id.is_empty() {
        return html! { th scope="col" { (column.title) } };
    }
    let order = query.order_of(table).filter(|(id, _)| *id == column.id).map(|(_, descending)| descending);
    let (aria, arrow) = match order {
        Some(false) => (Some("ascending"), "↑"),
        Some(true) => (Some("descending"), "↓"),
        None => (None, "↕"),
    };
    html! {
        th class=[column.right.then_some("num")] scope="col" aria-sort=[aria] {
            a.sort href=(query.sort_href(table, &column.id, column.descending_first)) { (column.title) " " span.arrow aria-hidden="true" { (arrow) } }
        }
    }
}

/// Renders the filter of a page's tables. `more` are further fields, whose names are in `named`.
pub fn filter_form(query: &TableQuery, placeholder: &str, named: &[&str], more: &Markup) -> Markup {
    let sort = query.sort_value();
    html! {
        form.row role="search" aria-label="Filter" action=(query.path) {
            @for (name, value) in query.fields.iter().filter(|(name, value)| !value.is_empty() && !named.contains(name)) {
                input type="hidden" name=(name) value=(value);
            }
            @if !sort.is_empty() { input type="hidden" name="sort" value=(sort); }
            label { "Filter" input id="filter" type="search" name="q" value=(query.filter) placeholder=(placeholder) autocomplete="off" spellcheck="false"; }
            (more)
            button type="submit" { "Show" }
            @if !query.filter.is_empty() { a.button href=(query.href(&[("q", "")])) { "All" } }
        }
    }
}
