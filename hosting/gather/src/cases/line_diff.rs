//! Line diff of two texts.

/// Number of lines shown around a difference.
pub const CONTEXT_LINES: usize = 3;
/// Maximum number of lines for a diff, which takes quadratic time. Longer texts are printed one after the other.
pub const MAX_LINES: usize = 2_000;

/// Returns the diff as lines with a prefix: `-` for the first text only, `+` for the second only, a space for both;
/// `...` for omitted lines. Empty if the texts are equal.
pub fn diff(first: &str, second: &str) -> Vec<String> {
    if first == second {
        return Vec::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (first.lines().collect(), second.lines().collect());
    let steps = if old.len() > MAX_LINES || new.len() > MAX_LINES {
        old.iter().map(|line| ('-', *line)).chain(new.iter().map(|line| ('+', *line))).collect()
    } else {
        steps(&old, &new)
    };
    with_context(&steps)
}

/// Returns the edit steps from one text to the other that keep the most lines.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    // `kept[i][j]`: number of lines that can be kept of `old[i..]` and `new[j..]`.
    let mut kept = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let same = old[i] == new[j];
            kept[i][j] = if same { kept[i + 1][j + 1] + 1 } else { kept[i + 1][j].max(kept[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut steps) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            steps.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && kept[i + 1][j] >= kept[i][j + 1]) {
            steps.push(('-', old[i]));
            i += 1;
        } else {
            steps.push(('+', new[j]));
            j += 1;
        }
    }
    steps
}

/// Reduces the steps to the differences and the lines around them.
fn with_context(steps: &[(char, &str)]) -> Vec<String> {
    let changed: Vec<usize> =
        steps.iter().enumerate().filter(|(_, (sign, _))| *sign != ' ').map(|(at, _)| at).collect();
    let near = |at: usize| {
        let next = changed.partition_point(|change| *change < at);
        let close = |change: Option<&usize>| change.is_some_and(|change| change.abs_diff(at) <= CONTEXT_LINES);
        close(changed.get(next)) || next.checked_sub(1).is_some_and(|before| close(changed.get(before)))
    };
    let mut lines: Vec<String> = Vec::new();
    for (at, (sign, text)) in steps.iter().enumerate() {
        if near(at) {
            lines.push(format!("{sign}{text}"));
        } else if lines.last().is_none_or(|line| line != "...") {
            lines.push("...".to_string());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_do_not_differ() {
        assert_eq!(diff("a\nb\n", "a\nb\n"), Vec::<String>::new());
    }

    #[test]
    fn changes_are_shown_with_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        assert_eq!(diff(old, new), ["...", " 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8", "..."]);
        assert_eq!(diff("", "a\n"), ["+a"]);
        assert_eq!(diff("a\nb\n", "b\n"), ["-a", " b"]);
    }

    #[test]
    fn diff_lines_contain_both_texts() {
        let (old, new) = ("a\nb\nc\nd\n", "a\nx\nc\ny\nz\n");
        let lines = diff(old, new);
        let side = |sign: char| {
            let of = lines.iter().filter(|line| line.starts_with([' ', sign]));
            of.map(|line| format!("{}\n", &line[1..])).collect::<String>()
        };
        assert_eq!((side('-').as_str(), side('+').as_str()), (old, new));
    }

    #[test]
    fn long_texts_are_shown_one_after_the_other() {
        let old = "a\n".repeat(MAX_LINES + 1);
        let lines = diff(&old, "b\n");
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (MAX_LINES + 2, Some("+b")));
    }
}
