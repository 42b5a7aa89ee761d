//! Search by name.

use serde::Serialize;
use switchboard_kernel::resource::ObjectKey;

use crate::components::{object_href, operator_href};
use crate::problem::ConsoleProblem;
use crate::source::ConsoleSource;

/// Maximum number of results.
const MAX_HITS: usize = 200;
/// Maximum length of a search text.
const MAX_TEXT: usize = 200;

/// Search result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Type of the result: `operator`, `decision`, or a kind.
    pub kind: String,
    /// Name of the result.
    pub name: String,
    /// Cluster of the result; empty if it has none.
    pub cluster: String,
    /// Link to the result's page.
    pub href: String,
}

/// Search results.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchResults {
    /// Search text.
    pub text: String,
    /// Results, best first.
    pub hits: Vec<SearchHit>,
    /// Whether results were omitted.
    pub more: bool,
}

/// Finds operators, decisions by number, and cached objects. All words of the text must match the name, kind or
/// namespace.
pub async fn search(source: &ConsoleSource, text: &str) -> Result<SearchResults, ConsoleProblem> {
    let text: String = text.chars().take(MAX_TEXT).collect();
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut found = SearchResults { text: text.clone(), ..SearchResults::default() };
    if words.is_empty() {
        return Ok(found);
    }
    let state = source.state().await?;
    let fits = |name: &str| words.iter().all(|word| name.to_lowercase().contains(word.as_str()));
    if let Ok(number) = text.trim().trim_start_matches('#').parse::<u64>() {
        let (kind, name) = ("decision".to_string(), number.to_string());
        found.hits.push(SearchHit { kind, name, cluster: String::new(), href: format!("/decisions/{number}") });
    }
    for operator in state.operators.iter().filter(|operator| fits(&operator.name)) {
        let (kind, name) = ("operator".to_string(), operator.name.clone());
        found.hits.push(SearchHit { kind, href: operator_href(&name), name, cluster: String::new() });
    }
    let picture = source.snapshot().await?;
    let mut hits = Vec::new();
    for table in picture.tables() {
        let kind = table.resource.to_string();
        for (namespace, name) in picture.names(table) {
            let whole = format!("{kind}/{namespace}/{name}");
            if fits(&whole) {
                let key = ObjectKey { table: table.clone(), namespace: namespace.into(), name: name.into() };
                let shown = if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") };
                let (kind, cluster) = (kind.clone(), table.cluster.to_string());
                hits.push((rank(name, &words), SearchHit { kind, name: shown, cluster, href: object_href(&key) }));
                if hits.len() > MAX_HITS * 10 {
                    break;
                }
            }
        }
    }
    hits.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| (&one.name, &one.kind).cmp(&(&other.name, &other.kind))));
    found.hits.extend(hits.into_iter().map(|(_, hit)| hit));
    found.more = found.hits.len() > MAX_HITS;
    found.hits.truncate(MAX_HITS);
    Ok(found)
}

/// Ranks a match: the whole name, its beginning, any part of it, then the kind or namespace.
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
