//! Marks appear next to their text and change nothing else.

use super::*;

#[test]
fn action_length_includes_strings_and_comments() {
    assert_eq!(action_length("{{ \"}}\" }}x"), 10);
    assert_eq!(action_length("{{/* }} */}}x"), 12);
    assert_eq!(action_length("{{- `}}` -}}x"), 12);
    assert_eq!(action_length("{{ open"), 7);
}

#[test]
fn marks_precede_text_and_output() {
    let marked =
        add_marks("a: {{ .b }}\n{{- if x }}\n  c: 1\n  {{- d | e -}}\n{{- end }}\n{{ $x := 1 }}{{ /* y */ }}", 7);
    let plain = |file, line, column| format!("{BEGIN}{file}:{line}:{column}{END}");
    let (a, b, c, d) = (plain(7, 1, 1), plain(7, 1, 4), plain(7, 3, 3), plain(7, 4, 3));
    let wanted = format!(
        "{a}a: {{{{\"{b}\" }}}}{{{{  .b }}}}\n{{{{- if x }}}}\n  {c}c: 1\n  {{{{- \"{d}\" }}}}{{{{ d | e -}}}}\n{{{{- end }}}}\n\
         {{{{ $x := 1 }}}}{{{{ /* y */ }}}}"
    );
    assert_eq!(marked, wanted);
}

#[test]
fn last_before_prefers_marks_on_the_same_line() {
    let at = |file, line, column| format!("{BEGIN}{file}:{line}:{column}{END}");
    let marks = SourceMarks::extract(&format!("{}a: {}x{}y\n  b\n", at(1, 1, 1), at(1, 1, 4), at(2, 9, 1)));
    assert_eq!(marks.text(), "a: xy\n  b\n");
    assert_eq!(
        marks.last_before(0),
        Some(MarkPosition { file: 1, line: 1, column: 4 }),
        "the value, not what is in it"
    );
    assert_eq!(marks.last_before(8), Some(MarkPosition { file: 2, line: 9, column: 1 }), "below what a helper wrote");
}
