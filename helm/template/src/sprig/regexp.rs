//! Go's `regexp`: its syntax, error texts, iteration over matches, and `$1` templates.
//!
//! An expression is parsed by Go's rules and translated to the syntax of the `regex` crate, which also matches
//! leftmost-first in linear time.

mod class;
mod token;
mod translate;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::runes;
use crate::error::Error;
use crate::exec::Execution;
use translate::TranslatedRegexp;

/// Number of compiled expressions that a thread caches. This is twice as many as an execution can have charged at a
/// time, so that alternating expressions are not recompiled for free.
const MAX_CACHED: usize = 256;
/// Maximum size of a cached compiled expression. Those of charts take a few hundredths of it.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// Maximum size of a compiled expression. Go's limit is of the same order.
pub const MAX_COMPILED_BYTES: usize = 128 << 20;
/// Assumed minimum size of a compiled expression.
const LEAST_COMPILED_BYTES: usize = 16 << 10;

/// Steps charged for compiling an expression: cached ones, and ones that are too large for the cache, each time.
const COMPILE_STEPS: u64 = 20_000;
const COMPILE_LARGE_STEPS: u64 = 10_000_000;
/// Bytes of text, multiplied by the size of the expression, that one step pays for.
const STEP_BYTES: u64 = 256;
/// Bytes per step for text that a search may read in vain behind its match.
const STEP_BYTES_AHEAD: u64 = 4_096;

/// Steps that repeated searches in one text may use.
#[derive(Debug)]
pub struct SearchBudget {
    left: u64,
    /// Steps used so far, including those of the search that exceeded the budget.
    pub spent: u64,
}

impl SearchBudget {
    /// Creates a budget of `left` steps.
    pub fn new(left: u64) -> SearchBudget {
        SearchBudget { left, spent: 0 }
    }

    fn spend(&mut self, steps: u64) -> bool {
        self.spent = self.spent.saturating_add(steps);
        self.spent <= self.left
    }
}

/// A compiled regular expression.
#[derive(Debug)]
pub struct Regexp {
    regex: Regex,
    /// Names of the groups, or `None` for unnamed ones.
    names: Vec<Option<String>>,
    splits_runes: bool,
    /// Approximate number of states.
    size: u64,
}

thread_local! {
    static CACHE: RefCell<HashMap<Vec<u8>, Rc<Regexp>>> = RefCell::default();
}

/// Error of compiling an expression within a budget.
pub(super) enum RegexpError {
    /// Text of Go's syntax error.
    Syntax(String),
    /// The remaining budget does not suffice.
    OverBudget(Error),
}

/// Compiles like Go's `regexp.Compile`. Compiled expressions are cached, because templates use the same few repeatedly.
/// The charge does not depend on the cache, so the same template always ends the same way.
pub(super) fn compile(execution: &mut Execution<'_>, pattern: &[u8]) -> Result<Rc<Regexp>, RegexpError> {
    if execution.budget().is_new_pattern(pattern) {
        execution.charge(COMPILE_STEPS).map_err(RegexpError::OverBudget)?;
    }
    if let Some(known) = CACHE.with_borrow(|cache| cache.get(pattern).cloned()) {
        return Ok(known);
    }
    let translated = translate::translate(pattern).map_err(RegexpError::Syntax)?;
    let Some(regex) = built(&translated, MAX_KEPT_BYTES) else {
        execution.charge(COMPILE_LARGE_STEPS).map_err(RegexpError::OverBudget)?;
        return Regexp::of(pattern, translated).map(Rc::new).map_err(RegexpError::Syntax);
    };
    let made = Rc::new(Regexp::with(regex, translated));
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(pattern.to_vec(), Rc::clone(&made));
    });
    Ok(made)
}

fn built(translated: &TranslatedRegexp, bytes: usize) -> Option<Regex> {
    let mut builder = RegexBuilder::new(&translated.text);
    builder.size_limit(bytes).nest_limit(translate::MAX_NESTING * 8).build().ok()
}

fn too_large(pattern: &[u8]) -> String {
    format!("error parsing regexp: expression too large: `{}`", String::from_utf8_lossy(pattern))
}

