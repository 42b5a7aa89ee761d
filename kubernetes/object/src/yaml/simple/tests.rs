#![allow(clippy::unwrap_used)]
//! Comparison of the fast path with the full reader.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;

use super::super::read::full;
use super::super::tests::shared_data::shared_data;
use super::super::to_string;
use super::*;

const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Checks that the fast path reads what the full reader reads, and nothing that the full reader refuses. Returns
/// whether the fast path read the text.
#[track_caller]
fn matches_full_reader(text: &str) -> bool {
    let whole = full(text);
    let document = read(text);
    if let Some(document) = &document {
        assert_eq!(whole.as_ref(), Ok(document), "{text:?}");
    }
    if let Some(found) = outline(text, &HEAD) {
        let document = whole.unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let Value::Object(map) = document.value else { panic!("{text:?}: no map") };
        let wanted = |key: &String| HEAD.iter().any(|wanted| wanted.eq_ignore_ascii_case(key));
        let map = map.into_iter().filter(|(key, _)| wanted(key)).collect();
        assert_eq!(found, Value::Object(map), "{text:?}");
    }
    document.is_some()
}

/// Pieces of lines: nearly everything that decides how a line is read, valid and invalid.
const PIECES: &[&str] = &[
    "a: 1",
    "b:",
    "c: x y",
    "kind: A",
    "Kind: B",
    "\"kind\": C",
    "apiVersion: v1",
    "metadata:",
    "metadata: {name: x}",
    "name: n",
    "- ",
    "- a",
    "- a: b",
    "- - x",
    "-",
    "--- x",
    "---",
    "...",
    "- |",
    "d: |",
    "d: |-",
    "d: |+",
    "d: >",
    "d: >-",
    "d: |2",
    "d: | # c",
    "# c",
    " # c",
    "e: x # c",
    "e: x# c",
    "e: #c",
    "e:# c",
    "f: 'x'",
    "f: 'it''s'",
    "f: 'x' y",
    "f: 'x'# c",
    "f: \"x\"",
    "f: \"a\\nb\"",
    "f: \"a\\/b\"",
    "f: \"a\\x41\"",
    "f: \"x\": y",
    "g: [a, b]",
    "g: []",
    "g: [a, b",
    "g: [a, b,]",
    "g: [a: b]",
    "g: [a,b]",
    "g: [ 'x', \"y\" ]",
    "g: {}",
    "g: {a: b}",
    "g: {a: b, c: [1, 2]}",
    "g: {a:b}",
    "g: {a: b} x",
    "g: {a: }",
    "g: {\"a\": b}",
    "g: {\"a\":b}",
    "g: [a b , c]",
    "g: [1 2]",
    "h: &x 1",
    "h: *x",
    "h: !!str 1",
    "<<: {a: 1}",
    "? k",
    ": v",
    "i: : x",
    "i: a:",
    "i: a: b",
    "i: a:b",
    "i: -",
    "i: - x",
    "i: -x",
    "i: ?x",
    "i: @x",
    "i: %x",
    "i: `x`",
    "i: ,x",
    "i: }",
    "y: 1",
    "yes: 1",
    "null: 1",
    "~: 1",
    "1: x",
    "1.5: x",
    "0x1: 1",
    "18446744073709551615: 1",
    "j: .nan",
    "j: .inf",
    "j: -.Inf",
    "j: +.inf",
    "j: .5",
    "j: 1e3",
    "j: 0777",
    "j: 18446744073709551615",
    "j: 2024-01-02",
    "j: ~",
    "j: yes",
    "j: 1_000",
    "j: +1",
    "'k': 1",
    "'k' : 1",
    "k : 1",
    "k\t: 1",
    "k:\tx",
    "\tk: 1",
    "l: x\ty",
    "l: é",
    "é: 1",
    "l: \u{a0}x",
    "l: \u{2028}",
    "l: \u{85}",
    "l: x\ry",
    "text",
    "more of it",
    "- it",
    "it # c",
    "it: is",
    "it:",
    "#it",
    "two words",
    "'text'",
    "\"text",
    "\"x\\",
    "key with space: 1",
    "m: <<",
    "m: =",
    "%YAML 1.1",
    "{a: 1}",
    "[1]",
    "   ",
    "\t",
    "o.p/q-r_s: 1",
    "_t: 1",
    "/u: 1",
    "-v: 1",
    ".w: 1",
    "a: 2",
    "b: 2",
    "n: {{ x }}",
    "n: ${X}:${Y}@${Z}",
    "n: a #",
    "n: a:#",
    "n: |x",
    "n: [x]y",
    "n: \\",
    "\u{1f600}: 1",
];

