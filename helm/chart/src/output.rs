//! What `helm template` prints of a rendered chart.

use std::sync::LazyLock;

use regex::Regex;

use crate::manifest::{Hook, split};
use crate::render::Rendered;
use crate::wildcard;

/// Which of it is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The files of `crds/` as well.
    pub crds: bool,
    /// No hooks.
    pub no_hooks: bool,
    /// No tests, which are hooks too.
    pub skip_tests: bool,
    /// Only what these templates rendered; all, when there is none.
    pub show_only: Vec<String>,
}

/// A template that was asked for and rendered nothing, in Helm's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not find template {0} in chart")]
pub struct NotFound(String);

static SOURCE: LazyLock<Regex> = LazyLock::new(|| Regex::new("# Source: [^/]+/(.+)").expect("a constant"));

/// One part of the output, with its header.
pub fn part(source: &str, text: &str) -> String {
    let mut part = String::with_capacity(PART_BYTES + source.len() + text.len());
    add_part(&mut part, source, text);
    part
}

/// At least as many bytes as stand around a part's source and text.
const PART_BYTES: usize = 32;

fn add_part(all: &mut String, source: &str, text: &str) {
    for piece in ["---\n# Source: ", source, "\n", text, "\n"] {
        all.push_str(piece);
    }
}

/// The hooks that are wanted, in order.
pub fn hooks<'a>(rendered: &'a Rendered, wanted: &'a Wanted) -> impl Iterator<Item = &'a Hook> {
    let shown = |hook: &&Hook| !(wanted.no_hooks || wanted.skip_tests && hook.is_test());
    rendered.sorted.hooks.iter().filter(shown)
}

/// The manifests that are wanted, CRDs first: their sources and texts.
pub fn manifests<'a>(rendered: &'a Rendered, wanted: &Wanted) -> impl Iterator<Item = (&'a str, &'a str)> {
    let crds = rendered.crds.iter().filter(|_| wanted.crds).map(|(name, text)| (name.as_str(), text.as_str()));
    crds.chain(rendered.sorted.manifests.iter().map(|manifest| (manifest.source.as_str(), manifest.text())))
}

/// All of it as one text.
///
/// # Errors
/// When a template of `show_only` is not there.
pub fn text(rendered: &Rendered, wanted: &Wanted) -> Result<String, NotFound> {
    // In one piece from the beginning: it may be megabytes.
    let bytes = |(source, text): (&str, &str)| PART_BYTES + source.len() + text.len();
    let of_hooks = hooks(rendered, wanted).map(|hook| (hook.manifest.source.as_str(), hook.manifest.text()));
    let mut all = String::with_capacity(manifests(rendered, wanted).chain(of_hooks).map(bytes).sum());
    for (source, text) in manifests(rendered, wanted) {
        add_part(&mut all, source, text);
    }
    // Helm takes white space away from both ends; every part begins with something else.
    all.truncate(all.trim_end().len());
    all.push('\n');
    for hook in hooks(rendered, wanted) {
        add_part(&mut all, &hook.manifest.source, hook.manifest.text());
    }
    if wanted.show_only.is_empty() { Ok(all) } else { only(&all, &wanted.show_only) }
}

fn only(all: &str, show_only: &[String]) -> Result<String, NotFound> {
    let parts: Vec<(&str, &str)> =
        split(all).into_iter().filter_map(|(_, text)| Some((SOURCE.captures(text)?.get(1)?.as_str(), text))).collect();
    let mut out = String::new();
    for pattern in show_only {
        let before = out.len();
        for (_, text) in parts.iter().filter(|(name, _)| wildcard::matches(pattern, name).unwrap_or(false)) {
            out.push_str(&format!("---\n{text}\n"));
        }
        if out.len() == before {
            return Err(NotFound(pattern.clone()));
        }
    }
    Ok(out)
}
