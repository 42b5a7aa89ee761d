//! Line diff of two texts, reduced to changes and their context.

use super::{DiffLine, DiffSign};

/// Number of unchanged lines shown around a change, besides the parent keys of the change.
pub const CONTEXT_LINES: usize = 3;
/// Placeholder for lines left out.
pub const LEFT_OUT: &str = "...";
/// Maximum number of line pairs compared: larger texts are shown as completely replaced.
pub const MAX_COMPARISONS: usize = 1_000_000;

pub(super) fn compare(before: &str, after: &str) -> Vec<DiffLine> {
    let lines = all(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let shown = shown(&lines);
    let mut out: Vec<DiffLine> = Vec::new();
    let mut skipping = false;
    for (line, shown) in lines.into_iter().zip(shown) {
        if shown {
            out.push(line);
        } else if !skipping && !out.is_empty() {
            out.push(DiffLine { sign: DiffSign::Same, text: LEFT_OUT.to_string() });
        }
        skipping = !shown;
    }
    // Lines after the last change need no placeholder.
    if skipping {
        out.pop();
    }
    out
}

/// Returns every line of both texts.
fn all(before: &[&str], after: &[&str]) -> Vec<DiffLine> {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (tail, old, new) = (&old[old.len() - end..], &old[..old.len() - end], &new[..new.len() - end]);
    let mut lines = signed(DiffSign::Same, &before[..start]);
    if old.len().saturating_mul(new.len()) > MAX_COMPARISONS {
        lines.extend(signed(DiffSign::Removed, old));
        lines.extend(signed(DiffSign::Added, new));
    } else {
        lines.extend(longest(old, new));
    }
    lines.extend(signed(DiffSign::Same, tail));
    lines
}

fn signed(sign: DiffSign, texts: &[&str]) -> Vec<DiffLine> {
    texts.iter().map(|text| DiffLine { sign, text: (*text).to_string() }).collect()
}

/// Compares by the longest common subsequence; removed lines come before added ones.
fn longest(old: &[&str], new: &[&str]) -> Vec<DiffLine> {
    let width = new.len() + 1;
    // Number of common lines of both texts from each pair of positions on.
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
            (DiffSign::Same, old[i])
        } else if shared[(i + 1) * width + j] >= shared[i * width + j + 1] {
            (DiffSign::Removed, old[i])
        } else {
            (DiffSign::Added, new[j])
        };
        i += usize::from(sign != DiffSign::Added);
        j += usize::from(sign != DiffSign::Removed);
        lines.push(DiffLine { sign, text: text.to_string() });
    }
    lines.extend(signed(DiffSign::Removed, &old[i..]));
    lines.extend(signed(DiffSign::Added, &new[j..]));
    lines
}

/// Selects the lines to show: changes, their context and their parent keys.
fn shown(lines: &[DiffLine]) -> Vec<bool> {
    let mut shown = vec![false; lines.len()];
    // Parent keys of the current line, outermost first.
    let mut above: Vec<usize> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let depth = depth(&line.text);
        above.retain(|key| self::depth(&lines[*key].text) < depth);
        if line.sign != DiffSign::Same {
            let around = at.saturating_sub(CONTEXT_LINES)..(at + CONTEXT_LINES + 1).min(lines.len());
            around.chain(above.iter().copied()).for_each(|near| shown[near] = true);
        }
        above.push(at);
    }
    shown
}

/// Returns the nesting depth of a line. List items start at the column of their key, and their content lies deeper.
fn depth(text: &str) -> usize {
    let bare = text.trim_start_matches(' ');
    2 * (text.len() - bare.len()) + usize::from(bare.starts_with("- "))
}