fn line() -> impl Strategy<Value = String> {
    (0..5usize, any::<bool>(), select(PIECES), proptest::bool::weighted(0.1), select(PIECES)).prop_map(
        |(indent, item, piece, joined, other)| {
            let (item, other) = (if item && indent % 2 == 1 { "- " } else { "" }, if joined { other } else { "" });
            format!("{}{item}{piece}{other}\n", " ".repeat(indent))
        },
    )
}

/// Generates lines that usually make sense next to each other: even indentation and simple pieces.
fn simple_line() -> impl Strategy<Value = String> {
    const SIMPLE: &[&str] = &[
        "a: 1",
        "b:",
        "c: x y",
        "kind: A",
        "metadata:",
        "name: n",
        "- a",
        "- a: b",
        "-",
        "- - x",
        "d: |",
        "d: >-",
        "- |",
        "# c",
        "e: x # c",
        "f: 'x'",
        "f: \"a\\nb\"",
        "g: [a, b]",
        "g: {a: b}",
        "text",
        "",
        "  ",
        "- b:",
        "- g: []",
        "{}",
        "[]",
        "'x'",
        "more text",
        "- more",
        "x: y z",
        "d: |+",
        "d: >+",
        "h: ''",
        "i: \"\"",
        "j: a#b",
        "k: a:b",
    ];
    (0..4usize, select(SIMPLE)).prop_map(|(indent, piece)| format!("{}{piece}\n", "  ".repeat(indent)))
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z]{0,6}",
        "[ -~]{0,12}",
        "[a-z \n]{0,20}",
        "[a-z:# '\"{}\\[\\],&*!|>%@`-]{0,8}",
        Just("é\u{2028}".to_string()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let key = prop_oneof![
        "[a-z]{1,4}",
        "[a-zA-Z./_-]{1,8}",
        select(&["kind", "metadata", "y", "null", "1", "a b", "-", "", "a: b"][..]).prop_map(String::from)
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn guarantees_the_full_reader_reads_the_same(lines in proptest::collection::vec(line(), 1..8)) {
        matches_full_reader(&lines.concat());
    }

    #[test]
    fn guarantees_lines_are_examined_at_most_three_times(lines in proptest::collection::vec(simple_line(), 1..10), times in 1..9usize) {
        // In repeated nesting, lines that are examined twice would be examined ever more often.
        let entry: String = lines.iter().map(|line| format!("  {line}")).collect();
        let text: String = (0..times).map(|n| format!("k{n}:\n{entry}")).collect();
        let mut scan = LineScanner::of(&text).unwrap();
        let _ = scan.document(&mut ValueBuilder::default());
        prop_assert!(scan.looked <= 3 * (1 + text.lines().count()), "{} looks: {text:?}", scan.looked);
    }

    #[test]
    fn simple_lines_are_read_the_same(lines in proptest::collection::vec(simple_line(), 1..10), cut in 0..3usize) {
        let text = lines.concat();
        // Texts may end without a line break, or in the middle of a line.
        matches_full_reader(&text[..text.len() - cut.min(text.len())]);
    }

    #[test]
    fn damaged_output_is_read_the_same(
        value in value(), edits in proptest::collection::vec((any::<Index>(), select(&b" \n-:#'\"|>[]{},\\\t&x"[..]), 0..3u8), 0..4)
    ) {
        let mut text = to_string(&value);
        matches_full_reader(&text);
        for (at, byte, how) in edits {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let at = places[at.index(places.len())];
            match how {
                0 => text.insert(at, byte as char),
                1 => drop(text.remove(at)),
                _ => text.replace_range(at..at + text[at..].chars().next().unwrap().len_utf8(), (byte as char).encode_utf8(&mut [0; 4])),
            }
            if text.is_empty() {
                break;
            }
            matches_full_reader(&text);
        }
    }
}

#[test]
fn simple_forms_take_the_fast_path() {
    let text = "# made\napiVersion: v1\nkind: Pod # a pod\nmetadata:\n  name: \"web\"\n  labels: {app: web, 'tier': \"a\"}\n  annotations:\n    \
        a.b/c: |\n      one\n        two\n\n      three\n    d: 'it''s'\n    e:\nspec:\n  containers:\n  - name: x\n    args: [ \"a\", b c, 1 ]\n    \
        env:\n      - name: A\n        value: http://x:1/#y\n  -\n    name: y\n  - - 1\n    - 2.5\n  none: []\nempty: {}\n";
    assert!(matches_full_reader(text));
    let head = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": "web", "labels": {"app": "web", "tier": "a"},
        "annotations": {"a.b/c": "one\n  two\n\nthree\n", "d": "it's", "e": null}}});
    assert_eq!(outline(text, &HEAD), Some(head));
}

