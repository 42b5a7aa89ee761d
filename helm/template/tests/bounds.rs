//! Templates that ask for more than there is: each ends with an error, in bounded memory and time.

#![allow(clippy::unwrap_used)]

use std::rc::Rc;
use std::sync::Arc;

use switchboard_template::sprig::Sprig;
use switchboard_template::{Error, Ledger, Limits, Options, Set, Str, Value};

fn render(template: &str, limits: Limits) -> Result<Vec<u8>, Error> {
    let mut set = Set::new("t", Arc::new(Sprig::V3.functions()));
    set.parse("t", template).unwrap();
    let options = Options { limits, ..Options::default() };
    let mut out = Vec::new();
    Arc::new(set).execute("t", &Value::Nil, &options, &mut out)?;
    Ok(out)
}

/// What is made within the limits a caller gives to what it does not trust.
fn tight() -> Limits {
    Limits { output_bytes: 1 << 20, steps: 5_000_000, ..Limits::default() }
}

fn refused(template: &str) -> String {
    match render(template, tight()) {
        Ok(out) => panic!("{template} gave {} bytes", out.len()),
        Err(error) => error.to_string(),
    }
}

const DOUBLED: &str = "{{ $x := dict }}{{ range 60 }}{{ $x = dict \"a\" $x \"b\" $x }}{{ end }}";
const DOUBLED_LISTS: &str = "{{ $x := list }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ $y := list }}{{ range 60 }}{{ $y = list $y $y }}{{ end }}";

#[test]
fn a_value_that_holds_another_twice_at_every_level_is_not_gone_through() {
    for work in ["toJson $x", "toPrettyJson $x", "deepCopy $x", "merge (dict) $x", "mergeOverwrite (dict) $x"] {
        let told = refused(&format!("{DOUBLED}{{{{ $_ := {work} }}}}"));
        assert!(told.contains("value has more than 2000000 parts"), "{work}: {told}");
    }
    let told = refused(&format!("{DOUBLED_LISTS}{{{{ deepEqual $x $y }}}}"));
    assert!(told.contains("value has more than 2000000 parts"), "{told}");
}

#[test]
fn lists_do_not_double_without_end() {
    let told = refused("{{ $x := list 1 }}{{ range 60 }}{{ $x = concat $x $x }}{{ end }}{{ len $x }}");
    assert!(told.contains("larger than the limit of 1048576"), "{told}");
    let told = refused("{{ $x := list 1 }}{{ range 10000 }}{{ $x = append $x 1 }}{{ end }}{{ len $x }}");
    assert!(told.contains("took more than 5000000 steps"), "{told}");
}

#[test]
fn texts_do_not_fall_into_more_pieces_than_there_is_room_for() {
    let text = "(repeat 100000 \"a\")";
    for pieces in ["splitList \"\"", "split \"a\"", "regexFindAll \"\"", "regexSplit \"\""] {
        let last = if pieces.starts_with("regex") { " -1" } else { "" };
        let told = refused(&format!("{{{{ $_ := {pieces} {text}{last} }}}}"));
        assert!(told.contains("larger than the limit of 1048576"), "{pieces}: {told}");
    }
    let told = refused("{{ $_ := until 1000000 }}");
    assert!(told.contains("larger than the limit of 1048576"), "{told}");
}

#[test]
fn texts_that_grow_by_their_separator_or_replacement_are_refused() {
    for growing in [
        "{{ join (repeat 1000000 \"b\") (until 100000) }}",
        "{{ regexReplaceAll \"\" (repeat 1000000 \"a\") (repeat 100000 \"b\") }}",
        "{{ $x := \"a\" }}{{ range 60 }}{{ $x = cat $x $x }}{{ end }}",
        "{{ regexReplaceAllLiteral \"a\" (repeat 1000000 \"a\") (repeat 100000 \"b\") }}",
    ] {
        let told = refused(growing);
        assert!(told.contains("larger than the limit of 1048576"), "{growing}: {told}");
    }
}

