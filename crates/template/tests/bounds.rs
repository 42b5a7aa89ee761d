//! Templates that ask for more than there is: each ends with an error, in bounded memory and time.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use switchboard_template::sprig::Sprig;
use switchboard_template::{Error, Limits, Options, Set, Value};

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
