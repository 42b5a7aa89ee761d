//! Translation of Go's syntax to that of the `regex` crate.
//!
//! Every piece is written with its flags spelled out, so the output does not depend on flags set earlier.

use super::class;
use super::token::{check_utf8, class_char, counts, error, escape, next_rune, unicode_class};

/// Maximum nesting of groups.
pub(super) const MAX_NESTING: u32 = 1000;
/// Maximum number of repetitions, with nested ones multiplied.
const MAX_REPEAT: i64 = 1000;

/// An expression in the syntax of the `regex` crate, and the names of its groups.
pub(super) struct TranslatedRegexp {
    pub text: String,
    pub names: Vec<Option<String>>,
    /// Whether an empty match can be found inside a rune, where Go does not search.
    pub splits_runes: bool,
    /// Number of copies of the most repeated piece.
    pub repeats: u64,
}

pub(super) fn translate(pattern: &[u8]) -> Result<TranslatedRegexp, String> {
    let parser = RegexpParser {
        whole: pattern,
        rest: pattern,
        flags: RegexpFlags::default(),
        out: String::with_capacity(pattern.len() * 2),
        names: Vec::new(),
        splits_runes: false,
        groups: vec![OpenGroup::default()],
    };
    parser.parse()
}

#[derive(Clone, Copy, Default)]
struct RegexpFlags {
    fold: bool,
    dot_newline: bool,
    multi_line: bool,
    lazy: bool,
}

/// An open group and its last operand.
#[derive(Default)]
struct OpenGroup {
    /// Flags to restore after the group.
    flags: RegexpFlags,
    /// Start of the last operand in the output; `None` at the start and after a `|`.
    operand: Option<usize>,
    /// Whether the operand is already a repetition.
    repeated: bool,
    /// Product of the nested counts in the operand, and the largest one in the group.
    weight: i64,
    heaviest: i64,
}

/// Minimum, maximum (or -1), and the rest of the text.
type RepeatCounts<'p> = (i64, i64, &'p [u8]);

struct RegexpParser<'p> {
    whole: &'p [u8],
    rest: &'p [u8],
    flags: RegexpFlags,
    out: String,
    names: Vec<Option<String>>,
    splits_runes: bool,
    groups: Vec<OpenGroup>,
}

fn escaped(rune: u32) -> String {
    match char::from_u32(rune) {
        Some(c) if c.is_ascii_alphanumeric() => c.to_string(),
        Some(_) => format!(r"\x{{{rune:X}}}"),
        // A surrogate, which text cannot contain.
        None => r"[^\x00-\x{10FFFF}]".to_string(),
    }
}

impl<'p> RegexpParser<'p> {
    fn parse(mut self) -> Result<TranslatedRegexp, String> {
        let mut last_repeat: Option<&'p [u8]> = None;
        while let Some(&byte) = self.rest.first() {
            let before = self.rest;
            let repeat = match byte {
                b'*' | b'+' | b'?' => Some((i64::from(byte == b'+'), if byte == b'?' { 1 } else { -1 }, &before[1..])),
                b'{' => self.counts()?,
                _ => None,
            };
            if let Some((min, max, after)) = repeat {
                self.repeat(byte, min, max, after, last_repeat)?;
                last_repeat = Some(before);
                continue;
            }
            last_repeat = None;
            self.piece(byte)?;
        }
        if self.groups.len() > 1 {
            return error("missing closing )", self.whole);
        }
        let repeats = u64::try_from(self.group().heaviest).unwrap_or(1).max(1);
        Ok(TranslatedRegexp { text: self.out, names: self.names, splits_runes: self.splits_runes, repeats })
    }

    fn piece(&mut self, byte: u8) -> Result<(), String> {
        match byte {
            b'(' if self.rest.starts_with(b"(?") => return self.perl_group(),
            b'(' => {
                self.rest = &self.rest[1..];
                return self.open("(", Some(None));
            }
            b')' => return self.close(),
            b'|' => {
                self.out.push('|');
                self.group().operand = None;
            }
            b'^' => self.push(if self.flags.multi_line { "(?m:^)" } else { r"\A" }),
            b'$' => self.push(if self.flags.multi_line { "(?m:$)" } else { r"\z" }),
            b'.' => self.push(if self.flags.dot_newline { "(?s:.)" } else { "." }),
            b'[' => return self.bracket(),
            b'\\' => return self.backslash(),
            _ => {
                let (rune, after) = next_rune(self.rest)?;
                self.literal(rune);
                self.rest = after;
                return Ok(());
            }
        }
        self.rest = &self.rest[1..];
        Ok(())
    }

