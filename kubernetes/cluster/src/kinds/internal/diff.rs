//! Unified differences of two texts, with the matching of Python's difflib and its Go port.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Number of lines from which lines that make up more than one percent of the text do not anchor a match.
const POPULAR_FROM: usize = 200;

/// Operation on lines `from.0..from.1` of the old text and `to.0..to.1` of the new one.
#[derive(Clone, Copy, PartialEq)]
struct DiffOpcode {
    equal: bool,
    from: (usize, usize),
    to: (usize, usize),
}

/// Returns the difference from `old` to `new`, empty if they are equal.
pub(super) fn unified(old: &str, new: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut out = String::new();
    for group in group_changes(&steps(&a, &b)) {
        let (first, last) = (group[0], group[group.len() - 1]);
        let from = range(first.from.0, last.from.1);
        let to = range(first.to.0, last.to.1);
        out.push_str(&format!("@@ -{from} +{to} @@\n"));
        for step in group {
            let (minus, plus) = if step.equal { (" ", "") } else { ("-", "+") };
            a[step.from.0..step.from.1].iter().for_each(|l| out.push_str(&format!("{minus}{l}\n")));
            if !step.equal {
                b[step.to.0..step.to.1].iter().for_each(|l| out.push_str(&format!("{plus}{l}\n")));
            }
        }
    }
    out
}

fn range(start: usize, stop: usize) -> String {
    match stop - start {
        1 => format!("{}", start + 1),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}

fn steps(a: &[&str], b: &[&str]) -> Vec<DiffOpcode> {
    let mut steps = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (x, y, size) in blocks(a, b) {
        if i < x || j < y {
            steps.push(DiffOpcode { equal: false, from: (i, x), to: (j, y) });
        }
        if size > 0 {
            steps.push(DiffOpcode { equal: true, from: (x, x + size), to: (y, y + size) });
        }
        (i, j) = (x + size, y + size);
    }
    steps
}

/// Returns the matching blocks in order, ended by an empty one.
fn blocks(a: &[&str], b: &[&str]) -> Vec<(usize, usize, usize)> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    b.iter().enumerate().for_each(|(j, line)| places.entry(line).or_default().push(j));
    if b.len() >= POPULAR_FROM {
        let most = b.len() / 100 + 1;
        places.retain(|_, at| at.len() <= most);
    }
    let mut found = Vec::new();
    let mut open = vec![(0, a.len(), 0, b.len())];
    while let Some((alo, ahi, blo, bhi)) = open.pop() {
        let (i, j, size) = longest(a, b, &places, (alo, ahi), (blo, bhi));
        if size > 0 {
            found.push((i, j, size));
            open.push((alo, i, blo, j));
            open.push((i + size, ahi, j + size, bhi));
        }
    }
    found.sort_unstable();
    let mut joined: Vec<(usize, usize, usize)> = Vec::new();
    for (i, j, size) in found {
        match joined.last_mut() {
            Some((x, y, length)) if *x + *length == i && *y + *length == j => *length += size,
            _ => joined.push((i, j, size)),
        }
    }
    joined.push((a.len(), b.len(), 0));
    joined
}

/// Returns the longest matching block within the bounds; the first one of several.
fn longest(
    a: &[&str],
    b: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    (alo, ahi): (usize, usize),
    (blo, bhi): (usize, usize),
) -> (usize, usize, usize) {
    let (mut i, mut j, mut size) = (alo, blo, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (x, line) in a.iter().enumerate().take(ahi).skip(alo) {
        let mut next = HashMap::new();
        for &y in places.get(line).into_iter().flatten().filter(|y| (blo..bhi).contains(*y)) {
            let length = y.checked_sub(1).and_then(|p| lengths.get(&p)).copied().unwrap_or(0) + 1;
            next.insert(y, length);
            if length > size {
                (i, j, size) = (x + 1 - length, y + 1 - length, length);
            }
        }
        lengths = next;
    }
    // Popular lines do not anchor a match, but they extend one.
    while i > alo && j > blo && a[i - 1] == b[j - 1] {
        (i, j, size) = (i - 1, j - 1, size + 1);
    }
    while i + size < ahi && j + size < bhi && a[i + size] == b[j + size] {
        size += 1;
    }
    (i, j, size)
}

/// Groups changes that are close to each other, with some unchanged lines around them.
fn group_changes(steps: &[DiffOpcode]) -> Vec<Vec<DiffOpcode>> {
    let mut steps = steps.to_vec();
    if let Some(first) = steps.first_mut().filter(|s| s.equal) {
        first.from.0 = first.from.0.max(first.from.1.saturating_sub(CONTEXT));
        first.to.0 = first.to.0.max(first.to.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|s| s.equal) {
        last.from.1 = last.from.1.min(last.from.0 + CONTEXT);
        last.to.1 = last.to.1.min(last.to.0 + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group = Vec::new();
    for mut step in steps {
        if step.equal && step.from.1 - step.from.0 > 2 * CONTEXT {
            let end = (step.from.1.min(step.from.0 + CONTEXT), step.to.1.min(step.to.0 + CONTEXT));
            group.push(DiffOpcode { equal: true, from: (step.from.0, end.0), to: (step.to.0, end.1) });
            groups.push(std::mem::take(&mut group));
            step.from.0 = step.from.0.max(step.from.1 - CONTEXT);
            step.to.0 = step.to.0.max(step.to.1 - CONTEXT);
        }
        group.push(step);
    }
    if !(group.is_empty() || (group.len() == 1 && group[0].equal)) {
        groups.push(group);
    }
    groups.retain(|g| g.iter().any(|s| !s.equal));
    groups
}