#[test]
fn other_forms_are_left_to_the_full_reader() {
    for text in [
        "",
        "# only\n",
        "- a\nb: c\n",
        "a: b\n  c: d\n",
        "a: *b\n",
        "a: 1\na: 2\n",
        "a: .nan\n",
        "{a: 1}\n",
        "a\n",
        "a: \"\n",
    ] {
        assert_eq!(read(text), None, "{text:?}");
    }
    // A duplicate key is allowed in entries that are not wanted; there the last one counts in wanted entries.
    assert_eq!(outline("kind: A\nspec: {a: 1, a: 2}\n", &HEAD), Some(json!({"kind": "A"})));
    assert_eq!(outline("kind: A\nKind: B\n", &HEAD), Some(json!({"kind": "A", "Kind": "B"})));
    for text in ["kind: A\nkind: B\n", "- kind: A\n", "\"k\\nd\": A\n", "kind: >\n  A\n"] {
        assert_eq!(outline(text, &HEAD), None, "{text:?}");
    }
}

/// Checks that at least nine of ten rendered documents take the fast path.
#[track_caller]
fn most_take_the_fast_path(files: impl Iterator<Item = PathBuf>) {
    let (mut all, mut short) = (0, 0);
    for rendered in files.filter_map(|file| std::fs::read_to_string(file).ok()) {
        let divided = format!("\n{rendered}");
        for document in divided.split("\n---\n").filter(|document| !document.trim().is_empty()) {
            let document = format!("{document}\n");
            matches_full_reader(&document);
            (all, short) = (all + 1, short + usize::from(outline(&document, &HEAD).is_some()));
        }
    }
    assert!(all > 10 && short * 10 >= all * 9, "{short} of {all}");
}

#[test]
fn documents_of_charts_take_the_fast_path() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/documents");
    most_take_the_fast_path(list(&folder).into_iter().filter(|file| file.extension().is_some_and(|end| end == "yaml")));
}

#[test]
fn documents_of_charts_beside_the_checkout_take_the_fast_path() {
    let Some(charts) = shared_data("charts") else { return };
    let charts = list(&charts);
    let cases = charts.iter().flat_map(|chart| list(&chart.join("cases")));
    most_take_the_fast_path(cases.map(|case| case.join("expected.yaml")));
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}
