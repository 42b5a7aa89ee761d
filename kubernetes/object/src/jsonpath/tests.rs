#![allow(clippy::unwrap_used)]
use serde_json::json;

use super::*;

fn store() -> Value {
    json!({
        "name": "jsonpath",
        "book": [
            {"category": "reference", "author": "Nigel Rees", "title": "Sayings", "price": 8.95},
            {"category": "fiction", "author": "Evelyn Waugh", "title": "Sword", "price": 12.99},
            {"category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "price": 8.99},
        ],
        "bicycle": [{"color": "red", "price": 19.95, "new": true}, {"color": "green", "price": 20.01, "new": false}],
        "labels": {"engieer": 10, "web/html": 15, "k8s-app": 20, "a.b": 1},
        "employees": {"jason": "manager", "dan": "clerk"},
        "count": 5, "none": null, "map": {"x": {"y": "<&>"}},
    })
}

fn print(template: &str) -> String {
    JsonPathTemplate::parse(template).unwrap().print(&store(), false).unwrap()
}

fn error_of(template: &str) -> String {
    match JsonPathTemplate::parse(template) {
        Err(error) => error.to_string(),
        Ok(path) => path.print(&store(), false).unwrap_err().to_string(),
    }
}

#[test]
fn finds() {
    for (template, expected) in [
        ("hello jsonpath", "hello jsonpath"),
        ("hello {.name}{\"\\n\"}", "hello jsonpath\n"),
        ("{$.name}", "jsonpath"),
        ("{@.name}", "jsonpath"),
        ("{.book[0].author}", "Nigel Rees"),
        ("{.book[-1].author}", "Herman Melville"),
        ("{.book[*].author}", "Nigel Rees Evelyn Waugh Herman Melville"),
        ("{.book[0:2].price}", "8.95 12.99"),
        ("{.book[:2].price}", "8.95 12.99"),
        ("{.book[1:].price}", "12.99 8.99"),
        ("{.book[0:3:2].price}", "8.95 8.99"),
        ("{.book[::2].price}", "8.95 8.99"),
        ("{.book[-2:].price}", "12.99 8.99"),
        ("{.book[0:0].price}", ""),
        ("{.book[0,2].title}", "Sayings Moby Dick"),
        ("{.bicycle[0]['color','price']}", "red 19.95"),
        ("{.labels.web/html}", "15"),
        ("{.labels.k8s-app}", "20"),
        ("{.labels.a\\.b}", "1"),
        ("{.labels['a\\.b']}", "1"),
        ("{.employees.*}", "clerk manager"),
        ("{.employees}", "{\"dan\":\"clerk\",\"jason\":\"manager\"}"),
        ("{.map}", "{\"x\":{\"y\":\"\\u003c\\u0026\\u003e\"}}"),
        ("{..price}", "19.95 20.01 8.95 12.99 8.99"),
        ("{.none}", "null"),
        ("{.count}", "5"),
        ("{1.5}{'x'}{true}{-3}", "1.5xtrue-3"),
        ("{.bicycle[?(@.price > 20.0)].color}", "green"),
        ("{.bicycle[?(@.price>=19.95)].color}", "red green"),
        ("{.bicycle[?(@.color==\"red\")].price}", "19.95"),
        ("{.bicycle[?(@.color!='red')].price}", "20.01"),
        ("{.bicycle[?(@.new==true)].color}", "red"),
        ("{.book[?(@.isbn)].title}", ""),
        ("{.book[?(@.title)].price}", "8.95 12.99 8.99"),
        ("{range .bicycle[*]}{.color}={.price};{end}!", "red=19.95;green=20.01;!"),
        ("{range .bicycle[*]}{range @.color}[{@}]{end}{end}", "[red][green]"),
    ] {
        assert_eq!(print(template), expected, "{template}");
    }
}

#[test]
fn refuses_in_client_gos_words() {
    for (template, expected) in [
        ("{.missing}", "missing is not found"),
        ("{.name", "unclosed action"),
        ("{.book[0", "unterminated array"),
        ("{.book[a]}", "invalid array index a"),
        ("{.book[0:1:2:3]}", "invalid array index 0:1:2:3"),
        ("{.book[7]}", "array index out of bounds: index 7, length 3"),
        ("{.book[0:7]}", "array index out of bounds: index 6, length 3"),
        ("{.book[2:1]}", "starting index 2 is greater than ending index 1"),
        ("{.book[0:2:0]}", "step must be > 0"),
        ("{.name[0]}", "string is not array or slice"),
        ("{.employees[0]}", "map[string]interface {} is not array or slice"),
        ("{.employees[?(@.x)]}", "map[dan:clerk jason:manager] is not array or slice and cannot be filtered"),
        ("{.bicycle[?(@.price > 20)]}", "incompatible types for comparison"),
        ("{.bicycle[?(@.price =! 20.0)]}", "unrecognized filter operator =!"),
        ("{.bicycle[?(@.price > 1]}", "unterminated filter"),
        ("{.bicycle[?(@.price > 1)}", "unclosed array expect ]"),
        ("{....name}", "invalid multiple recursive descent"),
        ("{\"a}", "unterminated quoted string"),
        ("{%}", "unrecognized character in action: U+0025 '%'"),
        ("{foo}", "unrecognized identifier foo"),
        ("{end}", "not in range, nothing to end"),
        ("{+}", "cannot parse number +"),
    ] {
        assert_eq!(error_of(template), expected, "{template}");
    }
}

#[test]
fn missing_fields_may_be_allowed() {
    let found = JsonPathTemplate::parse("{.spec.x}").unwrap();
    assert!(found.find(&store(), true).unwrap().concat().is_empty());
    assert_eq!(JsonPathTemplate::parse("{range .items[*]}{.x}{end}").unwrap().print(&store(), true).unwrap(), "");
}

#[test]
fn the_relaxed_form() {
    for text in ["name", ".name", "{name}", "{.name}"] {
        assert_eq!(
            JsonPathTemplate::parse_relaxed(text).unwrap().print(&store(), false).unwrap(),
            "jsonpath",
            "{text}"
        );
    }
    assert!(JsonPathTemplate::parse_relaxed("{.a}{.b}").is_err());
    assert!(JsonPathTemplate::parse_relaxed("{name").is_err());
}

#[test]
fn plain_paths() {
    assert_eq!(simple_path_value(&store(), ".map.x.y"), Some(&json!("<&>")));
    assert_eq!(simple_path_value(&store(), ".map.z.y"), None);
}

#[test]
fn hostile_templates_are_bounded() {
    let mut nested = json!([1]);
    for _ in 0..100 {
        nested = json!([nested, 1]);
    }
    let path = JsonPathTemplate::parse(&format!("{{{}}}", "..[*]".repeat(30))).unwrap();
    assert!(path.find(&nested, true).unwrap_err().to_string().contains("visits more than"));
    assert!(JsonPathTemplate::parse(&"{range .*}".repeat(100)).unwrap().find(&nested, true).is_err());
    let long = json!(vec![json!({"text": "x".repeat(1000)}); 2000]);
    let error = JsonPathTemplate::parse(&"{@}".repeat(10)).unwrap().print(&long, true).unwrap_err().to_string();
    assert_eq!(error, "the result is longer than 16777216 bytes");
    let filters = format!("{{.a{}1{}}}", "[?(@.b".repeat(1000), ")]".repeat(1000));
    assert!(JsonPathTemplate::parse(&filters).is_err());
    assert!(JsonPathTemplate::parse(&"{".repeat(100_000)).is_err());
}
