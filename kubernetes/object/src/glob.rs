//! Glob patterns: `*`, `?`, `**`, `[a-z]`, `{a,b}` and `\`. [`GlobOptions`] selects the dialect.
//!
//! A pattern is compiled to a program whose alternatives run at the same time. Matching takes at most the length of
//! the pattern times the length of the text, for any pattern.

mod class;

use class::GlobClass;

/// Maximum length of a pattern in bytes.
pub const MAX_PATTERN_BYTES: usize = 16 << 10;

/// Dialect of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobOptions {
    /// Character that `*` and `?` do not match.
    pub separator: Option<char>,
    /// Whether `**` matches separators.
    pub double_star: bool,
    /// Whether `{a,b}` matches either text. Braces nest.
    pub braces: bool,
    /// Syntax of `[a-z]`.
    pub classes: GlobClasses,
    /// Whether the text between two stars is matched at its first occurrence only, as in Go. The result differs only for
    /// classes that match the separator.
    pub first_occurrence: bool,
}

/// Syntax of character classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobClasses {
    /// None: `[` is a character like any other.
    Literal,
    /// Go's `filepath.Match`: `^` negates; any number of characters and ranges.
    Go,
    /// The Go library gobwas/glob: `!` negates; either one range or a list of characters.
    Gobwas,
    /// One range or a list of characters without escapes, which `!` or `^` negates. An unclosed class matches nothing.
    Lenient,
}

impl GlobOptions {
    /// Names with `*`, `?` and `\` only.
    pub const PLAIN: Self = Self {
        separator: None,
        double_star: false,
        braces: false,
        classes: GlobClasses::Literal,
        first_occurrence: false,
    };

    /// Go's `filepath.Match`.
    pub const GO_PATH: Self =
        Self { separator: Some('/'), classes: GlobClasses::Go, first_occurrence: true, ..Self::PLAIN };

    /// The Go library gobwas/glob with `/` as separator, as in Helm.
    pub const GOBWAS_PATH: Self =
        Self { separator: Some('/'), double_star: true, braces: true, classes: GlobClasses::Gobwas, ..Self::PLAIN };
}

/// Error for a malformed pattern, in the words of Go's `filepath.ErrBadPattern`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// Compiled pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    steps: Vec<GlobStep>,
    options: GlobOptions,
}

#[derive(Clone, Debug)]
enum GlobStep {
    /// A character.
    Literal(char),
    /// Any character except the separator.
    One,
    /// A character of the class, or none of it.
    Class(GlobClass),
    /// Any text; without separators unless `across`.
    Star { across: bool },
    /// First steps of the alternatives of a brace.
    Fork(Vec<usize>),
    /// End of an alternative: the step behind the brace.
    Jump(usize),
}

/// Brace under construction: its fork and the ends of its alternatives.
struct OpenBrace {
    fork: usize,
    ends: Vec<usize>,
}

