//! The rules of CONTRIBUTING.md's section on English that a machine can check.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use regex::Regex;

use crate::markdown::{self, without_code};
use crate::production::inline_tests;
use crate::source::{self, Kind};
use crate::{MAX_CELL_WORDS, MAX_INDEFINITE_PERSONS, MAX_QUESTION_OPENINGS, files, none, root};

/// Counts per rule and area that may only fall; `UPDATE=1` lowers them.
const BASELINE: &str = "tests/tidy/english.tsv";

const QUESTION: &str = r"^(What|Who|Whose|Whom|How|Where|Which|Why)\b";
const PERSON: &str = r"(?i)\b(somebody|nobody|anybody|everybody|whoever|whomever|whichever|anew)\b";
const TELLING: &str = r"(?i)\b(is|are|was|were) told\b|\btells? (of|what|whether|who)\b|\bthe original\b";
const STANDING: &str = r"(?i), who (has|is|was|wants|does|may|can|needs|comes)\b|\bstands? (in|at|on|where|behind)\b";
const PRONOUN: &str = r"^(It|Its|One (of|that|which|for|is)|Those|The same|As|Under which|Them)\b";
/// Opening of a list of values, in which the values are code.
const VALUES: &str = "One of code";

/// Most words of a paragraph or list item.
const MAX_BLOCK_WORDS: usize = 110;

/// A breach of a rule: the rule, the file, the line and the text.
struct Hit {
    rule: &'static str,
    file: String,
    line: usize,
    text: String,
}

/// Every breach in the tree of a rule that is counted.
fn hits() -> Vec<Hit> {
    let rules = [("indefinite person", PERSON), ("telling", TELLING), ("standing", STANDING)];
    let rules = rules.map(|(rule, pattern)| (rule, Regex::new(pattern).unwrap()));
    let question = Regex::new(QUESTION).unwrap();
    let mut found = Vec::new();
    for path in files() {
        let file = path.display().to_string();
        for (line, is_opening, text) in prose_of(&path) {
            let mut hit = |rule| found.push(Hit { rule, file: file.clone(), line, text: text.clone() });
            if is_opening && question.is_match(&text) {
                hit("question opening");
            }
            for (rule, pattern) in &rules {
                pattern.find_iter(&text).for_each(|_| hit(rule));
            }
        }
    }
    found
}

/// Lines of prose of a file: the line's number, whether it opens a doc comment, and the text without code spans.
fn prose_of(path: &Path) -> Vec<(usize, bool, String)> {
    let name = path.to_string_lossy();
    let extension = path.extension().and_then(|e| e.to_str());
    // The rules themselves stand here, and in the page that explains them.
    if name.starts_with("tests/tidy") || name == "CONTRIBUTING.md" {
        return Vec::new();
    }
    let text = || fs::read_to_string(root().join(path)).unwrap();
    match extension {
        Some("md") => markdown::blocks(&text()).into_iter().map(|block| (block.line, false, block.text)).collect(),
        Some("rs") => {
            let text = text();
            // Literals of tests are data.
            let tests =
                if crate::is_test(path) { std::iter::once(0..usize::MAX).collect() } else { inline_tests(&text) };
            let is_data = |line: usize| tests.iter().any(|lines| lines.contains(&line));
            let prose = source::prose(&text).into_iter();
            let prose = prose.filter(|piece| piece.kind != Kind::Literal || !is_data(piece.line));
            prose.map(|p| (p.line, p.kind == Kind::DocOpening, without_code(&p.text))).collect()
        }
        _ => Vec::new(),
    }
}

/// The crate or top folder of a file.
fn area(file: &str) -> String {
    let parts: Vec<&str> = file.split('/').collect();
    match parts.as_slice() {
        [file] => file.to_string(),
        [folder @ ("docs" | "benches" | "tests" | "deploy" | "examples"), ..] => folder.to_string(),
        [folder, krate, ..] => format!("{folder}/{krate}"),
        [] => String::new(),
    }
}

fn total(hits: &[Hit], rule: &str, most: usize) {
    let breaches: Vec<String> = hits.iter().filter(|hit| hit.rule == rule).map(shown).collect();
    let (count, breaches) = (breaches.len(), if breaches.len() > most { breaches } else { Vec::new() });
    none(
        breaches,
        &format!("{rule}: {count} in the tree, at most {most} may be; CONTRIBUTING.md has the words to use"),
    );
}

fn shown(hit: &Hit) -> String {
    let text: String = hit.text.chars().take(100).collect();
    format!("{}:{}: {text}", hit.file, hit.line)
}

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    total(&hits(), "question opening", MAX_QUESTION_OPENINGS);
}

#[test]
fn sentences_name_the_actor() {
    total(&hits(), "indefinite person", MAX_INDEFINITE_PERSONS);
}

