//! For people.

use switchboard_ledger::rows::fleet::Move;
use switchboard_service::fleet::Entry;

/// Instances, one a line.
pub fn fleet(entries: &[Entry]) -> String {
    let mut rows = vec![["NAMESPACE", "STATE", "APPLICATIONS", "UNITS", "MOVING"].map(str::to_string)];
    rows.extend(entries.iter().map(|entry| {
        let one = &entry.candidate;
        let of = |used: u64, max: Option<i64>| max.map_or(format!("{used}"), |max| format!("{used}/{max}"));
        let member = one.member.as_ref();
        [
            one.instance.namespace.clone(),
            member.map_or("unregistered", |member| member.state.as_str()).to_string(),
            of(one.applications, member.map(|member| member.max_applications)),
            of(one.environments, member.map(|member| member.max_environments)),
            entry.moving.to_string(),
        ]
    }));
    aligned(&rows)
}

/// A move in a line.
pub fn one_move(row: &Move, tenant: &str, environment: Option<&str>, to: &str) -> String {
    aligned(&[
        ["TENANT", "ENVIRONMENT", "TO", "STEP"].map(str::to_string),
        [tenant.to_string(), environment.unwrap_or("-").to_string(), to.to_string(), row.step.as_str().to_string()],
    ])
}

/// Columns as wide as their widest text, two blanks between them.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