impl Glob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// If the pattern is malformed or longer than [`MAX_PATTERN_BYTES`].
    pub fn new(pattern: &str, options: GlobOptions) -> Result<Self, BadPattern> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(BadPattern);
        }
        let mut steps = Vec::with_capacity(pattern.len());
        let mut open: Vec<OpenBrace> = Vec::new();
        let mut chars = pattern.chars().peekable();
        while let Some(next) = chars.next() {
            match next {
                '*' => {
                    let double = options.double_star && chars.next_if_eq(&'*').is_some();
                    steps.push(GlobStep::Star { across: double || options.separator.is_none() });
                }
                '?' => steps.push(GlobStep::One),
                '\\' => steps.push(GlobStep::Literal(match chars.next() {
                    Some(escaped) => escaped,
                    // Not an error in gobwas. Names have no NUL, so nothing matches.
                    None if options.classes == GlobClasses::Gobwas => '\0',
                    None => return Err(BadPattern),
                })),
                '[' if options.classes != GlobClasses::Literal => {
                    steps.push(GlobStep::Class(GlobClass::read(&mut chars, options.classes)?));
                }
                '{' if options.braces => {
                    open.push(OpenBrace { fork: steps.len(), ends: Vec::new() });
                    steps.push(GlobStep::Fork(vec![steps.len() + 1]));
                }
                ',' | '}' if !open.is_empty() => {
                    let brace = open.last_mut().expect("a brace is open");
                    brace.ends.push(steps.len());
                    steps.push(GlobStep::Jump(0));
                    let behind = steps.len();
                    match &mut steps[brace.fork] {
                        GlobStep::Fork(starts) if next == ',' => starts.push(behind),
                        _ => open.pop().into_iter().flat_map(|brace| brace.ends).for_each(|end| {
                            steps[end] = GlobStep::Jump(behind);
                        }),
                    }
                }
                other => steps.push(GlobStep::Literal(other)),
            }
        }
        if open.is_empty() { Ok(Self { steps, options }) } else { Err(BadPattern) }
    }

    /// Whether the pattern matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        let mut now = ActiveSteps::new(self.steps.len() + 1);
        let mut next = now.clone();
        now.add(&self.steps, 0);
        for letter in text.chars() {
            if now.list.is_empty() {
                return false;
            }
            let ends = Some(letter) == self.options.separator;
            let last_star = self.last_star(&now);
            for at in now.list.iter().copied().filter(|at| last_star.is_none_or(|star| *at >= star)) {
                match &self.steps.get(at) {
                    Some(GlobStep::Star { across }) if *across || !ends => next.add(&self.steps, at),
                    Some(GlobStep::Literal(wanted)) if *wanted == letter => next.add(&self.steps, at + 1),
                    Some(GlobStep::One) if !ends => next.add(&self.steps, at + 1),
                    Some(GlobStep::Class(class)) if class.contains(letter) => next.add(&self.steps, at + 1),
                    _ => {}
                }
            }
            std::mem::swap(&mut now, &mut next);
            next.clear();
        }
        now.has(self.steps.len())
    }

    /// Returns the last star that was reached, before which nothing is tried again.
    fn last_star(&self, now: &ActiveSteps) -> Option<usize> {
        let is_star = |at: &usize| matches!(self.steps.get(*at), Some(GlobStep::Star { .. }));
        now.list.iter().copied().filter(is_star).max().filter(|_| self.options.first_occurrence)
    }
}

/// Steps that may come next, each at most once.
#[derive(Clone)]
struct ActiveSteps {
    list: Vec<usize>,
    seen: Vec<bool>,
    waiting: Vec<usize>,
}

impl ActiveSteps {
    fn new(length: usize) -> Self {
        Self { list: Vec::new(), seen: vec![false; length], waiting: Vec::new() }
    }

    /// Adds a step and those reached from it without a character.
    fn add(&mut self, steps: &[GlobStep], first: usize) {
        self.waiting.push(first);
        while let Some(at) = self.waiting.pop() {
            if std::mem::replace(&mut self.seen[at], true) {
                continue;
            }
            self.list.push(at);
            match steps.get(at) {
                Some(GlobStep::Star { .. }) => self.waiting.push(at + 1),
                Some(GlobStep::Fork(starts)) => self.waiting.extend(starts),
                Some(GlobStep::Jump(behind)) => self.waiting.push(*behind),
                _ => {}
            }
        }
    }

    fn has(&self, at: usize) -> bool {
        self.seen[at]
    }

    fn clear(&mut self) {
        self.list.drain(..).for_each(|at| self.seen[at] = false);
    }
}

/// Whether a pattern matches the whole text. A malformed pattern matches nothing.
pub fn matches(pattern: &str, text: &str, options: GlobOptions) -> bool {
    Glob::new(pattern, options).is_ok_and(|glob| glob.matches(text))
}

#[cfg(test)]
mod tests;
