#![allow(clippy::unwrap_used)]

use super::unified;

fn lines(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

#[test]
fn equal_texts_have_no_difference() {
    assert_eq!(unified("a\nb", "a\nb"), "");
}

#[test]
fn a_change_is_shown_with_three_lines_around_it() {
    let mut new = lines(0..20);
    new[10] = "ten".into();
    let expected = "@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n";
    assert_eq!(unified(&lines(0..20).join("\n"), &new.join("\n")), expected);
}

#[test]
fn changes_far_apart_stand_apart() {
    let mut new = lines(0..40);
    new[2] = "two".into();
    new.remove(30);
    let difference = unified(&lines(0..40).join("\n"), &new.join("\n"));
    let heads: Vec<&str> = difference.lines().filter(|l| l.starts_with("@@")).collect();
    assert_eq!(heads, ["@@ -1,6 +1,6 @@", "@@ -28,7 +28,6 @@"]);
}

#[test]
fn one_line_has_no_length() {
    assert_eq!(unified("a", "b"), "@@ -1 +1 @@\n-a\n+b\n");
}