    fn group(&mut self) -> &mut OpenGroup {
        self.groups.last_mut().expect("the outermost group is never closed")
    }

    fn push(&mut self, text: &str) {
        let start = self.out.len();
        self.out.push_str(text);
        let group = self.group();
        (group.operand, group.repeated, group.weight) = (Some(start), false, 1);
        group.heaviest = group.heaviest.max(1);
    }

    fn literal(&mut self, rune: u32) {
        let text = escaped(rune);
        if self.flags.fold { self.push(&format!("(?i:{text})")) } else { self.push(&text) }
    }

    fn class(&mut self, text: &str) {
        if self.flags.fold { self.push(&format!("(?i:{text})")) } else { self.push(text) }
    }

    fn open(&mut self, text: &str, name: Option<Option<String>>) -> Result<(), String> {
        if self.groups.len() as u32 > MAX_NESTING {
            return error("expression nests too deeply", self.whole);
        }
        self.push(text);
        self.names.extend(name);
        self.groups.push(OpenGroup { flags: self.flags, ..OpenGroup::default() });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        if self.groups.len() == 1 {
            return error("unexpected )", self.whole);
        }
        self.rest = &self.rest[1..];
        let closed = self.groups.pop().expect("there is more than one");
        self.out.push(')');
        let weight = closed.heaviest.max(1);
        let group = self.group();
        (group.weight, group.repeated) = (weight, false);
        group.heaviest = group.heaviest.max(weight);
        self.flags = closed.flags;
        Ok(())
    }

