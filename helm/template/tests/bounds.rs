//! Templates that exceed the limits. Each ends with an error, in bounded memory and time.

#![allow(clippy::unwrap_used)]

use std::rc::Rc;
use std::sync::Arc;

use switchboard_template::sprig::SprigVersion;
use switchboard_template::{Error, ExecutionBudget, ExecutionLimits, ExecutionOptions, Str, TemplateSet, Value};

fn render(template: &str, limits: ExecutionLimits) -> Result<Vec<u8>, Error> {
    let mut set = TemplateSet::new("t", Arc::new(SprigVersion::V3.functions()));
    set.parse("t", template).unwrap();
    let options = ExecutionOptions { limits, ..ExecutionOptions::default() };
    let mut out = Vec::new();
    Arc::new(set).execute("t", &Value::Nil, &options, &mut out)?;
    Ok(out)
}

/// Returns the limits for templates from an untrusted source.
fn tight() -> ExecutionLimits {
    ExecutionLimits { output_bytes: 1 << 20, steps: 5_000_000, ..ExecutionLimits::default() }
}

fn error_of(template: &str) -> String {
    match render(template, tight()) {
        Ok(out) => panic!("{template} gave {} bytes", out.len()),
        Err(error) => error.to_string(),
    }
}

const DOUBLED: &str = "{{ $x := dict }}{{ range 60 }}{{ $x = dict \"a\" $x \"b\" $x }}{{ end }}";
const DOUBLED_LISTS: &str = "{{ $x := list }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ $y := list }}{{ range 60 }}{{ $y = list $y $y }}{{ end }}";

#[test]
fn exponential_values_are_not_traversed() {
    for work in ["toJson $x", "toPrettyJson $x", "deepCopy $x", "merge (dict) $x", "mergeOverwrite (dict) $x"] {
        let error = error_of(&format!("{DOUBLED}{{{{ $_ := {work} }}}}"));
        assert!(error.contains("value has more than 2000000 parts"), "{work}: {error}");
    }
    let error = error_of(&format!("{DOUBLED_LISTS}{{{{ deepEqual $x $y }}}}"));
    assert!(error.contains("value has more than 2000000 parts"), "{error}");
}

#[test]
fn doubling_lists_are_limited() {
    let error = error_of("{{ $x := list 1 }}{{ range 60 }}{{ $x = concat $x $x }}{{ end }}{{ len $x }}");
    assert!(error.contains("larger than the limit of 1048576"), "{error}");
    let error = error_of("{{ $x := list 1 }}{{ range 10000 }}{{ $x = append $x 1 }}{{ end }}{{ len $x }}");
    assert!(error.contains("took more than 5000000 steps"), "{error}");
}

#[test]
fn splitting_is_limited_by_memory() {
    let text = "(repeat 100000 \"a\")";
    for pieces in ["splitList \"\"", "split \"a\"", "regexFindAll \"\"", "regexSplit \"\""] {
        let last = if pieces.starts_with("regex") { " -1" } else { "" };
        let error = error_of(&format!("{{{{ $_ := {pieces} {text}{last} }}}}"));
        assert!(error.contains("larger than the limit of 1048576"), "{pieces}: {error}");
    }
    let error = error_of("{{ $_ := until 1000000 }}");
    assert!(error.contains("larger than the limit of 1048576"), "{error}");
}

#[test]
fn growing_replacements_are_rejected() {
    for growing in [
        "{{ join (repeat 1000000 \"b\") (until 100000) }}",
        "{{ regexReplaceAll \"\" (repeat 1000000 \"a\") (repeat 100000 \"b\") }}",
        "{{ $x := \"a\" }}{{ range 60 }}{{ $x = cat $x $x }}{{ end }}",
        "{{ regexReplaceAllLiteral \"a\" (repeat 1000000 \"a\") (repeat 100000 \"b\") }}",
    ] {
        let error = error_of(growing);
        assert!(error.contains("larger than the limit of 1048576"), "{growing}: {error}");
    }
}

