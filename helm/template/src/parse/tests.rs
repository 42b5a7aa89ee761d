#![allow(clippy::unwrap_used)]

use super::*;

fn problem(text: &str) -> String {
    let delimiters = Delimiters::new("", "");
    parse(&Str::new("t"), text.as_bytes(), &delimiters, &Functions::new()).unwrap_err().to_string()
}

#[test]
fn errors_name_template_and_line() {
    assert_eq!(problem("a\n{{ .a "), "template: t:2: unclosed action");
    assert_eq!(problem("{{ if .a }}\n"), "template: t:2: unexpected EOF");
    assert_eq!(problem("{{ .a\n.b\n\"x }}"), "template: t:3: unterminated quoted string in action started at t:1");
    assert_eq!(problem("{{ 1 | 2 }}"), "template: t:1: non executable command in pipeline stage 2");
    assert_eq!(problem("{{ nofunc }}"), "template: t:1: function \"nofunc\" not defined");
}

#[test]
fn nesting_is_bounded() {
    let deep = "{{if 1}}".repeat(MAX_NESTING + 1);
    assert_eq!(problem(&deep), "template: t:1: exceeded maximum nesting of actions (10000)");
    let parens = format!("{{{{{}1{}}}}}", "(".repeat(10_001), ")".repeat(10_001));
    assert_eq!(problem(&parens), "template: t:1: max expression depth exceeded");
    let fine = format!("{}{}", "{{if 1}}".repeat(MAX_NESTING), "{{end}}".repeat(MAX_NESTING));
    let delimiters = Delimiters::new("", "");
    assert_eq!(parse(&Str::new("t"), fine.as_bytes(), &delimiters, &Functions::new()).unwrap().len(), 1);
}
