//! The lines that two texts share, and which of them are worth showing.

use super::{Line, Sign};

/// How many lines that stay are shown around a change; beside them the keys a change lies under.
pub const CONTEXT_LINES: usize = 3;
/// What stands in place of lines left out.
pub const LEFT_OUT: &str = "...";
/// How many pairs of lines are compared at most: texts that differ in more are shown as a whole replaced by another.
pub const MAX_COMPARISONS: usize = 1_000_000;

pub(super) fn compare(before: &str, after: &str) -> Vec<Line> {
    let lines = all(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let shown = shown(&lines);
    let mut out: Vec<Line> = Vec::new();
    let mut skipping = false;
    for (line, shown) in lines.into_iter().zip(shown) {
        if shown {
            out.push(line);
        } else if !skipping && !out.is_empty() {
            out.push(Line { sign: Sign::Same, text: LEFT_OUT.to_string() });
        }
        skipping = !shown;
    }
    // What follows the last change is not missed.
    if skipping {
        out.pop();
    }
    out
}

/// Every line of both texts.
fn all(before: &[&str], after: &[&str]) -> Vec<Line> {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (tail, old, new) = (&old[old.len() - end..], &old[..old.len() - end], &new[..new.len() - end]);
    let mut lines = signed(Sign::Same, &before[..start]);
    if old.len().saturating_mul(new.len()) > MAX_COMPARISONS {
        lines.extend(signed(Sign::Removed, old));
        lines.extend(signed(Sign::Added, new));
    } else {
        lines.extend(longest(old, new));
    }
    lines.extend(signed(Sign::Same, tail));
    lines
}

fn signed(sign: Sign, texts: &[&str]) -> Vec<Line> {
    texts.iter().map(|text| Line { sign, text: (*text).to_string() }).collect()
}

/// By the longest common subsequence; what goes stands before what comes.
fn longest(old: &[&str], new: &[&str]) -> Vec<Line> {
    let width = new.len() + 1;
    // How many lines the rests of both texts share, from here on.
    let mut shared = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            shared[i * width + j] = if old[i] == new[j] {
                shared[(i + 1) * width + j + 1] + 1
            } else {
                shared[(i + 1) * width + j].max(shared[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        let (sign, text) = if old[i] == new[j] {
            (Sign::Same, old[i])
        } else if shared[(i + 1) * width + j] >= shared[i * width + j + 1] {
            (Sign::Removed, old[i])
        } else {
            (Sign::Added, new[j])
        };
        i += usize::from(sign != Sign::Added);
        j += usize::from(sign != Sign::Removed);
        lines.push(Line { sign, text: text.to_string() });
    }
    lines.extend(signed(Sign::Removed, &old[i..]));
    lines.extend(signed(Sign::Added, &new[j..]));
    lines
}

/// Which lines are worth showing: changes, what is around them, and the keys they lie under.
fn shown(lines: &[Line]) -> Vec<bool> {
    let mut shown = vec![false; lines.len()];
    // The keys that the line looked at lies under, outermost first.
    let mut above: Vec<usize> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let depth = depth(&line.text);
        above.retain(|key| self::depth(&lines[*key].text) < depth);
        if line.sign != Sign::Same {
            let around = at.saturating_sub(CONTEXT_LINES)..(at + CONTEXT_LINES + 1).min(lines.len());
            around.chain(above.iter().copied()).for_each(|near| shown[near] = true);
        }
        above.push(at);
    }
    shown
}

/// How deep a line lies. Items of a list stand under their key at the same column, and what they hold stands deeper.
fn depth(text: &str) -> usize {
    let bare = text.trim_start_matches(' ');
    2 * (text.len() - bare.len()) + usize::from(bare.starts_with("- "))
}
