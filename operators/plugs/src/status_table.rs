//! Table of `plugs status`, in the style of `juju status --relations`.

use crate::overview::{PlugOverview, PlugRow, SocketRow};

/// Options of the table.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions {
    /// Whether to add a table of integrations.
    pub relations: bool,
    /// Whether to add ages and reasons.
    pub wide: bool,
}

/// Returns the tables. `age` converts a creation time to an age.
pub fn status_table(overview: &PlugOverview, shown: TableOptions, age: &dyn Fn(&str) -> String) -> String {
    let mut tables = Vec::new();
    if !overview.sockets.is_empty() {
        tables.push(table(&socket_rows(overview, shown, age)));
    }
    if !overview.plugs.is_empty() {
        tables.push(table(&plug_rows(overview, shown, age)));
    }
    if shown.relations && !overview.plugs.is_empty() {
        tables.push(table(&relation_rows(overview)));
    }
    tables.join("\n")
}

fn socket_rows(overview: &PlugOverview, shown: TableOptions, age: &dyn Fn(&str) -> String) -> Vec<Vec<String>> {
    let mut head = vec!["Socket", "Plugs", "Limit", "State"];
    head.extend(shown.wide.then_some(["Interface", "Age"]).into_iter().flatten());
    head.push("Message");
    let row = |socket: &SocketRow| {
        let limit = socket.limit.map_or_else(|| "-".to_string(), |limit| limit.to_string());
        let plugs = format!("{}/{}", socket.coupled, socket.plugs);
        let mut row = vec![socket.name.clone(), plugs, limit, socket.state.to_string()];
        if shown.wide {
            row.extend([dash(&socket.interface), age(&socket.created)]);
        }
        row.push(socket.message.clone());
        row
    };
    rows(&head, overview.sockets.iter().map(row))
}

fn plug_rows(overview: &PlugOverview, shown: TableOptions, age: &dyn Fn(&str) -> String) -> Vec<Vec<String>> {
    let mut head = vec!["Plug", "Socket", "State"];
    head.extend(shown.wide.then_some(["Reason", "Age"]).into_iter().flatten());
    head.push("Message");
    let row = |plug: &PlugRow| {
        let mut row = vec![plug.name.clone(), dash(&plug.socket), plug.state.to_string()];
        if shown.wide {
            row.extend([dash(&plug.reason), age(&plug.created)]);
        }
        row.push(plug.message.clone());
        row
    };
    rows(&head, overview.plugs.iter().map(row))
}

fn relation_rows(overview: &PlugOverview) -> Vec<Vec<String>> {
    let row = |plug: &PlugRow| {
        let socket = overview.socket(plug);
        let interface = socket.map_or_else(|| "-".to_string(), |socket| dash(&socket.interface));
        let missing = if plug.socket_exists || plug.socket.is_empty() { "" } else { " (missing)" };
        let state = if plug.coupled { "coupled" } else { "apart" };
        vec![format!("{}{missing}", dash(&plug.socket)), plug.name.clone(), interface, state.to_string()]
    };
    rows(&["Integration provider", "Requirer", "Interface", "Integration"], overview.plugs.iter().map(row))
}

fn rows(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    std::iter::once(head.iter().map(|cell| cell.to_string()).collect()).chain(rows).collect()
}

fn dash(text: &str) -> String {
    if text.is_empty() { "-".to_string() } else { text.to_string() }
}

/// Formats rows with two spaces between columns. Line breaks in messages become spaces.
fn table(rows: &[Vec<String>]) -> String {
    let cell = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|text| cell(text)).collect()).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(text, width)| format!("{text:width$}")).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
