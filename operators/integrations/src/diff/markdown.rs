//! Markdown format of a report, for a bot's comment on a pull request.

use std::fmt;

use serde_json::Value;

use super::{ChangeGroup, ChangeKind, DiffReport, ObjectLocation};

/// Maximum number of objects listed for a change.
const MAX_NAMED: usize = 20;
/// Maximum length of a displayed value.
const MAX_VALUE_CHARS: usize = 200;

impl fmt::Display for DiffReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [ChangeKind::Added, ChangeKind::Changed, ChangeKind::Removed].map(|fate| self.count(fate));
        let [added, changed, removed] = counts;
        if self.changes() {
            writeln!(f, "# {changed} changed, {added} added, {removed} removed")?;
        } else {
            writeln!(f, "# No changes")?;
        }
        for group in &self.groups {
            write_group(f, group)?;
        }
        for (title, problems) in [("New problems", &self.new_problems), ("Existing problems", &self.old_problems)] {
            if problems.is_empty() {
                continue;
            }
            writeln!(f, "\n## {title}\n")?;
            for problem in problems {
                writeln!(f, "- {problem}")?;
            }
        }
        Ok(())
    }
}

fn write_group(f: &mut fmt::Formatter<'_>, group: &ChangeGroup) -> fmt::Result {
    writeln!(f, "\n## {}\n", title(group))?;
    for change in &group.fields {
        let shown = |value: &Option<Value>| value.as_ref().map_or("nothing".to_string(), code);
        writeln!(f, "- `{}`: {} → {}", change.field, shown(&change.from), shown(&change.to))?;
    }
    if !group.fields.is_empty() {
        writeln!(f)?;
    }
    if group.objects.len() > 1 {
        writeln!(f, "<details><summary>{}</summary>\n", within(group))?;
    }
    writeln!(f, "| environment | cluster | namespace | object | shard |\n|---|---|---|---|---|")?;
    for ObjectLocation { environment, cluster, namespace, kind, name, shard, .. } in
        group.objects.iter().take(MAX_NAMED)
    {
        writeln!(f, "| {environment} | {cluster} | {namespace} | {kind} {name} | {shard} |")?;
    }
    if let Some(more) = group.objects.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        writeln!(f, "| … | | | and {more} more | |")?;
    }
    if group.objects.len() > 1 {
        writeln!(f, "\n</details>")?;
    }
    Ok(())
}

fn title(group: &ChangeGroup) -> String {
    let mut names: Vec<&str> = group.objects.iter().map(|place| place.integration.as_str()).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    let whose = match names[..] {
        [""] => "shared".to_string(),
        [one] => one.to_string(),
        _ => format!("{} integrations", names.len()),
    };
    let fate = match group.fate {
        ChangeKind::Added => "added",
        ChangeKind::Changed => "changed",
        ChangeKind::Removed => "removed",
    };
    match group.objects.len() {
        1 => format!("{whose}: {fate}"),
        many if group.fate == ChangeKind::Changed => format!("{whose}: {fate}, same in {many} shards"),
        many => format!("{whose}: {many} {fate}"),
    }
}

fn within(group: &ChangeGroup) -> String {
    let mut environments: Vec<&str> = group.objects.iter().map(|place| place.environment.as_str()).collect();
    environments.sort_unstable();
    environments.dedup();
    format!("{} objects in {}", group.objects.len(), environments.join(", "))
}

/// Formats a value as a short inline code span.
fn code(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let text = text.replace('\n', "⏎").replace('`', "'");
    let short: String = text.chars().take(MAX_VALUE_CHARS).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("`{short}{dots}`")
}
