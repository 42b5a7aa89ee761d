//! Finding things by name.

use serde::Serialize;
use switchboard_kernel::resource::ObjectKey;

use crate::piece::{object_href, operator_href};
use crate::problem::Problem;
use crate::source::Source;

/// How many things are found at most.
const MAX_HITS: usize = 200;
/// The longest text that is searched for.
const MAX_TEXT: usize = 200;

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// What it is: `operator`, `decision`, or a kind.
    pub what: String,
    /// Its name.
    pub name: String,
    /// Its cluster; empty when it has none.
    pub cluster: String,
    /// Its page.
    pub href: String,
}

/// What was found.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// What was searched for.
    pub text: String,
    /// The best first.
    pub hits: Vec<Hit>,
    /// Whether there were more.
    pub more: bool,
}

/// Finds operators, decisions by number, and cached objects. All words must be in the name, its kind or its namespace.
pub async fn search(source: &Source, text: &str) -> Result<Found, Problem> {
    let text: String = text.chars().take(MAX_TEXT).collect();
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut found = Found { text: text.clone(), ..Found::default() };
    if words.is_empty() {
        return Ok(found);
    }
    let state = source.state().await?;
    let fits = |name: &str| words.iter().all(|word| name.to_lowercase().contains(word.as_str()));
    if let Ok(number) = text.trim().trim_start_matches('#').parse::<u64>() {
        let (what, name) = ("decision".to_string(), number.to_string());
        found.hits.push(Hit { what, name, cluster: String::new(), href: format!("/decisions/{number}") });
    }
    for operator in state.operators.iter().filter(|operator| fits(&operator.name)) {
        let (what, name) = ("operator".to_string(), operator.name.clone());
        found.hits.push(Hit { what, href: operator_href(&name), name, cluster: String::new() });
    }
    let picture = source.picture().await?;
    let mut hits = Vec::new();
    for table in picture.tables() {
        let kind = table.resource.to_string();
        for (namespace, name) in picture.names(table) {
            let whole = format!("{kind}/{namespace}/{name}");
            if fits(&whole) {
                let key = ObjectKey { table: table.clone(), namespace: namespace.into(), name: name.into() };
                let shown = if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") };
                let (what, cluster) = (kind.clone(), table.cluster.to_string());
                hits.push((rank(name, &words), Hit { what, name: shown, cluster, href: object_href(&key) }));
                if hits.len() > MAX_HITS * 10 {
                    break;
                }
            }
        }
    }
    hits.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| (&one.name, &one.what).cmp(&(&other.name, &other.what))));
    found.hits.extend(hits.into_iter().map(|(_, hit)| hit));
    found.more = found.hits.len() > MAX_HITS;
    found.hits.truncate(MAX_HITS);
    Ok(found)
}

/// The whole name first, then its beginning, then any part of it, then the kind or namespace.
fn rank(name: &str, words: &[String]) -> u8 {
    let name = name.to_lowercase();
    let best = |word: &String| match &name {
        name if name == word => 0,
        name if name.starts_with(word.as_str()) => 1,
        name if name.contains(word.as_str()) => 2,
        _ => 3,
    };
    words.iter().map(best).min().unwrap_or(3)
}
