//! YAML writer, byte for byte as `sigs.k8s.io/yaml`: libyaml's emitter for block collections.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::analyze::{ScalarStyle, analyze, is_break, is_printable};
use super::resolve::{Scalar, is_word, plain};
use crate::{Map, Value, go_format};

/// Lines are folded at the first space beyond this column.
const WIDTH: usize = 80;
const INDENT: usize = 2;
/// Longer keys are written as `? key`.
const MAX_SIMPLE_KEY: usize = 128;

/// Returns the YAML text of a value, with a newline at the end.
pub fn to_string(value: &Value) -> String {
    let mut emitter = YamlEmitter { out: String::new(), column: 0, whitespace: true, indention: true, indent: None };
    emitter.node(value, false);
    emitter.indent = None;
    emitter.write_indent();
    emitter.out
}

struct YamlEmitter {
    out: String,
    column: usize,
    /// Whether the last output allows the next token without a space.
    whitespace: bool,
    /// Whether the line has only indentation so far.
    indention: bool,
    indent: Option<usize>,
}

impl YamlEmitter {
    fn node(&mut self, value: &Value, in_mapping: bool) {
        match value {
            Value::Object(map) if map.is_empty() => self.empty("{", "}"),
            Value::Array(list) if list.is_empty() => self.empty("[", "]"),
            Value::Object(map) => self.mapping(map),
            Value::Array(list) => self.sequence(list, in_mapping),
            Value::String(text) => self.text(text, false),
            Value::Null => self.scalar("null", ScalarStyle::Plain, false),
            Value::Bool(bool) => self.scalar(if *bool { "true" } else { "false" }, ScalarStyle::Plain, false),
            Value::Number(number) => {
                let text = match number.as_f64().filter(|_| number.is_f64()) {
                    Some(float) => go_format::float(float),
                    None => number.to_string(),
                };
                self.scalar(&text, ScalarStyle::Plain, false);
            }
        }
    }

