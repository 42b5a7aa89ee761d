use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use crate::Value;
use crate::cel::{CelRules, RuleContext, check_rules};
use crate::schema::Schema;

fn issues(rule: &str) -> Vec<String> {
    let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}},
        "x-kubernetes-validations": [{"rule": rule}]});
    check_rules(&schema, "rules", RuleContext { root: true, times: Some(1), ..RuleContext::default() })
        .0
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn run(rule: &str, object: &Value) -> Vec<String> {
    let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}},
        "x-kubernetes-validations": [{"rule": rule}]});
    let rules = CelRules::new(Arc::new(Schema::from_json(&schema)));
    rules.validate(object, None).0.iter().map(|error| error.detail.clone()).collect()
}

#[test]
fn an_endless_rule_is_stopped() {
    let items: Vec<i64> = (0..2000).collect();
    let rule = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))";
    let failed = run(rule, &json!({"l": items}));
    assert_eq!(failed.len(), 1);
    assert!(failed[0].starts_with("'operation cancelled: actual cost limit exceeded'"), "{failed:?}");
}

#[test]
fn loops_are_linear() {
    let items: Vec<i64> = (0..50_000).collect();
    assert_eq!(run("self.l.map(x, x + 1).size() == 50000", &json!({"l": items})), Vec::<String>::new());
}

#[test]
fn types_stay_small() {
    let nested = format!("self.l{}.size() == 0", ".map(x, {x: x})".repeat(60));
    assert!(issues(&nested).is_empty());
    let nested = format!("self.l{}.size() == 0", ".map(x, [x, x])".repeat(60));
    assert!(issues(&nested).is_empty());
    let doubled = format!("self.l{}", ".map(x, [x, x])".repeat(60));
    let failed = run(&format!("{doubled} == {doubled}"), &json!({"l": [1]}));
    assert!(failed[0].contains("actual cost limit exceeded"), "{failed:?}");
}

#[test]
fn deep_rules_are_refused() {
    for deep in [
        format!("{}true{}", "(".repeat(2_000), ")".repeat(2_000)),
        format!("self{}", ".l".repeat(4_000)),
        format!("1{} == 1", " + 1".repeat(4_000)),
        format!("{}1{} == 1", "[".repeat(2_000), "]".repeat(2_000)),
        format!("1 == 1{}", "[0]".repeat(1_500)),
        "x".repeat(100_001),
        "&&".repeat(40_000),
    ] {
        assert!(!issues(&deep).is_empty(), "{}", &deep[..20]);
    }
    // Pairs of negations cancel out.
    assert!(issues(&format!("{}true", "!".repeat(4_000))).is_empty());
}

/// Generates rules that usually parse, with values of all kinds.
fn rule() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "self.n",
        "self.f",
        "self.s",
        "self.b",
        "self.l",
        "self.set",
        "self.m",
        "self.o",
        "self.at",
        "self.d",
        "self.raw",
        "self.any",
        "oldSelf.n",
        "1",
        "-1",
        "2u",
        "1.5",
        "'a'",
        "b'a'",
        "true",
        "null",
        "[]",
        "{}",
        "[1]",
        "{'a': 1}",
        "int",
        "self.nope",
        "9223372036854775807",
        "duration('1h')",
        "optional.none()",
        "self.?n",
    ]);
    leaf.prop_map(String::from).prop_recursive(4, 24, 3, |inner| {
        let binary = prop::sample::select(vec!["+", "-", "*", "/", "%", "==", "<", ">=", "&&", "||", "in"]);
        let method = prop::sample::select(vec![
            "size",
            "sum",
            "min",
            "isSorted",
            "sort",
            "reverse",
            "first",
            "trim",
            "hasValue",
            "value",
            "getHours",
            "flatten",
            "distinct",
            "join",
            "lowerAscii",
        ]);
        let with_one = prop::sample::select(vec![
            "contains", "matches", "indexOf", "split", "find", "findAll", "charAt", "orValue", "or", "format", "slice",
        ]);
        let global = prop::sample::select(vec![
            "size",
            "string",
            "int",
            "uint",
            "double",
            "bytes",
            "type",
            "dyn",
            "quantity",
            "ip",
            "cidr",
            "url",
            "semver",
            "timestamp",
            "duration",
            "optional.of",
            "lists.range",
            "format.named",
            "strings.quote",
        ]);
        let macros = prop::sample::select(vec!["all", "exists", "exists_one", "map", "filter", "sortBy"]);
        prop_oneof![
            (inner.clone(), binary, inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (inner.clone(), method).prop_map(|(a, f)| format!("{a}.{f}()")),
            (inner.clone(), with_one, inner.clone()).prop_map(|(a, f, b)| format!("{a}.{f}({b})")),
            (global, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            (inner.clone(), macros, inner.clone()).prop_map(|(a, f, b)| format!("{a}.{f}(x, x == {b})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}[{b}]")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("[{a}, {b}]")),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_breaks_the_compiler(text in "[-a-z0-9 ()\\[\\]{}.,?:!<>=&|+*/%'\"]{0,60}") {
        let _ = issues(&text);
        let _ = run(&text, &json!({"l": [1, 2]}));
    }

    #[test]
    fn no_rule_breaks_the_machine(text in rule(), cut in 0usize..80) {
        crate::cel::fuzz(text.as_bytes());
        crate::cel::fuzz(&text.as_bytes()[..cut.min(text.len())]);
    }

    #[test]
    fn checked_rules_run_without_overload_errors(a in -5i64..5, b in -5i64..5, op in "(\\+|-|\\*|/|%)", cmp in "(<|<=|==|!=|>|>=)") {
        let rule = format!("{a} {op} {b} {cmp} self.l[0]");
        prop_assert!(issues(&rule).is_empty());
        for failed in run(&rule, &json!({"l": [1]})) {
            prop_assert!(!failed.contains("no such overload"), "{}", failed);
        }
    }
}