/// Quotes like Go's `regexp.QuoteMeta`.
pub fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    for byte in text {
        if b"\\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

impl Regexp {
    /// Compiles like Go's `regexp.Compile`.
    ///
    /// # Errors
    /// Text of Go's error.
    pub fn new(pattern: &[u8]) -> Result<Regexp, String> {
        Regexp::of(pattern, translate::translate(pattern)?)
    }

    /// Compiles one of many expressions that stay in memory together. `left` is the memory that all of them may still
    /// use; this function reduces it by at least the size of this expression.
    ///
    /// # Errors
    /// Text of Go's error, including the one for a too large expression if `left` does not suffice.
    pub fn compile_within(pattern: &[u8], left: &mut usize) -> Result<Regexp, String> {
        let translated = translate::translate(pattern)?;
        // The size is only known after compiling. Quadrupling the limit in each attempt overestimates it at most
        // fourfold.
        let mut bytes = LEAST_COMPILED_BYTES;
        loop {
            let most = bytes.min(*left);
            if let Some(regex) = built(&translated, most) {
                *left -= most;
                return Ok(Regexp::with(regex, translated));
            }
            if most < bytes {
                return Err(too_large(pattern));
            }
            bytes = bytes.saturating_mul(4);
        }
    }

    fn of(pattern: &[u8], translated: TranslatedRegexp) -> Result<Regexp, String> {
        match built(&translated, MAX_COMPILED_BYTES) {
            Some(regex) => Ok(Regexp::with(regex, translated)),
            None => Err(too_large(pattern)),
        }
    }

    fn with(regex: Regex, translated: TranslatedRegexp) -> Regexp {
        let size = (translated.text.len() as u64).saturating_mul(translated.repeats);
        Regexp { regex, names: translated.names, splits_runes: translated.splits_runes, size }
    }

    /// Returns the steps for searching `bytes` of text once.
    pub(super) fn steps(&self, bytes: usize) -> u64 {
        self.size.saturating_mul(bytes as u64) / STEP_BYTES
    }

    /// Returns the steps of a search that may read `bytes` of text behind its match.
    fn steps_ahead(&self, bytes: usize) -> u64 {
        1 + self.size.saturating_mul(bytes as u64) / STEP_BYTES_AHEAD
    }

    /// Whether the expression matches anywhere.
    pub fn is_match(&self, text: &[u8]) -> bool {
        if self.splits_runes { self.find(text).is_some() } else { self.regex.is_match(text) }
    }

    /// Returns the leftmost match.
    pub fn find<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        self.captures_from(text, 0).and_then(|found| found.get(0)).map(|found| found.as_bytes())
    }

    /// Returns the leftmost match from a position on. A match never starts inside a rune, because Go searches rune by
    /// rune.
    fn captures_from<'t>(&self, text: &'t [u8], mut at: usize) -> Option<Captures<'t>> {
        loop {
            let captures = self.regex.captures_at(text, at)?;
            let start = captures.get(0)?.start();
            match after_rune(text, start).filter(|_| self.splits_runes) {
                Some(after) => at = after,
                None => return Some(captures),
            }
        }
    }

    /// Returns start and end of at most `limit` matches, or of all if it is negative. An empty match right after
    /// another match does not count. Stops early if the budget is exceeded.
    fn all(&self, text: &[u8], limit: i64, budget: &mut SearchBudget) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let (mut at, mut last_end) = (0, None);
        while at <= text.len() && (limit < 0 || (found.len() as i64) < limit) {
            let next = if self.splits_runes {
                self.captures_from(text, at).and_then(|found| found.get(0))
            } else {
                self.regex.find_at(text, at)
            };
            let Some((start, end)) = next.map(|next| (next.start(), next.end())) else { break };
            if !budget.spend(self.steps_ahead(text.len() - at)) {
                break;
            }
            let accepted = start != end || Some(end) != last_end;
            at = if end > at { end } else { at + step(&text[at..]) };
            if accepted {
                found.push((start, end));
            }
            last_end = Some(end);
        }
        found
    }

    /// Implements Go's `FindAllString`. Returns `None` for Go's nil.
    pub fn find_all<'t>(&self, text: &'t [u8], limit: i64, budget: &mut SearchBudget) -> Option<Vec<&'t [u8]>> {
        let found: Vec<_> = self.all(text, limit, budget).into_iter().map(|(start, end)| &text[start..end]).collect();
        Some(found).filter(|found| !found.is_empty())
    }

    /// Implements Go's `Split`. Returns `None` for Go's nil.
    pub fn split<'t>(
        &self,
        text: &'t [u8],
        limit: i64,
        pattern_is_empty: bool,
        budget: &mut SearchBudget,
    ) -> Option<Vec<&'t [u8]>> {
        if limit == 0 {
            return None;
        }
        if !pattern_is_empty && text.is_empty() {
            return Some(vec![text]);
        }
        let mut parts = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for (start, stop) in self.all(text, limit, budget) {
            if limit > 0 && parts.len() as i64 == limit - 1 {
                break;
            }
            end = start;
            if stop != 0 {
                parts.push(&text[begin..end]);
            }
            begin = stop;
        }
        if end != text.len() {
            parts.push(&text[begin..]);
        }
        Some(parts)
    }

    /// Implements Go's `ReplaceAllString`.
    pub fn replace_all(
        &self,
        text: &[u8],
        template: &[u8],
        limit: usize,
        budget: &mut SearchBudget,
    ) -> Option<Vec<u8>> {
        self.replace(text, limit, budget, |out, captures| self.expand(out, template, captures))
    }

    /// Implements Go's `ReplaceAllLiteralString`.
    pub fn replace_all_literal(
        &self,
        text: &[u8],
        replacement: &[u8],
        limit: usize,
        budget: &mut SearchBudget,
    ) -> Option<Vec<u8>> {
        self.replace(text, limit, budget, |out, _| out.extend_from_slice(replacement))
    }

    fn replace(
        &self,
        text: &[u8],
        limit: usize,
        budget: &mut SearchBudget,
        mut write: impl FnMut(&mut Vec<u8>, &Captures<'_>),
    ) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let (mut at, mut last_end) = (0, 0);
        while at <= text.len() {
            let Some(captures) = self.captures_from(text, at) else { break };
            let Some(found) = captures.get(0) else { break };
            out.extend_from_slice(&text[last_end..found.start()]);
            if found.end() > last_end || found.start() == 0 {
                write(&mut out, &captures);
            }
            if out.len() > limit || !budget.spend(self.steps_ahead(text.len() - at)) {
                return None;
            }
            last_end = found.end();
            at = if at + step(&text[at..]) > found.end() { at + step(&text[at..]) } else { found.end() };
        }
        out.extend_from_slice(text.get(last_end..).unwrap_or_default());
        Some(out)
    }

    /// Implements Go's `Expand`: `$1`, `$name`, `${1}`, `$$`.
    fn expand(&self, out: &mut Vec<u8>, template: &[u8], captures: &Captures<'_>) {
        let mut rest = template;
        while let Some(dollar) = rest.iter().position(|b| *b == b'$') {
            out.extend_from_slice(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            if let Some(tail) = rest.strip_prefix(b"$") {
                out.push(b'$');
                rest = tail;
                continue;
            }
            let Some((name, tail)) = reference(rest) else {
                out.push(b'$');
                continue;
            };
            rest = tail;
            if let Some(group) = self.group(name, captures) {
                out.extend_from_slice(group);
            }
        }
        out.extend_from_slice(rest);
    }

    /// Returns a group by number or name. A number with a leading zero is a name. If several groups have the name, the
    /// first one that matched wins.
    fn group<'t>(&self, name: &str, captures: &Captures<'t>) -> Option<&'t [u8]> {
        if name.bytes().all(|b| b.is_ascii_digit()) && (name.len() == 1 || !name.starts_with('0')) {
            let number = name.parse::<usize>().ok().filter(|n| *n < 100_000_000)?;
            return captures.get(number).map(|m| m.as_bytes());
        }
        let mut named = self.names.iter().enumerate().filter(|(_, n)| n.as_deref() == Some(name));
        named.find_map(|(index, _)| captures.get(index + 1)).map(|m| m.as_bytes())
    }
}

/// Returns the end of the rune that contains the position, or `None` at a rune boundary.
fn after_rune(text: &[u8], at: usize) -> Option<usize> {
    let starts = (at.saturating_sub(3)..at).rev();
    starts.map(|start| start + step(&text[start..])).find(|end| *end > at && *end <= text.len())
}

/// Returns the length of the first rune, or 1 at the end.
fn step(text: &[u8]) -> usize {
    runes::first(text).map_or(1, |(_, length)| length)
}

/// Returns the name after a `$`, with or without braces, and the rest.
fn reference(rest: &[u8]) -> Option<(&str, &[u8])> {
    let (braced, body) = match rest.strip_prefix(b"{") {
        Some(body) => (true, body),
        None => (false, rest),
    };
    let mut end = 0;
    for (at, rune, length) in runes::indexed(body) {
        if !(rune == '_' || runes::is_letter(rune) || runes::is_digit(rune)) {
            break;
        }
        end = at + length;
    }
    let name = std::str::from_utf8(&body[..end]).ok().filter(|name| !name.is_empty())?;
    let tail = if braced { body[end..].strip_prefix(b"}")? } else { &body[end..] };
    Some((name, tail))
}

#[cfg(test)]
mod tests;