#[test]
fn a_value_that_holds_itself_and_one_without_bottom_end_in_order() {
    let own = "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}";
    for work in ["toJson $d", "toPrettyJson $d"] {
        // The engine stands, whatever it says: Go's own answer to both is to die.
        let _ = render(&format!("{own}{{{{ {work} }}}}"), tight());
    }
    let deep = "{{ $x := list }}{{ range 200000 }}{{ $x = list $x }}{{ end }}{{ toJson $x }}";
    assert_eq!(render(deep, Limits::default()).unwrap(), b"");
}

#[test]
fn what_functions_make_together_is_bounded() {
    let kept = |made: &str| {
        format!(
            "{{{{ $s := repeat 1000000 \"a\" }}}}{{{{ $d := dict }}}}{{{{ range $i := 20000 }}}}{{{{ $_ := set $d (toString $i) ({made}) }}}}{{{{ end }}}}"
        )
    };
    // Those that are quick without optimization: each makes all that may be made.
    for made in ["b64enc $s", "trunc 100000 $s", "toString (list $s)"] {
        let template = kept(made).replace("1000000", "100000");
        let told = refused(&template);
        assert!(told.contains("made more than 138412032 bytes of texts and lists"), "{made}: {told}");
    }
    // Without room for much, and with the means of a chart, it ends as well.
    let limits = Limits { output_bytes: 1 << 20, ..Limits::default() };
    let told = render(&kept("print $s"), limits).unwrap_err().to_string();
    assert!(told.contains("made more than"), "{told}");
}

#[test]
fn texts_that_are_gone_through_cost_what_they_are_long() {
    let text = "{{ $s := repeat 100000 \"a\" }}";
    let limits = Limits { steps: 50_000, ..tight() };
    for work in [
        "sha256sum $s",
        "hasPrefix \"b\" $s",
        "eq $s $s",
        "regexMatch \"b\" $s",
        "trimAll $s \"ab\"",
        "len (list $s) | max $s",
    ] {
        let looped = format!("{text}{{{{ range 10000 }}}}{{{{ $_ := {work} }}}}{{{{ end }}}}");
        let told = render(&looped, limits).unwrap_err().to_string();
        assert!(told.contains("took more than 50000 steps"), "{work}: {told}");
    }
}

#[test]
fn comparing_is_bounded_however_the_value_is_built() {
    for work in ["uniq (list $x)", "has $x (list $y)", "without (list $y) $x", "mustHas $x (list $y)"] {
        let told = refused(&format!("{DOUBLED_LISTS}{{{{ $_ := {work} }}}}"));
        assert!(told.contains("value has more than 2000000 parts"), "{work}: {told}");
    }
    // Below where counting once ended.
    let deep = "{{ range 1100 }}{{ $x = list $x }}{{ $y = list $y }}{{ end }}";
    let told = refused(&format!("{DOUBLED_LISTS}{deep}{{{{ deepEqual $x $y }}}}"));
    assert!(told.contains("value has more than 2000000 parts"), "{told}");
}

#[test]
fn a_value_printed_on_the_way_is_no_longer_than_the_output_may_be() {
    for work in ["toString $x", "quote $x", "squote $x", "cat $x", "join \"\" (list $x)", "dict $x 1", "toDecimal $x"] {
        let told = refused(&format!("{DOUBLED_LISTS}{{{{ $_ := {work} }}}}"));
        assert!(told.contains("larger than the limit of 1048576 bytes"), "{work}: {told}");
    }
}

#[test]
fn expressions_cost_what_it_takes_to_compile_and_run_them() {
    // One after the other, each new.
    let told = refused("{{ range $i := 1000 }}{{ $_ := regexMatch (printf \"a{%d}\" $i) \"a\" }}{{ end }}");
    assert!(told.contains("took more than 5000000 steps"), "{told}");
    // Some so large that none is kept.
    let told = refused("{{ $_ := regexMatch `(\\pL\\pN){500}` \"a\" }}");
    assert!(told.contains("took more than 5000000 steps"), "{told}");
    // A search that looks to the end of the text in vain, from everywhere.
    let told = refused("{{ $_ := regexFindAll \"a.*z|a\" (repeat 400000 \"a\") -1 }}");
    assert!(told.contains("took more than 5000000 steps"), "{told}");
    // The same one over and over is cheap.
    render("{{ range 1000 }}{{ $_ := regexMatch \"^[a-z0-9]([-a-z0-9]{0,61})?$\" \"some-name\" }}{{ end }}", tight())
        .unwrap();
}

