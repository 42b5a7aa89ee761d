//! Output of `helm template` for a rendered chart.

use std::sync::LazyLock;

use regex::Regex;
use switchboard_object::glob::{Glob, GlobOptions};

use crate::manifest::{Hook, split};
use crate::render::RenderedChart;

/// Options that select parts of the output.
#[derive(Clone, Debug, Default)]
pub struct OutputOptions {
    /// Whether the files of `crds/` are included.
    pub crds: bool,
    /// Whether hooks are excluded.
    pub no_hooks: bool,
    /// Whether tests, which are hooks, are excluded.
    pub skip_tests: bool,
    /// Templates to print. If empty, all of them.
    pub show_only: Vec<String>,
}

/// Error for a requested template without output, with Helm's text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not find template {0} in chart")]
pub struct TemplateNotFound(String);

static SOURCE: LazyLock<Regex> = LazyLock::new(|| Regex::new("# Source: [^/]+/(.+)").expect("a constant"));

/// Returns one part of the output with its header.
pub fn part(source: &str, text: &str) -> String {
    let mut part = String::with_capacity(PART_BYTES + source.len() + text.len());
    add_part(&mut part, source, text);
    part
}

/// Upper bound of the bytes around a part's source and text.
const PART_BYTES: usize = 32;

fn add_part(all: &mut String, source: &str, text: &str) {
    for piece in ["---\n# Source: ", source, "\n", text, "\n"] {
        all.push_str(piece);
    }
}

/// Returns the selected hooks in order.
pub fn hooks<'a>(rendered: &'a RenderedChart, wanted: &'a OutputOptions) -> impl Iterator<Item = &'a Hook> {
    let shown = |hook: &&Hook| !(wanted.no_hooks || wanted.skip_tests && hook.is_test());
    rendered.sorted.hooks.iter().filter(shown)
}

/// Returns sources and texts of the selected manifests, starting with CRDs.
pub fn manifests<'a>(rendered: &'a RenderedChart, wanted: &OutputOptions) -> impl Iterator<Item = (&'a str, &'a str)> {
    let crds = rendered.crds.iter().filter(|_| wanted.crds).map(|(name, text)| (name.as_str(), text.as_str()));
    crds.chain(rendered.sorted.manifests.iter().map(|manifest| (manifest.source.as_str(), manifest.text())))
}

/// Returns the whole output.
///
/// # Errors
/// If a template of `show_only` does not exist.
pub fn text(rendered: &RenderedChart, wanted: &OutputOptions) -> Result<String, TemplateNotFound> {
    // Allocate once, because the output may have megabytes.
    let bytes = |(source, text): (&str, &str)| PART_BYTES + source.len() + text.len();
    let of_hooks = hooks(rendered, wanted).map(|hook| (hook.manifest.source.as_str(), hook.manifest.text()));
    let mut all = String::with_capacity(manifests(rendered, wanted).chain(of_hooks).map(bytes).sum());
    for (source, text) in manifests(rendered, wanted) {
        add_part(&mut all, source, text);
    }
    // Helm trims white space at both ends. Every part begins with another character.
    all.truncate(all.trim_end().len());
    all.push('\n');
    for hook in hooks(rendered, wanted) {
        add_part(&mut all, &hook.manifest.source, hook.manifest.text());
    }
    if wanted.show_only.is_empty() { Ok(all) } else { select_templates(&all, &wanted.show_only) }
}

fn select_templates(all: &str, show_only: &[String]) -> Result<String, TemplateNotFound> {
    let parts: Vec<(&str, &str)> =
        split(all).into_iter().filter_map(|(_, text)| Some((SOURCE.captures(text)?.get(1)?.as_str(), text))).collect();
    let mut out = String::new();
    for pattern in show_only {
        let before = out.len();
        let glob = Glob::new(pattern, GlobOptions::GO_PATH);
        for (_, text) in parts.iter().filter(|(name, _)| glob.as_ref().is_ok_and(|glob| glob.matches(name))) {
            out.push_str(&format!("---\n{text}\n"));
        }
        if out.len() == before {
            return Err(TemplateNotFound(pattern.clone()));
        }
    }
    Ok(out)
}
