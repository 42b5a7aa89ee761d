//! Form of pages that people read from beginning to end: short sections, short items, and a way on.

use std::path::{Path, PathBuf};

use super::{documents, root};

#[path = "../tidy/markdown.rs"]
mod markdown;

use markdown::{Kind, blocks};

/// Maximum number of words between two headings.
const MAX_SECTION_WORDS: usize = 150;
/// Maximum number of words of a list item.
const MAX_ITEM_WORDS: usize = 60;
/// Maximum number of words of a table cell.
const MAX_CELL_WORDS: usize = 25;
/// Folders with these pages.
const FOLDERS: [&str; 3] = ["docs/tutorials", "docs/how-to", "docs/concepts"];
/// Folder of crates' sources, which users need not know.
const SOURCES: &str = "/src/";

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn pages() -> impl Iterator<Item = (PathBuf, String)> {
    let in_folder = |page: &PathBuf| FOLDERS.iter().any(|folder| page.starts_with(folder));
    let all = documents().into_iter().filter(move |page| page == Path::new("README.md") || in_folder(page));
    all.map(|page| (page.clone(), std::fs::read_to_string(root().join(&page)).unwrap()))
}

/// Returns the headings of a page, each with the number of words up to the next one.
fn sections(text: &str, is_counted: impl Fn(Kind) -> bool) -> Vec<(String, usize)> {
    let mut found = vec![("the title".to_string(), 0)];
    for block in blocks(text) {
        match block.kind {
            Kind::Heading => found.push((block.text, 0)),
            kind if is_counted(kind) => found.last_mut().unwrap().1 += words(&block.text),
            _ => {}
        }
    }
    found
}

#[test]
fn sections_items_and_cells_are_short() {
    let mut long = Vec::new();
    for (page, text) in pages() {
        let name = page.display();
        for block in blocks(&text) {
            match (block.kind, words(&block.text)) {
                (Kind::Item, length) if length > MAX_ITEM_WORDS => {
                    long.push(format!("{name}:{}: item of {length} words", block.line))
                }
                (Kind::Cell, length) if length > MAX_CELL_WORDS => {
                    long.push(format!("{name}:{}: cell of {length} words", block.line))
                }
                _ => {}
            }
        }
        let over = sections(&text, |_| true).into_iter().filter(|(_, length)| *length > MAX_SECTION_WORDS);
        long.extend(over.map(|(heading, length)| format!("{name}: {length} words under `{heading}`")));
    }
    assert_eq!(long, Vec::<String>::new(), "hint: add a heading, or say less");
}

/// Readers look up rows of a table, so that the tables of other pages are not counted.
#[test]
fn sections_of_other_pages_are_short() {
    let is_read: Vec<PathBuf> = pages().map(|(page, _)| page).collect();
    let mut long = Vec::new();
    for page in documents().into_iter().filter(|page| !is_read.contains(page)) {
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        let name = page.display().to_string();
        for (heading, length) in sections(&text, |kind| kind != Kind::Cell) {
            if length > MAX_SECTION_WORDS {
                long.push(format!("{name}: {length} words under `{heading}`, at most {MAX_SECTION_WORDS}"));
            }
        }
    }
    assert_eq!(long, Vec::<String>::new(), "hint: add a heading, or say less");
}

#[test]
fn pages_end_with_next_steps_and_name_no_sources() {
    let mut wrong = Vec::new();
    for (page, text) in pages() {
        let last = text.lines().rfind(|line| line.starts_with("## ")).unwrap_or_default();
        let end = if page == Path::new("README.md") { "## Read on" } else { "## Next steps" };
        if last != end {
            wrong.push(format!("{}: ends with `{last}`", page.display()));
        }
        // Links to an example's source are for readers of code.
        let prose = text.split("](").map(|part| part.split_once(')').map_or(part, |(_, rest)| rest));
        if prose.flat_map(str::lines).any(|line| line.contains(SOURCES)) {
            wrong.push(format!("{}: names a path of a crate", page.display()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Lines of a terminal on one screen.
const MAX_README_LINES: usize = 55;

#[test]
fn the_readme_fits_on_a_screen_and_installs() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let lines = text.lines().count();
    assert!(lines <= MAX_README_LINES && !text.contains("!["), "{lines} lines");
    assert!(super::commands(&text).iter().any(|line| line.starts_with("cargo install ")), "no line installs it");
}

/// Kinds of changes, in the order of a release.
const CHANGES: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

#[test]
fn the_changelog_is_grouped_by_kind() {
    let text = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let wrong = text.lines().filter_map(|line| line.strip_prefix("### ")).filter(|kind| !CHANGES.contains(kind));
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&str>::new(), "hint: use one of {CHANGES:?}");
}

/// Pages with the code of an example, and the folder of its sources.
const CODE_OF_EXAMPLES: [(&str, &str); 2] = [
    ("docs/tutorials/native-operator.md", "examples/greeter/src"),
    ("docs/how-to/own-binary.md", "examples/dns-records/src"),
];

#[test]
fn code_of_a_page_is_that_of_its_example() {
    let mut stale = Vec::new();
    for (page, folder) in CODE_OF_EXAMPLES {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let files = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let source: String = files.filter_map(|file| std::fs::read_to_string(file).ok()).collect();
        let known: Vec<&str> = source.lines().map(str::trim).collect();
        let code = text.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
        let code: Vec<&str> = code.flat_map(str::lines).map(str::trim).collect();
        assert!(!code.is_empty(), "{page} has no code");
        let unknown = code.into_iter().filter(|line| !known.contains(line));
        stale.extend(unknown.map(|line| format!("{page}: {line}")));
    }
    assert_eq!(stale, Vec::<String>::new(), "hint: copy the code from the example");
}
