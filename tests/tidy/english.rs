//! The rules of CONTRIBUTING.md's section on English that a machine can check.

use std::collections::BTreeMap;
use std::fs;

use regex::Regex;

use crate::markdown::{self, without_code};
use crate::prose::passages;
use crate::source::{self, Kind};
use crate::{MAX_CELL_WORDS, MAX_INDEFINITE_PERSONS, MAX_QUESTION_OPENINGS, files, none, root, rust_files};

/// Counts per rule and area that may only fall; `UPDATE=1` lowers them.
const BASELINE: &str = "tests/tidy/english.tsv";

const QUESTION: &str = r"^(What|Who|Whose|Whom|How|Where|Which|Why)\b";
const PERSON: &str = r"(?i)\b(somebody|nobody|anybody|everybody|whoever|whomever|whichever|anew)\b";
const TELLING: &str = r"(?i)\b(is|are|was|were|be|been|being) told\b|\btells? (of|what|whether|who)\b|\bthe original\b";
const STANDING: &str = r"(?i)(,|\b(of|to|for|by|from|with|about|and|or)) who (has|is|was|wants|does|may|can|needs|comes)\b|\bstands? (in|at|on|where|behind)\b";
const PRONOUN: &str = r"^(It|Its|One|Those|The same|As|Under which|Them)\b";
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
    let rules = rules.map(|(rule, pattern)| (rule, across_lines(pattern)));
    let question = Regex::new(QUESTION).unwrap();
    let mut found = Vec::new();
    for path in files() {
        let file = path.display().to_string();
        for passage in passages(&path) {
            let text = &passage.text;
            let mut hit = |rule, at: usize| {
                let line = passage.line + text[..at].matches('\n').count();
                let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
                found.push(Hit { rule, file: file.clone(), line, text: text[start..].replace('\n', " ") });
            };
            if passage.is_opening && question.is_match(text) {
                hit("question opening", 0);
            }
            for (rule, pattern) in &rules {
                pattern.find_iter(text).for_each(|found| hit(rule, found.start()));
            }
        }
    }
    found
}

/// Compiles a pattern whose spaces may be ends of lines.
fn across_lines(pattern: &str) -> Regex {
    Regex::new(&pattern.replace(' ', r"\s+")).unwrap()
}

#[test]
fn phrases_are_found_across_lines() {
    assert!(across_lines(TELLING).is_match("that is\ntold"));
    assert!(across_lines(STANDING).is_match("of\nwho has it"));
    assert!(!across_lines(STANDING).is_match("the user who has it"));
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

/// Checks a bound of the tree. Where the baseline is above it, the baseline, which only falls, is the bound.
fn total(hits: &[Hit], rule: &str, most: usize) {
    let most = most.max(baseline().iter().filter(|((name, _), _)| name == rule).map(|(_, count)| count).sum());
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
    let baseline = baseline();
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
        return;
    }
    let stale = baseline.iter().filter(|(key, before)| counts.get(*key).copied().unwrap_or(0) < **before);
    let stale = stale.map(|((rule, place), before)| format!("{place}: {rule}: fewer than {before}")).collect();
    none(stale, "UPDATE=1 cargo test --test tidy lowers the baseline");
}

fn baseline() -> Counts {
    parsed(&fs::read_to_string(root().join(BASELINE)).unwrap())
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
        let is_vague = |text: &str| is_vague(text.trim_start_matches('*'));
        breaches.extend(items.filter(|b| is_vague(&b.text)).map(|b| format!("{file}:{}: {}", b.line, b.text)));
    }
    let usage = "docs/reference/CLI.md";
    let text = fs::read_to_string(root().join(usage)).unwrap();
    let lines = fenced(&text).into_iter().filter(|(_, line)| is_vague(help(line)));
    breaches.extend(lines.map(|(number, line)| format!("{usage}:{number}: {}", line.trim())));
    for (path, text) in rust_files() {
        let docs = source::prose(&text).into_iter().filter(|p| matches!(p.kind, Kind::Doc | Kind::DocOpening));
        let items = docs.filter(|p| markdown::item(&p.text).is_some_and(|item| is_vague(&without_code(item))));
        breaches.extend(items.map(|p| format!("{}:{}: {}", path.display(), p.line, p.text)));
    }
    none(breaches, "name the noun first");
}

/// Lines inside of fences, with their numbers.
fn fenced(document: &str) -> Vec<(usize, &str)> {
    let mut is_inside = false;
    let inside = document.lines().zip(1..).filter(|(line, _)| {
        is_inside ^= line.starts_with("```");
        is_inside
    });
    inside.map(|(line, number)| (number, line)).filter(|(_, line)| !line.starts_with("```")).collect()
}

#[test]
fn usage_is_read_from_its_first_line() {
    assert_eq!(fenced("It\n```text\nOne\n  two\n```\nIt\n"), [(3, "One"), (4, "  two")]);
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
