//! Go's `regexp`: its syntax and error texts, its way of finding all matches, its `$1` templates.
//!
//! The expression is parsed by Go's rules and written anew in the words of the `regex` crate, which matches by the same
//! rule (leftmost-first) in the same linear time.

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
use translate::Translated;

/// How many compiled expressions a thread keeps: twice as many as an execution has paid for at a time, so that it does not
/// compile for nothing what it alternates between.
const MAX_CACHED: usize = 256;
/// Largest compiled expression that is kept. Those of charts take a few hundredths of it.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// Largest compiled expression; Go's limit is of this order.
pub const MAX_COMPILED_BYTES: usize = 128 << 20;
/// What an expression is taken to need at least.
const LEAST_COMPILED_BYTES: usize = 16 << 10;

/// What it costs to compile an expression that is kept, and one that is too large for that, each time.
const COMPILE_STEPS: u64 = 20_000;
const COMPILE_LARGE_STEPS: u64 = 10_000_000;
/// Bytes of text, times the size of the expression, that are gone through in a step.
const STEP_BYTES: u64 = 256;
/// The same for what a search may look at in vain, behind where it finds something.
const STEP_BYTES_AHEAD: u64 = 4_096;

/// Steps that searches over and over in one text may take.
#[derive(Debug)]
pub struct Fuel {
    left: u64,
    /// How many were taken, the one it ended with included.
    pub burnt: u64,
}

impl Fuel {
    /// So many steps.
    pub fn new(left: u64) -> Fuel {
        Fuel { left, burnt: 0 }
    }

    fn burn(&mut self, steps: u64) -> bool {
        self.burnt = self.burnt.saturating_add(steps);
        self.burnt <= self.left
    }
}

/// A compiled expression.
#[derive(Debug)]
pub struct Regexp {
    regex: Regex,
    /// Names of the groups; none for those without.
    names: Vec<Option<String>>,
    splits_runes: bool,
    /// About how many states it has.
    size: u64,
}

thread_local! {
    static CACHE: RefCell<HashMap<Vec<u8>, Rc<Regexp>>> = RefCell::default();
}

/// Why there is no expression.
pub(super) enum Refused {
    /// The text of Go's error.
    Wrong(String),
    /// It costs more than there is.
    Costly(Error),
}

