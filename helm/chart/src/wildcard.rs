//! File name patterns as Go's `filepath.Match` reads them: `*`, `?`, `[a-z]`, none of which match a `/`.

/// A pattern that no name can be held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// Whether the whole name matches.
///
/// # Errors
/// When the pattern is malformed; as in Go only as far as it had to be read.
pub fn matches(pattern: &str, name: &str) -> Result<bool, BadPattern> {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    whole(&pattern, &name)
}

fn whole(mut pattern: &[char], mut name: &[char]) -> Result<bool, BadPattern> {
    'pattern: while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains(&'/'));
        }
        if let Some(left) = match_chunk(chunk, name)?
            && (left.is_empty() || !pattern.is_empty())
        {
            name = left;
            continue;
        }
        if star {
            for skipped in 0..name.len() {
                if name[skipped] == '/' {
                    break;
                }
                if let Some(left) = match_chunk(chunk, &name[skipped + 1..])? {
                    if pattern.is_empty() && !left.is_empty() {
                        continue;
                    }
                    name = left;
                    continue 'pattern;
                }
            }
        }
        // The rest is only read for its faults.
        while !pattern.is_empty() {
            let (_, chunk, rest) = next_chunk(pattern);
            pattern = rest;
            match_chunk(chunk, &[])?;
        }
        return Ok(false);
    }
    Ok(name.is_empty())
}

/// Whether stars stand in front, the part up to the next star, and the rest.
fn next_chunk(pattern: &[char]) -> (bool, &[char], &[char]) {
    let stars = pattern.iter().take_while(|c| **c == '*').count();
    let pattern = &pattern[stars..];
    let (mut in_range, mut at) = (false, 0);
    while at < pattern.len() {
        match pattern[at] {
            '\\' if at + 1 < pattern.len() => at += 1,
            '[' => in_range = true,
            ']' => in_range = false,
            '*' if !in_range => break,
            _ => {}
        }
        at += 1;
    }
    (stars > 0, &pattern[..at], &pattern[at..])
}

/// What is left of the name behind the chunk, if it matches; a chunk is read to its end to find faults.
fn match_chunk<'a>(mut chunk: &[char], mut name: &'a [char]) -> Result<Option<&'a [char]>, BadPattern> {
    let mut failed = false;
    while let Some(first) = chunk.first() {
        failed = failed || name.is_empty();
        match first {
            '[' => {
                let wanted = (!failed).then(|| name[0]);
                if !failed {
                    name = &name[1..];
                }
                let (hit, rest) = match_range(&chunk[1..], wanted)?;
                chunk = rest;
                failed = failed || !hit;
            }
            '?' => {
                if !failed {
                    failed = name[0] == '/';
                    name = &name[1..];
                }
                chunk = &chunk[1..];
            }
            _ => {
                if *first == '\\' {
                    chunk = &chunk[1..];
                }
                let wanted = chunk.first().ok_or(BadPattern)?;
                if !failed {
                    failed = *wanted != name[0];
                    name = &name[1..];
                }
                chunk = &chunk[1..];
            }
        }
    }
    Ok((!failed).then_some(name))
}

fn match_range(mut chunk: &[char], wanted: Option<char>) -> Result<(bool, &[char]), BadPattern> {
    let negated = chunk.first() == Some(&'^');
    if negated {
        chunk = &chunk[1..];
    }
    let (mut hit, mut ranges) = (false, 0);
    loop {
        if chunk.first() == Some(&']') && ranges > 0 {
            chunk = &chunk[1..];
            break;
        }
        let (low, rest) = range_end(chunk)?;
        let (high, rest) = match rest.first() {
            Some('-') => range_end(&rest[1..])?,
            _ => (low, rest),
        };
        chunk = rest;
        hit = hit || wanted.is_some_and(|c| low <= c && c <= high);
        ranges += 1;
    }
    Ok((hit != negated, chunk))
}

fn range_end(chunk: &[char]) -> Result<(char, &[char]), BadPattern> {
    let escaped = match chunk.first() {
        None | Some('-' | ']') => return Err(BadPattern),
        Some('\\') => &chunk[1..],
        Some(_) => chunk,
    };
    let (first, rest) = escaped.split_first().ok_or(BadPattern)?;
    if rest.is_empty() { Err(BadPattern) } else { Ok((*first, rest)) }
}

#[cfg(test)]
mod tests;
