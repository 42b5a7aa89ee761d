//! Marks come out where their text does, and change nothing else.

use super::*;

#[test]
fn actions_end_behind_their_strings_and_comments() {
    assert_eq!(action("{{ \"}}\" }}x"), 10);
    assert_eq!(action("{{/* }} */}}x"), 12);
    assert_eq!(action("{{- `}}` -}}x"), 12);
    assert_eq!(action("{{ open"), 7);
}

#[test]
fn a_mark_stands_before_text_and_before_values_in_it() {
    let marked = mark("a: {{ .b }}\n{{- if x }}\n  c: 1\n{{- end }}\n");
    let plain = Marks::read(&marked);
    assert_eq!(plain.text(), "a: {{ .b }}\n{{- if x }}\n  c: 1\n{{- end }}\n");
    assert_eq!(plain.last_before(0), Some((1, 4)), "the value of the line");
    assert_eq!(plain.last_before(27), Some((3, 3)));
}