    /// Reads `{2,5}`, or returns `None` if the brace is a literal.
    fn counts(&mut self) -> Result<Option<RepeatCounts<'p>>, String> {
        let Some((min, max, after)) = counts(self.rest) else { return Ok(None) };
        let wrong = !(0..=MAX_REPEAT).contains(&min) || max > MAX_REPEAT || (max >= 0 && min > max);
        if wrong {
            return error("invalid repeat count", &self.rest[..self.rest.len() - after.len()]);
        }
        Ok(Some((min, max, after)))
    }

    fn repeat(
        &mut self,
        operator: u8,
        min: i64,
        max: i64,
        mut after: &'p [u8],
        last: Option<&'p [u8]>,
    ) -> Result<(), String> {
        let before = self.rest;
        let mut lazy = self.flags.lazy;
        if let Some(tail) = after.strip_prefix(b"?") {
            after = tail;
            lazy = !lazy;
        }
        if let Some(last) = last {
            return error("invalid nested repetition operator", &last[..last.len() - after.len()]);
        }
        let shown = &before[..before.len() - after.len()];
        let Some(start) = self.group().operand else {
            return error("missing argument to repetition operator", shown);
        };
        if self.group().repeated {
            self.out.insert_str(start, "(?:");
            self.out.push(')');
        }
        match operator {
            b'{' if max < 0 => self.out.push_str(&format!("{{{min},}}")),
            b'{' => self.out.push_str(&format!("{{{min},{max}}}")),
            operator => self.out.push(char::from(operator)),
        }
        if lazy {
            self.out.push('?');
        }
        self.weigh(operator, min, max, shown)?;
        self.rest = after;
        Ok(())
    }

    /// Multiplies nested counts, and rejects too many as Go does.
    fn weigh(&mut self, operator: u8, min: i64, max: i64, shown: &[u8]) -> Result<(), String> {
        let group = self.group();
        group.repeated = true;
        if operator == b'{' {
            let count = if max < 0 { min } else { max };
            group.weight = if max == 0 { 1 } else { group.weight.saturating_mul(count.max(1)) };
            if (min >= 2 || max >= 2) && group.weight > MAX_REPEAT {
                return error("invalid repeat count", shown);
            }
        }
        group.heaviest = group.heaviest.max(group.weight);
        Ok(())
    }

    /// Reads `(?i)`, `(?i:…)`, `(?P<name>…)` or `(?<name>…)`.
    fn perl_group(&mut self) -> Result<(), String> {
        let start = self.rest;
        let head = [(&b"(?P<"[..], 5), (&b"(?<"[..], 4)];
        if let Some((head, _)) = head.iter().find(|(head, least)| start.starts_with(head) && start.len() >= *least) {
            let Some(end) = start.iter().position(|b| *b == b'>') else {
                check_utf8(start)?;
                return error("invalid named capture", start);
            };
            let name = &start[head.len()..end];
            check_utf8(name)?;
            if name.is_empty() || !name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_') {
                return error("invalid named capture", &start[..=end]);
            }
            self.rest = &start[end + 1..];
            let name = String::from_utf8_lossy(name).into_owned();
            return self.open("(", Some(Some(name)));
        }
        let (mut flags, mut on, mut seen) = (self.flags, true, false);
        let mut rest = &start[2..];
        while !rest.is_empty() {
            let (rune, after) = next_rune(rest)?;
            rest = after;
            match char::from_u32(rune) {
                Some('i') => (flags.fold, seen) = (on, true),
                Some('m') => (flags.multi_line, seen) = (on, true),
                Some('s') => (flags.dot_newline, seen) = (on, true),
                Some('U') => (flags.lazy, seen) = (on, true),
                Some('-') if on => (on, seen) = (false, false),
                Some(end @ (':' | ')')) if on || seen => {
                    self.rest = rest;
                    if end == ':' {
                        self.open("(?:", None)?;
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            }
        }
        error("invalid or unsupported Perl syntax", &start[..start.len() - rest.len()])
    }

    fn backslash(&mut self) -> Result<(), String> {
        let rest = self.rest;
        let two = &rest[rest.len().min(2)..];
        match rest.get(1) {
            Some(b'A') => self.push(r"\A"),
            Some(b'b') => self.push(r"(?-u:\b)"),
            Some(b'B') => {
                self.splits_runes = true;
                self.push(r"(?-u:\B)");
            }
            Some(b'z') => self.push(r"\z"),
            Some(b'C') => return error("invalid escape sequence", &rest[..2]),
            Some(b'Q') => return self.quoted(two),
            Some(b'p' | b'P') => {
                let (class, after) = unicode_class(rest)?;
                self.class(&class);
                self.rest = after;
                return Ok(());
            }
            Some(&letter) if class::perl(letter).is_some() => {
                let not = if letter.is_ascii_uppercase() { "^" } else { "" };
                let set = class::perl(letter).unwrap_or_default();
                self.class(&format!("[{not}{set}]"));
            }
            _ => {
                let (rune, after) = escape(rest)?;
                self.literal(rune);
                self.rest = after;
                return Ok(());
            }
        }
        self.rest = two;
        Ok(())
    }

    fn quoted(&mut self, text: &'p [u8]) -> Result<(), String> {
        let end = text.windows(2).position(|w| w == b"\\E");
        let mut literal = &text[..end.unwrap_or(text.len())];
        while !literal.is_empty() {
            let (rune, after) = next_rune(literal)?;
            self.literal(rune);
            literal = after;
        }
        self.rest = end.map_or(&[][..], |end| &text[end + 2..]);
        Ok(())
    }

    fn bracket(&mut self) -> Result<(), String> {
        let start = self.rest;
        let mut rest = &start[1..];
        let mut set = String::from("[");
        if let Some(tail) = rest.strip_prefix(b"^") {
            set.push('^');
            rest = tail;
        }
        let opened = set.len();
        let mut first = true;
        while first || rest.first() != Some(&b']') {
            first = false;
            if rest.len() > 2
                && rest.starts_with(b"[:")
                && let Some(end) = rest[2..].windows(2).position(|w| w == b":]")
            {
                let name = String::from_utf8_lossy(&rest[2..2 + end]).into_owned();
                let (not, plain) = name.strip_prefix('^').map_or(("", name.as_str()), |plain| ("^", plain));
                let Some(posix) = class::posix(plain) else {
                    return error("invalid character class range", &rest[..end + 4]);
                };
                set.push_str(&format!("[{not}{posix}]"));
                rest = &rest[end + 4..];
                continue;
            }
            if let [b'\\', letter, tail @ ..] = rest {
                if matches!(letter, b'p' | b'P') {
                    let (class, after) = unicode_class(rest)?;
                    set.push_str(&class);
                    rest = after;
                    continue;
                }
                if let Some(perl) = class::perl(*letter) {
                    let not = if letter.is_ascii_uppercase() { "^" } else { "" };
                    set.push_str(&format!("[{not}{perl}]"));
                    rest = tail;
                    continue;
                }
            }
            let from = rest;
            let low;
            (low, rest) = class_char(rest, start)?;
            let mut high = low;
            if rest.len() >= 2 && rest[0] == b'-' && rest[1] != b']' {
                (high, rest) = class_char(&rest[1..], start)?;
                if high < low {
                    return error("invalid character class range", &from[..from.len() - rest.len()]);
                }
            }
            set.push_str(&class::range(low, high));
        }
        // The class contains only surrogates, so it matches nothing, or everything if negated.
        if set.len() == opened {
            set.push_str(r"[^\x00-\x{10FFFF}]");
        }
        set.push(']');
        self.class(&set);
        self.rest = &rest[1..];
        Ok(())
    }
}
