#![allow(clippy::unwrap_used)]
use std::path::Path;

use serde_json::json;

use super::*;

pub(super) mod shared_data;

use shared_data::shared_data;

/// Recorded from Go: for each JSON text the YAML that `sigs.k8s.io/yaml` writes.
#[test]
fn writes_gos_bytes() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("go.json")).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let value = crate::json::read(case["json"].as_str().unwrap().as_bytes()).unwrap().value;
        let expected = case["yaml"].as_str().unwrap();
        let ours = to_string(&value);
        if ours != expected && case["err"] == "" {
            wrong.push(format!("{}\n  Go:   {expected:?}\n  ours: {ours:?}", case["json"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn output_reads_back() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("go.json")).unwrap();
    for case in cases.iter().filter(|c| c["err"] == "") {
        let value = crate::json::read(case["json"].as_str().unwrap().as_bytes()).unwrap().value;
        let text = to_string(&value);
        // go-yaml writes some keys and line breaks that no YAML reader reads back unchanged.
        if text.contains(['\u{85}', '\u{2028}', '\u{2029}', '\r']) || text.contains("<<:") {
            continue;
        }
        let read = read(&text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        assert_eq!(read.value, value, "{text:?}");
    }
}

fn check(cases: &Value, expected: &Value, answer: impl Fn(&str) -> Result<Value, YamlError>) {
    let mut wrong = Vec::new();
    for (case, expected) in cases.as_array().unwrap().iter().zip(expected.as_array().unwrap()) {
        let id = case["id"].as_str().unwrap();
        let ours = answer(case["yaml"].as_str().unwrap());
        match (ours, expected["Err"].as_str().unwrap()) {
            (Ok(value), "") => {
                let json = expected["JSON"].as_str().unwrap();
                if value != crate::json::read(json.as_bytes()).unwrap().value {
                    wrong.push(format!("{id}: {value}, Go: {json}"));
                }
            }
            (Err(error), words) if error.message == words => {}
            (ours, words) => wrong.push(format!("{id}: {ours:?}, Go: {words} {}", expected["JSON"])),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_files(directory: &Path) {
    let load = |name: &str| -> Value { serde_json::from_slice(&std::fs::read(directory.join(name)).unwrap()).unwrap() };
    let (cases, expected) = (load("cases.json"), load("expected.json"));
    check(&cases["cases"], &expected["cases"], |text| read(text).map(|d| d.value));
    check(&cases["multi"], &expected["multi"], |text| {
        Ok(Value::Array(read_all(text)?.into_iter().map(|d| d.value).collect()))
    });
}

#[test]
fn reads_as_go_does() {
    check_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/yaml"));
}

#[test]
fn reads_the_cases_beside_the_checkout() {
    if let Some(folder) = shared_data("yaml") {
        check_files(&folder);
    }
}

#[test]
fn duplicate_keys_are_named_with_their_line() {
    let document = read("a: 1\nb:\n  c: 1\n  c: 2\na: 2\n").unwrap();
    assert_eq!(document.value, json!({"a": 2, "b": {"c": 2}}));
    assert_eq!(document.duplicates, ["line 4: key \"c\" already set in map", "line 5: key \"a\" already set in map"]);
    assert_eq!(
        read("a: 1\na: 2\n").unwrap().strict_error().unwrap(),
        "yaml: unmarshal errors:\n  line 2: key \"a\" already set in map"
    );
}

#[test]
fn errors_have_line_and_column() {
    let error = read("a: 1\nb:\n\tc: 1\n").unwrap_err();
    assert_eq!(error.line, 3);
    let error = read("a: 1\n b: 2\n").unwrap_err();
    assert_eq!(
        (error.line, error.to_string().as_str()),
        (2, "yaml: line 2: mapping values are not allowed in this context")
    );
    assert_eq!(read_all("a: 1\n---\nb: 2\n").unwrap()[1].line, 2);
}

#[test]
fn merge_keys() {
    assert_eq!(read("a: {<<: {x: 1}, z: 2}").unwrap().value, json!({"a": {"x": 1, "z": 2}}));
    assert_eq!(
        read("a: {<<: 1}").unwrap_err().to_string(),
        "yaml: map merge requires map or sequence of maps as the value"
    );
    assert_eq!(read("a: {'<<': 1}").unwrap().value, json!({"a": {"<<": 1}}));
}

#[test]
fn lines_within_brackets_and_quotes_may_stand_anywhere() {
    let text = "a:\n- b: [\n  x,\n  z\n  ]\n- c: {\n\"d\": 1\n}\n- e: \"one\ntwo\"\n- f:\tg\n- h: 'i'# j\n";
    let value = json!({"a": [{"b": ["x", "z"]}, {"c": {"d": 1}}, {"e": "one two"}, {"f": "g"}, {"h": "i"}]});
    assert_eq!(read(text).unwrap().value, value);
    let many = format!("a:\n  b: [\n{}  ]\n", "  x,\n".repeat(300));
    assert_eq!(read(&many).unwrap().value["a"]["b"].as_array().unwrap().len(), 300);
    // Beyond the bound on bytes to parse again, the parser's error is final.
    let huge = format!("a:\n  b: [\n{}  ]\n", "  xxxxxxxxx,\n".repeat(20_000));
    assert!(read(&huge).is_err());
}

#[test]
fn bombs_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_string();
    for i in 1..12 {
        let item = format!("*a{}", i - 1);
        bomb.push_str(&format!("a{i}: &a{i} [{}]\n", vec![item; 10].join(", ")));
    }
    assert_eq!(read(&bomb).unwrap_err().message, "yaml: document contains excessive aliasing");
    let deep = "[".repeat(100_000);
    assert!(read(&deep).is_err());
    let deep = format!("{}1", "- ".repeat(10_000));
    assert_eq!(read(&deep).unwrap_err().message, "yaml: exceeded max depth of 120");
    let mut chain = "a0: &a0 [1]\n".to_string();
    for i in 1..500 {
        chain.push_str(&format!("a{i}: &a{i} [*a{}]\n", i - 1));
    }
    assert!(read(&chain).unwrap_err().message.contains("max depth"));
    let anchors: String = (0..100).map(|i| format!("&a{i} [")).collect();
    let nested = format!("{anchors}{}{}", "1,".repeat(20_000), "]".repeat(100));
    assert_eq!(read(&nested).unwrap_err().message, "yaml: document contains excessive aliasing");
    assert_eq!(read("a: &x [*x]").unwrap_err().message, "yaml: anchor 'x' value contains itself");
    // Few nodes with much text each, which Go shares.
    let text = "x".repeat(1 << 20);
    let long = format!("a: &a {text}\nb: [{}{}]\n", "1, ".repeat(100), "*a, ".repeat(5_000));
    assert_eq!(read(&long).unwrap_err().message, "yaml: document contains excessive aliasing");
    let some = format!("a: &a {text}\nb: [{}]\n", "*a, ".repeat(20));
    assert_eq!(read(&some).unwrap().value["b"].as_array().unwrap().len(), 20);
}

#[test]
fn items_are_found_with_their_lines() {
    let text = "kind: A\nitems:\n- items: [x]\n  b: 1\n-\n  c: {items: [1]}\n- &x 3\n- *x\nother: [1]\n---\n\n- items: [1]\n---\n{\"a\": {\"items\": [1]},\n \"items\": [1,\n {}]}\n";
    let found: Vec<_> = item_lines(text).into_iter().map(|d| (d.document, d.items)).collect();
    assert_eq!(found, [(1, vec![3, 6, 7, 8]), (10, vec![]), (13, vec![15, 16])]);
    let documents: Vec<_> = read_all(text).unwrap().iter().map(|d| d.line).collect();
    assert_eq!(documents, [1, 10, 13]);
    let broken: Vec<_> = item_lines("items:\n- a\n- [\n").into_iter().map(|d| d.items).collect();
    assert_eq!(broken, [[2, 3]], "what was found before the damage");
    let json = "\n{\"items\": [\n1]}";
    assert_eq!(item_lines(json)[0], ItemLines { document: read(json).unwrap().line, items: vec![3] });
}

#[test]
fn an_unclosed_list_is_reported_at_gos_line() {
    for (text, line) in [("a: [", 1), ("a: [\n", 1), ("a: 1\nb: [", 2), ("a: 1\nb: [\n", 2)] {
        let expected = format!("yaml: line {line}: did not find expected node content");
        assert_eq!(read(text).unwrap_err().to_string(), expected, "{text:?}");
    }
}

/// Expected values are those of Helm's `fromYaml`.
#[test]
fn a_block_at_the_end_of_a_text_without_a_line_break_has_none() {
    for (text, value) in [
        ("d: |\n  b", "b"),
        ("d: |+\n  b", "b"),
        ("d: >\n  b", "b"),
        ("d: |\n  b\n", "b\n"),
        ("d: |\n  b\n ", "b\n"),
        ("d: |\n  b\n  ", "b\n"),
        ("d: |\n  b\n   ", "b\n "),
    ] {
        assert_eq!(read(text).unwrap().value["d"], value, "{text:?}");
        // Anchors force the full reader.
        let text = format!("x: &x 1\n{text}");
        assert_eq!(read(&text).unwrap().value["d"], value, "{text:?}");
    }
}

/// Checks that the cost of a key does not depend on the number of keys before it. A quadratic reader would take
/// minutes.
#[test]
fn a_long_text_of_keys_without_values_is_read() {
    // Anchors force the full reader.
    let text: String =
        std::iter::once("x: &x 1\n".to_string()).chain((0..30_000).map(|n| format!("k{n}:\n"))).collect();
    assert_eq!(read(&text).unwrap().value.as_object().unwrap().len(), 30_001);
    let braces = format!("x: {{{}}}\n", (0..30_000).map(|n| format!("k{n}: ,")).collect::<String>());
    assert_eq!(read(&braces).unwrap().value["x"].as_object().unwrap().len(), 30_000);
}

/// Checks linear cost for a line with a tab, which is found by its column, and for U+2028, which ends a line outside
/// quotes.
#[test]
fn a_long_line_with_a_tab_is_read_and_so_are_many_separators() {
    const MANY: usize = 100_000;
    let items = |text: &str| read(text).unwrap().value.as_array().unwrap().len();
    assert_eq!(items(&format!("[{}\t1]\n", "\"ä\",{},".repeat(MANY))), 2 * MANY + 1);
    assert_eq!(items(&"- \"a\u{2028}b\"\n".repeat(MANY)), MANY);
    assert_eq!(items(&format!("[{}1]\n", "\"a\u{2028}b\",".repeat(MANY))), MANY + 1);
    let broken = format!("{}a:\u{2028}", "a: \"b\"\u{2028}".repeat(MANY));
    assert_eq!(read(&broken).unwrap().duplicates.len(), super::MAX_DUPLICATES);
}

#[track_caller]
fn check_error(text: &[u8], words: &str) {
    let told = decode(text).and_then(|text| read(&text)).map(|document| document.value);
    assert_eq!(told.unwrap_err().message, words, "{:?}", String::from_utf8_lossy(text));
}

#[track_caller]
fn check_value(text: &[u8], value: Value) {
    assert_eq!(read(&decode(text).unwrap()).unwrap().value, value, "{:?}", String::from_utf8_lossy(text));
}

#[test]
fn bytes_are_decoded_like_go() {
    check_error(b"a: x\x01y\n", "yaml: control characters are not allowed");
    check_error("a: \"x\u{9f}y\"\n".as_bytes(), "yaml: control characters are not allowed");
    check_error(b"a: x\xffy\n", "yaml: invalid leading UTF-8 octet");
    check_error(b"a: \"\xc3\"\n", "yaml: invalid trailing UTF-8 octet");
    check_error(b"a: \xc0\x80\n", "yaml: invalid length of a UTF-8 sequence");
    check_error(b"\xff\xfea\0:\0 \x001", "yaml: incomplete UTF-16 character");
    check_value(b"\xff\xfea\0:\0 \x001\0", json!({"a": 1}));
    check_value(b"\xfe\xff\0a\0:\0 \xd8\x3d\xde\x00", json!({"a": "\u{1f600}"}));
    check_value("a: x\u{feff}y\n\u{feff}b: 1\n".as_bytes(), json!({"a": "x\u{feff}y", "\u{feff}b": 1}));
    check_value("a: \"x\u{85}y\"\n".as_bytes(), json!({"a": "x y"}));
    check_value(b"a: 'x\ry'\r\nb: 1\r", json!({"a": "x y", "b": 1}));
    check_value("a: \"x\u{2028}y\" # z\u{2028}b: 1\n".as_bytes(), json!({"a": "x\u{2028}y", "b": 1}));
    check_error("a: x\u{2028}y\n".as_bytes(), "yaml: line 3: could not find expected ':'");
}

#[test]
fn tabs_stand_where_go_lets_them() {
    check_error(b"a: 1\n\t\nb: 2\n", "yaml: line 2: found a tab character that violates indentation");
    check_error(b"x:\n  a: 1\n \t# y\n", "yaml: line 3: found a tab character that violates indentation");
    check_error(b"a: >\n  b\n\t\nc: d\n", "yaml: line 3: found a tab character where an indentation space is expected");
    check_error(b"\ta: 1\n", "yaml: found character that cannot start any token");
    check_error(b"x:\n  a: {b: c\n\t}\n", "yaml: line 3: found a tab character that violates indentation");
    check_error(b"a: \"1\"\n\t\nb: 2\n", "yaml: line 2: found character that cannot start any token");
    check_error(b"-\ta\n", "yaml: found character that cannot start any token");
    check_value(b"a:\tb\nc: [\td,\n\te]\nf: \"g\"\t# h\n", json!({"a": "b", "c": ["d", "e"], "f": "g"}));
    check_value(b"a: |\n  x\n  \ty\n", json!({"a": "x\n\ty\n"}));
    check_value(b"a: 'b\n\tc'\nd: \"e\n\tf\"\n", json!({"a": "b c", "d": "e f"}));
}

#[test]
fn escapes_are_those_of_go() {
    check_error(b"a: \"x\\/y\"\n", "yaml: found unknown escape character");
    check_error(b"b: 1\na: \"x\\/y\"\n", "yaml: line 2: found unknown escape character");
    check_value(b"a: \"x\\'y\"\nb: x\\/y\nc: 'x\\/y'\n", json!({"a": "x'y", "b": "x\\/y", "c": "x\\/y"}));
}
