//! Templates that exceed the limits end soon, with a clear error.

use std::sync::Arc;

use switchboard_template::{ExecutionLimits, ExecutionOptions, TemplateSet, Value};

use crate::case::{self, TemplateCase};
use crate::functions;

fn error_of(text: &str, limits: ExecutionLimits) -> String {
    let mut set = TemplateSet::new("t", Arc::new(functions::table()));
    set.parse("t", text).unwrap();
    let options = ExecutionOptions { limits, ..ExecutionOptions::default() };
    let mut out = Vec::new();
    let error = Arc::new(set).execute("t", &Value::Nil, &options, &mut out).unwrap_err().to_string();
    assert!(out.len() <= limits.output_bytes + 100, "{} bytes of output", out.len());
    error
}

fn small() -> ExecutionLimits {
    ExecutionLimits { output_bytes: 10_000, depth: 1_000, steps: 100_000 }
}

#[test]
fn endless_recursion() {
    let error = error_of("{{define \"x\"}}{{template \"x\" .}}{{end}}{{template \"x\"}}", small());
    let place = "template: t:1:25: executing \"x\" at <{{template \"x\" .}}>";
    assert_eq!(error, format!("{place}: exceeded maximum template depth (1000)"));
}

#[test]
fn recursion_as_deep_as_go_goes() {
    let text = "{{define \"x\"}}{{if .}}{{with .}}{{range $i := 1}}{{template \"x\" 1}}{{end}}{{end}}{{end}}{{end}}";
    let limits = ExecutionLimits { depth: 20_000, ..ExecutionLimits::default() };
    let error = error_of(&format!("{text}{{{{template \"x\" 1}}}}"), limits);
    assert!(error.ends_with("exceeded maximum template depth (20000)"), "{error}");
}

#[test]
fn recursion_that_is_deep_at_every_step() {
    let (open, close) = ("{{if 1}}".repeat(1_000), "{{end}}".repeat(1_000));
    let text = format!("{{{{define \"x\"}}}}{open}{{{{template \"x\" .}}}}{close}{{{{end}}}}{{{{template \"x\"}}}}");
    let error = error_of(&text, small());
    assert!(error.ends_with("exceeded maximum nesting (24000)"), "{}", &error[..error.len().min(300)]);
}

#[test]
fn a_huge_range() {
    let error = error_of("{{range 1000000000000}}{{end}}", small());
    assert_eq!(error, "template: t:1:8: executing \"t\" at <1000000000000>: took more than 100000 steps");
}

#[test]
fn nested_ranges() {
    let text = format!("{}{}", "{{range 1000}}".repeat(20), "{{end}}".repeat(20));
    assert!(error_of(&text, small()).ends_with("took more than 100000 steps"));
}

#[test]
fn endless_output() {
    let error = error_of("{{range 1000000}}0123456789{{end}}", small());
    assert!(error.ends_with("output is larger than the limit of 10000 bytes"), "{error}");
    let error = error_of("{{range 1000000}}{{\"0123456789\"}}{{end}}", small());
    assert!(error.ends_with("output is larger than the limit of 10000 bytes"), "{error}");
}

#[test]
fn excessive_width() {
    // Go reports such a width as a bad one.
    let mut set = TemplateSet::new("t", Arc::new(functions::table()));
    set.parse("t", "{{printf \"%1000000000d\" 1}}").unwrap();
    let text = Arc::new(set).render("t", &Value::Nil, &ExecutionOptions::default()).unwrap();
    assert_eq!(text, b"%!(NOVERB)%!(EXTRA int=1)");
    let error = error_of("{{printf \"%999999d\" 1}}", small());
    assert!(error.ends_with("error calling printf: output is larger than the limit of 10000 bytes"), "{error}");
    let error = error_of("{{printf \"%.999999f\" 1.0}}", small());
    assert!(error.ends_with("error calling printf: output is larger than the limit of 10000 bytes"), "{error}");
}

#[test]
fn a_string_that_doubles() {
    let text = "{{$s := \"0123456789\"}}{{range 100}}{{$s = printf \"%s%s\" $s $s}}{{end}}";
    let error = error_of(text, small());
    assert!(error.ends_with("error calling printf: output is larger than the limit of 10000 bytes"), "{error}");
}

#[test]
fn a_list_that_nests() {
    let limits = ExecutionLimits { steps: 1_000_000, ..small() };
    let text = "{{$s := list}}{{range 100000}}{{$s = list $s}}{{end}}{{$s}}";
    assert!(error_of(text, limits).ends_with("output is larger than the limit of 10000 bytes"));
}

#[test]
fn self_referencing_map() {
    let error = error_of("{{$d := dict}}{{$e := set $d \"a\" $d}}{{$d}}", ExecutionLimits::default());
    assert!(error.ends_with("value is nested deeper than 10000 levels"), "{error}");
}

#[test]
fn deep_nesting_of_actions() {
    let text = format!("{}x{}", "{{with 1}}".repeat(9_999), "{{end}}".repeat(9_999));
    let mut set = TemplateSet::new("t", Arc::new(functions::table()));
    set.parse("t", text).unwrap();
    assert_eq!(Arc::new(set).render("t", &Value::Nil, &ExecutionOptions::default()).unwrap(), b"x");
    let text = format!("{{{{{}1{}}}}}", "(".repeat(9_999), ")".repeat(9_999));
    let mut set = TemplateSet::new("t", Arc::new(functions::table()));
    set.parse("t", text).unwrap();
    assert_eq!(Arc::new(set).render("t", &Value::Nil, &ExecutionOptions::default()).unwrap(), b"1");
}

/// Number of mutated templates in every run.
const MUTATIONS: usize = 20_000;

#[test]
fn mutated_templates_end_within_their_limits() {
    let texts: Vec<Vec<u8>> = case::files()
        .iter()
        .flat_map(|file| TemplateCase::read(file))
        .map(|case| case.json["template"].as_str().unwrap().as_bytes().to_vec())
        .collect();
    let mut state = 7_u64;
    let mut random = |bound: usize| {
        // Knuth's MMIX generator. Its high bits have the better quality.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for _ in 0..MUTATIONS {
        let mut text = texts[random(texts.len())].clone();
        for _ in 0..=random(3) {
            let other = &texts[random(texts.len())];
            let at = random(text.len() + 1);
            match random(3) {
                0 if !text.is_empty() => {
                    text.remove(at.min(text.len() - 1));
                }
                1 => text.insert(at, b"{}()|.$-:=\" %'0x`,\n\xff"[random(20)]),
                _ => {
                    let from = random(other.len() + 1);
                    let to = from + random(other.len() - from + 1);
                    text.splice(at..at, other[from..to].iter().copied());
                }
            }
        }
        switchboard_template::fuzz::template(&text);
    }
}