#[test]
fn self_referencing_and_deep_values_fail_cleanly() {
    let own = "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}";
    for work in ["toJson $d", "toPrettyJson $d"] {
        // The engine must survive, with any result. Go crashes in both cases.
        let _ = render(&format!("{own}{{{{ {work} }}}}"), tight());
    }
    let deep = "{{ $x := list }}{{ range 200000 }}{{ $x = list $x }}{{ end }}{{ toJson $x }}";
    assert_eq!(render(deep, ExecutionLimits::default()).unwrap(), b"");
}

#[test]
fn function_results_share_a_limit() {
    let kept = |made: &str| {
        format!(
            "{{{{ $s := repeat 1000000 \"a\" }}}}{{{{ $d := dict }}}}{{{{ range $i := 20000 }}}}{{{{ $_ := set $d (toString $i) ({made}) }}}}{{{{ end }}}}"
        )
    };
    // Functions that are fast in a debug build. Each call creates as much as the limits allow.
    for made in ["b64enc $s", "trunc 100000 $s", "toString (list $s)"] {
        let template = kept(made).replace("1000000", "100000");
        let error = error_of(&template);
        assert!(error.contains("created more than 138412032 bytes of texts and lists"), "{made}: {error}");
    }
    // The loop also ends with a small output limit and the step limit of a chart.
    let limits = ExecutionLimits { output_bytes: 1 << 20, ..ExecutionLimits::default() };
    let error = render(&kept("print $s"), limits).unwrap_err().to_string();
    assert!(error.contains("created more than"), "{error}");
}

#[test]
fn traversing_texts_costs_their_length() {
    let text = "{{ $s := repeat 100000 \"a\" }}";
    let limits = ExecutionLimits { steps: 50_000, ..tight() };
    for work in [
        "sha256sum $s",
        "hasPrefix \"b\" $s",
        "eq $s $s",
        "regexMatch \"b\" $s",
        "trimAll $s \"ab\"",
        "len (list $s) | max $s",
    ] {
        let looped = format!("{text}{{{{ range 10000 }}}}{{{{ $_ := {work} }}}}{{{{ end }}}}");
        let error = render(&looped, limits).unwrap_err().to_string();
        assert!(error.contains("took more than 50000 steps"), "{work}: {error}");
    }
}

#[test]
fn comparison_is_bounded() {
    for work in ["uniq (list $x)", "has $x (list $y)", "without (list $y) $x", "mustHas $x (list $y)"] {
        let error = error_of(&format!("{DOUBLED_LISTS}{{{{ $_ := {work} }}}}"));
        assert!(error.contains("value has more than 2000000 parts"), "{work}: {error}");
    }
    // The nesting is deeper than the former limit of the count.
    let deep = "{{ range 1100 }}{{ $x = list $x }}{{ $y = list $y }}{{ end }}";
    let error = error_of(&format!("{DOUBLED_LISTS}{deep}{{{{ deepEqual $x $y }}}}"));
    assert!(error.contains("value has more than 2000000 parts"), "{error}");
}

#[test]
fn printed_values_are_limited_like_the_output() {
    for work in ["toString $x", "quote $x", "squote $x", "cat $x", "join \"\" (list $x)", "dict $x 1", "toDecimal $x"] {
        let error = error_of(&format!("{DOUBLED_LISTS}{{{{ $_ := {work} }}}}"));
        assert!(error.contains("larger than the limit of 1048576 bytes"), "{work}: {error}");
    }
}

#[test]
fn expressions_are_charged_for_compiling_and_matching() {
    // Different expressions, one after the other.
    let error = error_of("{{ range $i := 1000 }}{{ $_ := regexMatch (printf \"a{%d}\" $i) \"a\" }}{{ end }}");
    assert!(error.contains("took more than 5000000 steps"), "{error}");
    // Expressions that are too large for the cache.
    let error = error_of("{{ $_ := regexMatch `(\\pL\\pN){500}` \"a\" }}");
    assert!(error.contains("took more than 5000000 steps"), "{error}");
    // A search that reads to the end of the text in vain, from every position.
    let error = error_of("{{ $_ := regexFindAll \"a.*z|a\" (repeat 400000 \"a\") -1 }}");
    assert!(error.contains("took more than 5000000 steps"), "{error}");
    // Repeated use of one expression is cheap.
    render("{{ range 1000 }}{{ $_ := regexMatch \"^[a-z0-9]([-a-z0-9]{0,61})?$\" \"some-name\" }}{{ end }}", tight())
        .unwrap();
}

