//! Prose of the tree, by type of file: comments, texts and documents.

use std::fs;
use std::path::Path;

use crate::markdown::{self, without_code};
use crate::source::{self, Kind};
use crate::{comments, root};

/// Folders and files of upstream projects, and of data that stands for a user's. Their words are not ours.
const FOREIGN: &[&str] = &[
    // Charts that tests render.
    "helm/chart/tests/charts",
    "tests/charts",
];

/// Modules whose string literals reproduce texts of upstream, or are data of a user.
const FOREIGN_LITERALS: &[&str] = &[
    // The secret of GitHub's own example of a signature.
    "operators/gitops/src/rest/webhook/signature.rs",
    // Lines of /etc/passwd and /etc/group.
    "hosting/sandbox/src/launcher/root.rs",
    // Kubeconfigs with the host `nobody`.
    "operators/gitops/src/environment/kubeconfig/tests.rs",
];

/// A comment, a string literal, or a paragraph of a document.
#[derive(Debug, PartialEq)]
pub struct Passage {
    /// Line of its first character, counted from one.
    pub line: usize,
    /// Whether it is a doc comment.
    pub is_opening: bool,
    /// Text. Lines are kept, so that a position in it leads to a line of the file.
    pub text: String,
}

/// Returns the prose of a file, without code spans.
pub fn passages(path: &Path) -> Vec<Passage> {
    let name = path.to_string_lossy();
    // The rules themselves stand here, and in the page that explains them.
    if name.starts_with("tests/tidy") || name == "CONTRIBUTING.md" || is_listed(path, FOREIGN) {
        return Vec::new();
    }
    let Ok(text) = fs::read_to_string(root().join(path)) else { return Vec::new() };
    let mut found = match path.extension().and_then(|e| e.to_str()) {
        Some("md") => documents(&text),
        Some("rs") => rust(&text, is_listed(path, FOREIGN_LITERALS)),
        _ => comments::passages(path, &text),
    };
    for passage in &mut found {
        passage.text = without_code(&passage.text);
    }
    found
}

fn is_listed(path: &Path, list: &[&str]) -> bool {
    list.iter().any(|listed| path.starts_with(listed))
}

fn documents(text: &str) -> Vec<Passage> {
    let blocks = markdown::blocks(text).into_iter();
    blocks.map(|block| Passage { line: block.line, is_opening: false, text: block.text }).collect()
}

/// Comments and literals of a Rust file. Comments on consecutive lines are one passage.
fn rust(text: &str, is_foreign: bool) -> Vec<Passage> {
    let mut found: Vec<(Kind, Passage)> = Vec::new();
    for piece in source::prose(text) {
        let last = found.last_mut().filter(|(kind, last)| {
            let follows = last.line + last.text.matches('\n').count() + 1 == piece.line;
            follows && matches!((*kind, piece.kind), (_, Kind::Doc) | (Kind::Comment, Kind::Comment))
        });
        match (last, piece.kind) {
            (_, Kind::Literal) if is_foreign || is_name(&piece.text) => {}
            (Some((_, last)), _) => last.text += &format!("\n{}", piece.text),
            (None, kind) => {
                let text = if kind == Kind::Literal { unescaped(&piece.text) } else { piece.text };
                found.push((kind, Passage { line: piece.line, is_opening: kind == Kind::DocOpening, text }));
            }
        }
    }
    found.into_iter().map(|(_, passage)| passage).collect()
}

/// Whether a literal is a name or a path, such as `somebody-else` or `/operators/nobody`: data, not prose.
fn is_name(literal: &str) -> bool {
    !literal.contains(char::is_whitespace) && !literal.starts_with(char::is_uppercase)
}

/// Replaces the escapes of white space by spaces, so that words behind them begin at a word's border.
fn unescaped(literal: &str) -> String {
    ["\\n", "\\t", "\\\n"]
        .iter()
        .fold(literal.to_string(), |text, escape| text.replace(escape, &escape.replace(['\\', 'n', 't'], " ")))
}

#[test]
fn listed_files_exist() {
    let missing = FOREIGN.iter().chain(FOREIGN_LITERALS).filter(|path| !root().join(path).exists());
    crate::none(missing.map(ToString::to_string).collect(), "remove the row from the list");
}

#[test]
fn comments_of_consecutive_lines_are_one_passage() {
    let found =
        rust("/// One.\n///\n/// - Two\nfn f() {} // Three\n// Four\nconst A: &str = \"a\\nb \\\n c\";\n", false);
    let found: Vec<(usize, bool, &str)> = found.iter().map(|p| (p.line, p.is_opening, p.text.as_str())).collect();
    assert_eq!(found, [(1, true, "One.\n\n- Two"), (4, false, "Three\nFour"), (6, false, "a  b  \n c")]);
}