#[test]
fn a_text_is_found_in_another_in_time_that_grows_with_both() {
    let long = "{{ $s := repeat 500000 \"a\" }}{{ $p := print (repeat 250000 \"a\") \"b\" }}";
    for work in ["contains $p $s", "replace $p \"\" $s", "splitList $p $s"] {
        render(&format!("{long}{{{{ $_ := {work} }}}}"), tight()).unwrap();
    }
}

#[test]
fn maps_that_hold_themselves_are_freed() {
    let data = Value::map([("kept", Value::map([("a", Value::from("b"))]))]);
    let held = data.as_map().unwrap().clone();
    let made = Value::map(Vec::<(Str, Value)>::new());
    let weak = Rc::downgrade(made.as_map().unwrap());
    held.insert("given".into(), made);
    let mut set = Set::new("t", Arc::new(Sprig::V3.functions()));
    set.parse(
        "t",
        "{{ $g := .given }}{{ $_ := set $g \"self\" (list (dict \"g\" $g)) }}{{ $_ := unset . \"given\" }}\
        {{ $_ := set .kept \"self\" .kept }}{{ $_ := merge $g (dict \"more\" (list $g)) }}",
    )
    .unwrap();
    Arc::new(set).render("t", &data, &Options::default()).unwrap();
    assert!(weak.upgrade().is_none(), "a map that nobody holds but itself");
    // What the caller holds stays as the template left it.
    let kept = held.get(b"kept").unwrap();
    assert!(kept.as_map().unwrap().contains(b"self") && kept.as_map().unwrap().contains(b"a"));
    let weak = Rc::downgrade(kept.as_map().unwrap());
    drop((data, held, kept));
    switchboard_template::free_cycles();
    assert!(weak.upgrade().is_none(), "a map whose caller is gone");
}

#[test]
fn executions_share_what_they_are_given_together() {
    let mut set = Set::new("t", Arc::new(Sprig::V3.functions()));
    set.parse("t", "{{ range 600000 }}{{ end }}").unwrap();
    let (set, limits) = (Arc::new(set), Limits { steps: 1_000_000, ..Limits::default() });
    let options = Options { limits, ..Options::default() };
    let mut ledger = Ledger::new(&limits);
    set.render_on(&mut ledger, "t", &Value::Nil, &options).unwrap();
    let told = set.render_on(&mut ledger, "t", &Value::Nil, &options).unwrap_err().to_string();
    assert!(told.contains("took more than 1000000 steps"), "{told}");
}

#[test]
fn a_text_full_of_variables_or_templates_is_parsed_in_time_that_grows_with_it() {
    let parse = |text: &str| {
        let mut set = Set::new("t", Arc::new(Sprig::V3.functions()));
        set.parse("t", text).map(|()| Arc::new(set))
    };
    let declared: String = (0..20_000).map(|n| format!("{{{{$a{n}:=1}}}}")).collect();
    let told = parse(&declared).unwrap_err().to_string();
    assert!(told.contains("more than 10000 variables at a time"), "{told}");
    let scoped: String = (0..20_000).map(|n| format!("{{{{with $a{n}:=1}}}}{{{{end}}}}")).collect();
    parse(&scoped).unwrap();
    let defined: String = (0..30_000).map(|n| format!("{{{{define \"t{n}\"}}}}x{{{{end}}}}")).collect();
    parse(&defined).unwrap();
    // To find one among many costs more than to find one among a few.
    let many: String = (0..9_000).map(|n| format!("{{{{$a{n}:=1}}}}")).collect();
    let told = refused(&format!("{many}{{{{range 100000}}}}{{{{$_ := $.x}}}}{{{{end}}}}"));
    assert!(told.contains("took more than 5000000 steps"), "{told}");
}
