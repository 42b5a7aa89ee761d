//! File name patterns like Go's `filepath.Match`: `*`, `?`, `[a-z]`, none of which match a `/`.

/// Error for a malformed pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// Whether the whole name matches.
///
/// # Errors
/// If the pattern is malformed. As in Go, only the part that had to be read is checked.
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
        // The rest is only checked for errors.
        while !pattern.is_empty() {
            let (_, chunk, rest) = next_chunk(pattern);
            pattern = rest;
            match_chunk(chunk, &[])?;
        }
        return Ok(false);
    }
    Ok(name.is_empty())
}

/// Returns whether the pattern starts with stars, the part up to the next star, and the rest.
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

/// Returns the rest of the name after the chunk if it matches. Reads the whole chunk to find errors.
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