#[test]
fn counts_of_odd_english_only_fall() {
    let hits = hits();
    let counts = counts(&hits);
    let is_update = std::env::var_os("UPDATE").is_some();
    let baseline = match fs::read_to_string(root().join(BASELINE)) {
        Ok(text) => parsed(&text),
        // The first update writes the counts as they are; there is nothing that they could have risen from.
        Err(error) if is_update && error.kind() == ErrorKind::NotFound => counts.clone(),
        Err(error) => panic!("{BASELINE}: {error}\nhint: UPDATE=1 cargo test --test tidy writes it"),
    };
    let mut breaches: Vec<String> = Vec::new();
    for ((rule, place), count) in &counts {
        let before = baseline.get(&(rule.clone(), place.clone())).copied().unwrap_or(0);
        if *count > before {
            breaches.push(format!("{place}: {rule}: {count}, {before} before"));
            let here = hits.iter().filter(|h| h.rule == *rule && area(&h.file) == *place);
            breaches.extend(here.map(|h| format!("  {}", shown(h))));
        }
    }
    none(breaches, "reword what you added; CONTRIBUTING.md has the rules and the words to use");
    if is_update {
        fs::write(root().join(BASELINE), written(&counts)).unwrap();
    }
}

/// Numbers of hits by rule and area.
type Counts = BTreeMap<(String, String), usize>;

fn counts(hits: &[Hit]) -> Counts {
    let mut counts = Counts::new();
    for hit in hits {
        *counts.entry((hit.rule.to_string(), area(&hit.file))).or_default() += 1;
    }
    counts
}

fn parsed(text: &str) -> Counts {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        ((fields[0].to_string(), fields[1].to_string()), fields[2].parse().unwrap())
    };
    text.lines().map(row).collect()
}

fn written(counts: &Counts) -> String {
    counts.iter().map(|((rule, place), count)| format!("{rule}\t{place}\t{count}\n")).collect()
}

#[test]
fn counts_are_read_as_they_are_written() {
    let counts = Counts::from([(("telling".to_string(), "docs".to_string()), 3)]);
    assert_eq!(parsed(&written(&counts)), counts);
    assert_eq!(written(&counts), "telling\tdocs\t3\n");
}

/// Documents of the project, without what is generated from upstream sources.
fn documents() -> impl Iterator<Item = (String, Vec<markdown::Block>)> {
    let markdown = files().into_iter().filter(|path| path.extension().is_some_and(|e| e == "md"));
    markdown
        .map(|path| (path.display().to_string(), markdown::blocks(&fs::read_to_string(root().join(&path)).unwrap())))
}

#[test]
fn table_cells_are_short() {
    let mut breaches = Vec::new();
    for (file, blocks) in documents() {
        let cells = blocks.iter().filter(|block| block.kind == markdown::Kind::Cell);
        let long = cells.filter(|cell| cell.text.split_whitespace().count() > MAX_CELL_WORDS);
        breaches.extend(long.map(|cell| format!("{file}:{}: {}", cell.line, cell.text)));
    }
    none(breaches, "turn the cell into a section of its own and link to it");
}

#[test]
fn paragraphs_and_items_are_short() {
    let mut breaches = Vec::new();
    for (file, blocks) in documents() {
        let blocks = blocks.iter().filter(|b| matches!(b.kind, markdown::Kind::Paragraph | markdown::Kind::Item));
        let long = blocks.filter(|block| block.text.split_whitespace().count() > MAX_BLOCK_WORDS);
        breaches.extend(long.map(|b| format!("{file}:{}: more than {MAX_BLOCK_WORDS} words", b.line)));
    }
    none(breaches, "split the paragraph, or make a list of it");
}

#[test]
fn help_lines_and_list_items_name_their_noun() {
    let pronoun = Regex::new(PRONOUN).unwrap();
    let is_vague = |text: &str| pronoun.is_match(text) && !text.starts_with(VALUES);
    let mut breaches = Vec::new();
    for (file, blocks) in documents() {
        let items = blocks.iter().filter(|b| matches!(b.kind, markdown::Kind::Item | markdown::Kind::Cell));
        breaches.extend(items.filter(|b| is_vague(&b.text)).map(|b| format!("{file}:{}: {}", b.line, b.text)));
        if file == "docs/reference/CLI.md" {
            let text = fs::read_to_string(root().join(&file)).unwrap();
            let lines = text.lines().enumerate().filter(|(_, line)| line.starts_with("  ") && is_vague(help(line)));
            breaches.extend(lines.map(|(number, line)| format!("{file}:{}: {}", number + 1, line.trim())));
        }
    }
    none(breaches, "name the noun first");
}

/// Text of a line of help. The name of a value, as in `- json: An object per line`, is no part of it.
fn help(line: &str) -> &str {
    let text = line.trim();
    let value = text.strip_prefix("- ").and_then(|item| item.split_once(':'));
    value.filter(|(name, _)| !name.contains(' ')).map_or(text, |(_, text)| text.trim())
}

#[test]
fn help_is_behind_the_name_of_a_value() {
    assert_eq!(help("          - json:  One of these"), "One of these");
    assert_eq!(help("          Its name"), "Its name");
    assert_eq!(help("          - an item: with a colon"), "- an item: with a colon");
}