    fn mapping(&mut self, map: &Map) {
        let outer = self.deeper(false);
        for key in in_natural_order(map.keys().collect()) {
            self.write_indent();
            let simple = key.len() <= MAX_SIMPLE_KEY && !key.contains(is_break);
            if simple {
                self.text(key, true);
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, true);
                self.text(key, false);
                self.write_indent();
                self.indicator(":", true, false, true);
            }
            self.node(&map[key], true);
        }
        self.indent = outer;
    }

    fn sequence(&mut self, list: &[Value], in_mapping: bool) {
        let outer = self.deeper(in_mapping && !self.indention);
        for item in list {
            self.write_indent();
            self.indicator("-", true, false, true);
            self.node(item, false);
        }
        self.indent = outer;
    }

    fn deeper(&mut self, indentless: bool) -> Option<usize> {
        let outer = self.indent;
        self.indent = Some(match outer {
            None => 0,
            Some(indent) if indentless => indent,
            Some(indent) => indent + INDENT,
        });
        outer
    }

    fn empty(&mut self, open: &str, close: &str) {
        self.indicator(open, true, true, false);
        self.indicator(close, false, false, false);
    }

    fn text(&mut self, text: &str, simple_key: bool) {
        if is_name(text) {
            // Plain text without a place to fold.
            if !self.whitespace {
                self.put(' ');
            }
            self.out.push_str(text);
            self.column += text.len();
            (self.whitespace, self.indention) = (false, false);
        } else {
            self.scalar(text, text_style(text), simple_key);
        }
    }

    fn scalar(&mut self, text: &str, wanted: ScalarStyle, simple_key: bool) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(INDENT, |indent| indent + INDENT));
        match analyze(text).style(wanted, text.is_empty(), simple_key) {
            ScalarStyle::Plain => self.plain(text, !simple_key),
            ScalarStyle::Single => self.single_quoted(text, !simple_key),
            ScalarStyle::Double => self.double_quoted(text, !simple_key),
            ScalarStyle::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    fn plain(&mut self, text: &str, may_fold: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        self.folded(text, may_fold, |_, _| true);
        (self.whitespace, self.indention) = (false, false);
    }

    fn single_quoted(&mut self, text: &str, may_fold: bool) {
        self.indicator("'", true, false, false);
        let last = text.len() - text.chars().next_back().map_or(0, char::len_utf8);
        self.folded(text, may_fold, |index, _| index > 0 && index < last);
        self.indicator("'", false, false, false);
        (self.whitespace, self.indention) = (false, false);
    }

    // Writes the characters of a plain or single-quoted scalar, folded at single spaces.
    fn folded(&mut self, text: &str, may_fold: bool, inner: impl Fn(usize, char) -> bool) {
        let quoted = self.out.ends_with('\'');
        let (mut spaces, mut breaks) = (false, false);
        for (index, c) in text.char_indices() {
            if c == ' ' {
                let alone = !spaces && !text[index + 1..].starts_with(' ');
                if may_fold && alone && self.column > WIDTH && inner(index, c) {
                    self.write_indent();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put_break('\n');
                }
                self.put_break(c);
                (self.indention, breaks) = (true, true);
            } else {
                if breaks {
                    self.write_indent();
                }
                if c == '\'' && quoted {
                    self.put('\'');
                }
                self.put(c);
                (self.indention, spaces, breaks) = (false, false, false);
            }
        }
    }

    fn double_quoted(&mut self, text: &str, may_fold: bool) {
        self.indicator("\"", true, false, false);
        // go-yaml tests whether the text begins with a byte order mark where it should test the current character.
        let all = text.starts_with('\u{feff}');
        let mut spaces = false;
        for (index, c) in text.char_indices() {
            if all || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                self.escaped(c);
                spaces = false;
            } else if c == ' ' {
                let inner = index > 0 && index + 1 < text.len();
                if may_fold && !spaces && self.column > WIDTH && inner {
                    self.write_indent();
                    if text[index + 1..].starts_with(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator("\"", false, false, false);
        (self.whitespace, self.indention) = (false, false);
    }

    fn escaped(&mut self, c: char) {
        let before = self.out.len();
        match c {
            '\0' => self.out.push_str("\\0"),
            '\u{7}' => self.out.push_str("\\a"),
            '\u{8}' => self.out.push_str("\\b"),
            '\t' => self.out.push_str("\\t"),
            '\n' => self.out.push_str("\\n"),
            '\u{b}' => self.out.push_str("\\v"),
            '\u{c}' => self.out.push_str("\\f"),
            '\r' => self.out.push_str("\\r"),
            '\u{1b}' => self.out.push_str("\\e"),
            '"' => self.out.push_str("\\\""),
            '\\' => self.out.push_str("\\\\"),
            '\u{85}' => self.out.push_str("\\N"),
            '\u{a0}' => self.out.push_str("\\_"),
            '\u{2028}' => self.out.push_str("\\L"),
            '\u{2029}' => self.out.push_str("\\P"),
            c => {
                let code = c as u32;
                let written = match code {
                    0..=0xff => write!(self.out, "\\x{code:02X}"),
                    0x100..=0xffff => write!(self.out, "\\u{code:04X}"),
                    _ => write!(self.out, "\\U{code:08X}"),
                };
                written.expect("writing to a String cannot fail");
            }
        }
        self.column += self.out.len() - before;
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator("2", false, false, false);
        }
        let mut ends = text.chars().rev();
        match (ends.next().is_some_and(is_break), ends.next()) {
            (false, _) => self.indicator("-", false, false, false),
            (true, None) => self.indicator("+", false, false, false),
            (true, Some(c)) if is_break(c) => self.indicator("+", false, false, false),
            _ => {}
        }
        self.put_break('\n');
        (self.indention, self.whitespace) = (true, true);
        for line in text.split_inclusive(is_break) {
            let content = line.strip_suffix(is_break).unwrap_or(line);
            if !content.is_empty() {
                self.write_indent();
                self.out.push_str(content);
                self.column += content.chars().count();
                self.indention = false;
            }
            if let Some(end) = line[content.len()..].chars().next() {
                self.put_break(end);
                self.indention = true;
            }
        }
    }

    fn write_indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        (self.whitespace, self.indention) = (true, true);
    }

    fn indicator(&mut self, text: &str, need_whitespace: bool, is_whitespace: bool, is_indention: bool) {
        if need_whitespace && !self.whitespace {
            self.put(' ');
        }
        text.chars().for_each(|c| self.put(c));
        self.whitespace = is_whitespace;
        self.indention = self.indention && is_indention;
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn put_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }
}

/// Whether a text is one word that needs no analysis, as nearly all are: a letter, then letters, digits and a few
/// signs.
fn is_name(text: &str) -> bool {
    let sign = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
    text.as_bytes().split_first().is_some_and(|(first, rest)| first.is_ascii_alphabetic() && rest.iter().all(sign))
        && !is_word(text)
}

// Returns the style of a text. Text that a reader would take for another type is quoted.
fn text_style(text: &str) -> ScalarStyle {
    if text.contains('\n') {
        return ScalarStyle::Literal;
    }
    let misleading = !matches!(plain(text), Scalar::Text(_)) || is_base60(text);
    if misleading { ScalarStyle::Double } else { ScalarStyle::Plain }
}

// Matches `^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`: a number in other YAML readers.
fn is_base60(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (sixties, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = sixties.split(':');
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let first = parts.next().unwrap_or_default();
    let mut rest = parts.peekable();
    first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && rest.peek().is_some()
        && rest.all(|part| match part.as_bytes() {
            [one] => one.is_ascii_digit(),
            [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
            _ => false,
        })
}

/// Returns the keys in output order.
// A custom merge sort, because go-yaml's order is not transitive (`1A` < `9/` < `10a` < `1A`) and the standard
// library's sort requires a total order.
pub fn in_natural_order(keys: Vec<&String>) -> Vec<&String> {
    if keys.len() < 2 {
        return keys;
    }
    let mut left = keys;
    let right = in_natural_order(left.split_off(left.len() / 2));
    let left = in_natural_order(left);
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let right_first = natural(b, a) == Ordering::Less;
        out.extend(if right_first { right.next() } else { left.next() });
    }
    out.extend(left.chain(right));
    out
}

/// Compares keys like go-yaml: letters after everything else, runs of digits by their number.
fn natural(a: &str, b: &str) -> Ordering {
    let differ = a.bytes().zip(b.bytes()).find(|(left, right)| left != right);
    // Most keys are words that differ in a letter.
    if let Some((left, right)) = differ
        && left.is_ascii_alphabetic()
        && right.is_ascii_alphabetic()
    {
        return left.cmp(&right);
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = (0..a.len().min(b.len())).find(|i| a[*i] != b[*i]) else { return a.len().cmp(&b.len()) };
    let (left, right) = (a[at], b[at]);
    match (left.is_alphabetic(), right.is_alphabetic()) {
        (true, true) => return left.cmp(&right),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // Zeros count within a number, but not in front of it.
    let begun =
        (left == '0' || right == '0') && a[..at].iter().rev().take_while(|c| c.is_ascii_digit()).any(|c| *c != '0');
    let number = |text: &[char]| {
        let digits: Vec<i64> = text[at..].iter().map_while(|c| c.to_digit(10)).map(i64::from).collect();
        let start = i64::from(begun);
        (digits.iter().fold(start, |n, d| n.wrapping_mul(10).wrapping_add(*d)), digits.len())
    };
    number(&a).cmp(&number(&b)).then(left.cmp(&right))
}