#[test]
fn substring_search_takes_linear_time() {
    let long = "{{ $s := repeat 500000 \"a\" }}{{ $p := print (repeat 250000 \"a\") \"b\" }}";
    for work in ["contains $p $s", "replace $p \"\" $s", "splitList $p $s"] {
        render(&format!("{long}{{{{ $_ := {work} }}}}"), tight()).unwrap();
    }
}

#[test]
fn self_referencing_maps_are_freed() {
    let data = Value::map([("kept", Value::map([("a", Value::from("b"))]))]);
    let held = data.as_map().unwrap().clone();
    let made = Value::map(Vec::<(Str, Value)>::new());
    let weak = Rc::downgrade(made.as_map().unwrap());
    held.insert("given".into(), made);
    let mut set = TemplateSet::new("t", Arc::new(SprigVersion::V3.functions()));
    set.parse(
        "t",
        "{{ $g := .given }}{{ $_ := set $g \"self\" (list (dict \"g\" $g)) }}{{ $_ := unset . \"given\" }}\
        {{ $_ := set .kept \"self\" .kept }}{{ $_ := merge $g (dict \"more\" (list $g)) }}",
    )
    .unwrap();
    Arc::new(set).render("t", &data, &ExecutionOptions::default()).unwrap();
    assert!(weak.upgrade().is_none(), "a self-referencing map");
    // A map that the caller holds keeps the template's changes.
    let kept = held.get(b"kept").unwrap();
    assert!(kept.as_map().unwrap().contains(b"self") && kept.as_map().unwrap().contains(b"a"));
    let weak = Rc::downgrade(kept.as_map().unwrap());
    drop((data, held, kept));
    switchboard_template::free_cycles();
    assert!(weak.upgrade().is_none(), "a map whose caller is gone");
}

#[test]
fn executions_share_a_budget() {
    let mut set = TemplateSet::new("t", Arc::new(SprigVersion::V3.functions()));
    set.parse("t", "{{ range 600000 }}{{ end }}").unwrap();
    let (set, limits) = (Arc::new(set), ExecutionLimits { steps: 1_000_000, ..ExecutionLimits::default() });
    let options = ExecutionOptions { limits, ..ExecutionOptions::default() };
    let mut budget = ExecutionBudget::new(&limits);
    set.render_with_budget(&mut budget, "t", &Value::Nil, &options).unwrap();
    let error = set.render_with_budget(&mut budget, "t", &Value::Nil, &options).unwrap_err().to_string();
    assert!(error.contains("took more than 1000000 steps"), "{error}");
}

#[test]
fn parsing_many_variables_takes_linear_time() {
    let parse = |text: &str| {
        let mut set = TemplateSet::new("t", Arc::new(SprigVersion::V3.functions()));
        set.parse("t", text).map(|()| Arc::new(set))
    };
    let declared: String = (0..20_000).map(|n| format!("{{{{$a{n}:=1}}}}")).collect();
    let error = parse(&declared).unwrap_err().to_string();
    assert!(error.contains("more than 10000 variables in scope"), "{error}");
    let scoped: String = (0..20_000).map(|n| format!("{{{{with $a{n}:=1}}}}{{{{end}}}}")).collect();
    parse(&scoped).unwrap();
    let defined: String = (0..30_000).map(|n| format!("{{{{define \"t{n}\"}}}}x{{{{end}}}}")).collect();
    parse(&defined).unwrap();
    // Finding one variable among many costs more than finding one among a few.
    let many: String = (0..9_000).map(|n| format!("{{{{$a{n}:=1}}}}")).collect();
    let error = error_of(&format!("{many}{{{{range 100000}}}}{{{{$_ := $.x}}}}{{{{end}}}}"));
    assert!(error.contains("took more than 5000000 steps"), "{error}");
}