/// Go's `regexp.Compile`. Kept, since templates use the same few over and over. What it costs does not depend on what is
/// kept: the same template always ends the same way.
pub(super) fn compile(execution: &mut Execution<'_>, pattern: &[u8]) -> Result<Rc<Regexp>, Refused> {
    if execution.ledger().is_new_pattern(pattern) {
        execution.charge(COMPILE_STEPS).map_err(Refused::Costly)?;
    }
    if let Some(known) = CACHE.with_borrow(|cache| cache.get(pattern).cloned()) {
        return Ok(known);
    }
    let translated = translate::translate(pattern).map_err(Refused::Wrong)?;
    let Some(regex) = built(&translated, MAX_KEPT_BYTES) else {
        execution.charge(COMPILE_LARGE_STEPS).map_err(Refused::Costly)?;
        return Regexp::of(pattern, translated).map(Rc::new).map_err(Refused::Wrong);
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

fn built(translated: &Translated, bytes: usize) -> Option<Regex> {
    let mut builder = RegexBuilder::new(&translated.text);
    builder.size_limit(bytes).nest_limit(translate::MAX_NESTING * 8).build().ok()
}

fn too_large(pattern: &[u8]) -> String {
    format!("error parsing regexp: expression too large: `{}`", String::from_utf8_lossy(pattern))
}

/// Go's `regexp.QuoteMeta`.
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
    /// Go's `regexp.Compile`.
    ///
    /// # Errors
    /// The text of Go's error.
    pub fn new(pattern: &[u8]) -> Result<Regexp, String> {
        Regexp::of(pattern, translate::translate(pattern)?)
    }

    /// The same for one of many that are kept together: `left` is what all of them may still take, and becomes less by at
    /// least as much as this one takes.
    ///
    /// # Errors
    /// The text of Go's error; it is too large as well if there is too little left.
    pub fn within(pattern: &[u8], left: &mut usize) -> Result<Regexp, String> {
        let translated = translate::translate(pattern)?;
        // How large one is, is only known by trying: four times as much each time is never more than four times too much.
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

    fn of(pattern: &[u8], translated: Translated) -> Result<Regexp, String> {
        match built(&translated, MAX_COMPILED_BYTES) {
            Some(regex) => Ok(Regexp::with(regex, translated)),
            None => Err(too_large(pattern)),
        }
    }

    fn with(regex: Regex, translated: Translated) -> Regexp {
        let size = (translated.text.len() as u64).saturating_mul(translated.repeats);
        Regexp { regex, names: translated.names, splits_runes: translated.splits_runes, size }
    }

    /// The steps it takes to go through so much text once.
    pub(super) fn steps(&self, bytes: usize) -> u64 {
        self.size.saturating_mul(bytes as u64) / STEP_BYTES
    }

    /// The steps of a search that may look at so much text behind what it finds.
    fn steps_ahead(&self, bytes: usize) -> u64 {
        1 + self.size.saturating_mul(bytes as u64) / STEP_BYTES_AHEAD
    }

    /// Whether it matches anywhere.
    pub fn is_match(&self, text: &[u8]) -> bool {
        if self.splits_runes { self.find(text).is_some() } else { self.regex.is_match(text) }
    }

    /// The leftmost match.
    pub fn find<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        self.captures_from(text, 0).and_then(|found| found.get(0)).map(|found| found.as_bytes())
    }

    /// The leftmost match from a place on; none inside a rune, since Go walks over texts rune by rune.
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

    /// At most `limit` matches, all if it is negative: start and end. An empty one right behind another does not count.
    /// It ends early where the fuel does.
    fn all(&self, text: &[u8], limit: i64, fuel: &mut Fuel) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let (mut at, mut last_end) = (0, None);
        while at <= text.len() && (limit < 0 || (found.len() as i64) < limit) {
            let next = if self.splits_runes {
                self.captures_from(text, at).and_then(|found| found.get(0))
            } else {
                self.regex.find_at(text, at)
            };
            let Some((start, end)) = next.map(|next| (next.start(), next.end())) else { break };
            if !fuel.burn(self.steps_ahead(text.len() - at)) {
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

    /// Go's `FindAllString`; none where Go's answer is nil.
    pub fn find_all<'t>(&self, text: &'t [u8], limit: i64, fuel: &mut Fuel) -> Option<Vec<&'t [u8]>> {
        let found: Vec<_> = self.all(text, limit, fuel).into_iter().map(|(start, end)| &text[start..end]).collect();
        Some(found).filter(|found| !found.is_empty())
    }

    /// Go's `Split`; none where Go's answer is nil.
    pub fn split<'t>(
        &self,
        text: &'t [u8],
        limit: i64,
        pattern_is_empty: bool,
        fuel: &mut Fuel,
    ) -> Option<Vec<&'t [u8]>> {
        if limit == 0 {
            return None;
        }
        if !pattern_is_empty && text.is_empty() {
            return Some(vec![text]);
        }
        let mut parts = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for (start, stop) in self.all(text, limit, fuel) {
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

    /// Go's `ReplaceAllString`.
    pub fn replace_all(&self, text: &[u8], template: &[u8], limit: usize, fuel: &mut Fuel) -> Option<Vec<u8>> {
        self.replace(text, limit, fuel, |out, captures| self.expand(out, template, captures))
    }

    /// Go's `ReplaceAllLiteralString`.
    pub fn replace_all_literal(
        &self,
        text: &[u8],
        replacement: &[u8],
        limit: usize,
        fuel: &mut Fuel,
    ) -> Option<Vec<u8>> {
        self.replace(text, limit, fuel, |out, _| out.extend_from_slice(replacement))
    }

    fn replace(
        &self,
        text: &[u8],
        limit: usize,
        fuel: &mut Fuel,
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
            if out.len() > limit || !fuel.burn(self.steps_ahead(text.len() - at)) {
                return None;
            }
            last_end = found.end();
            at = if at + step(&text[at..]) > found.end() { at + step(&text[at..]) } else { found.end() };
        }
        out.extend_from_slice(text.get(last_end..).unwrap_or_default());
        Some(out)
    }

    /// Go's `Expand`: `$1`, `$name`, `${1}`, `$$`.
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

    /// A number counts as one only without a leading zero; a name may belong to several groups, the first that took part wins.
    fn group<'t>(&self, name: &str, captures: &Captures<'t>) -> Option<&'t [u8]> {
        if name.bytes().all(|b| b.is_ascii_digit()) && (name.len() == 1 || !name.starts_with('0')) {
            let number = name.parse::<usize>().ok().filter(|n| *n < 100_000_000)?;
            return captures.get(number).map(|m| m.as_bytes());
        }
        let mut named = self.names.iter().enumerate().filter(|(_, n)| n.as_deref() == Some(name));
        named.find_map(|(index, _)| captures.get(index + 1)).map(|m| m.as_bytes())
    }
}

/// The end of the rune that a place is inside of; nothing if it is between two.
fn after_rune(text: &[u8], at: usize) -> Option<usize> {
    let starts = (at.saturating_sub(3)..at).rev();
    starts.map(|start| start + step(&text[start..])).find(|end| *end > at && *end <= text.len())
}

/// Length of the rune here; one past the end.
fn step(text: &[u8]) -> usize {
    runes::first(text).map_or(1, |(_, length)| length)
}

/// The name behind a `$`, in braces or not, and what follows.
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
