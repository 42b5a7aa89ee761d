//! As much of PromQL as tells whether the two sides of an operation ever meet: series are their labels, and values do not count.

use std::collections::{BTreeMap, BTreeSet};

/// The labels of a series, without its name.
pub type Labels = BTreeMap<String, String>;

/// What an expression gives: nothing is a number, which goes with everything.
type Given = Option<BTreeSet<Labels>>;

/// Operators, those that bind closest last.
const LEVELS: [&[&str]; 5] =
    [&["or"], &["and", "unless"], &["==", "!=", ">", "<", ">=", "<="], &["+", "-"], &["*", "/", "%"]];

/// What is left of the labels of the series that are on a page when an expression was asked; says which operation never has anything
/// on both of its sides.
pub fn ask(expression: &str, page: &str) -> Result<BTreeSet<Labels>, String> {
    let mut asked = Asked { words: words(expression), at: 0, page };
    let given = asked.level(0)?;
    match asked.words.get(asked.at) {
        Some(word) => Err(format!("`{word}` is not understood")),
        None => given.ok_or_else(|| "it is a number".to_string()),
    }
}

struct Asked<'a> {
    words: Vec<String>,
    at: usize,
    page: &'a str,
}

impl Asked<'_> {
    fn next(&mut self) -> String {
        self.at += 1;
        self.words.get(self.at - 1).cloned().unwrap_or_default()
    }

    fn is(&self, word: &str) -> bool {
        self.words.get(self.at).is_some_and(|found| found == word)
    }

    /// Whether the next word is this one, which is then behind us.
    fn takes(&mut self, word: &str) -> bool {
        let is = self.is(word);
        self.at += usize::from(is);
        is
    }

    fn level(&mut self, level: usize) -> Result<Given, String> {
        let Some(operators) = LEVELS.get(level) else { return self.one() };
        let mut left = self.level(level + 1)?;
        while operators.iter().any(|operator| self.is(operator)) {
            let operator = self.next();
            let matched = self.matched();
            let right = self.level(level + 1)?;
            left = joined(&operator, left, right, &matched)?;
        }
        Ok(left)
    }

    /// `on (a, b)` or `ignoring (a, b)`: by which labels sides are matched.
    fn matched(&mut self) -> Box<dyn Fn(&Labels) -> Labels> {
        let (on, ignoring) = (self.takes("on"), self.takes("ignoring"));
        let mut names = BTreeSet::new();
        if (on || ignoring) && self.takes("(") {
            while !self.takes(")") {
                names.insert(self.next());
                self.takes(",");
            }
        }
        Box::new(move |labels| {
            labels.clone().into_iter().filter(|(name, _)| on == names.contains(name)).collect::<Labels>()
        })
    }

    fn one(&mut self) -> Result<Given, String> {
        let word = self.next();
        if word == "(" {
            let given = self.level(0)?;
            return if self.takes(")") { Ok(given) } else { Err("`)` is missing".to_string()) };
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        if !self.takes("(") {
            return self.selected(&word).map(Some);
        }
        let mut arguments = Vec::new();
        while !self.takes(")") {
            arguments.push(self.level(0)?);
            self.takes(",");
        }
        match word.as_str() {
            "count" | "vector" | "absent" => Ok(Some(BTreeSet::from([Labels::new()]))),
            "min_over_time" | "clamp_min" | "rate" => Ok(arguments.swap_remove(0)),
            other => Err(format!("`{other}` is not known here")),
        }
    }

    /// The series of a name, as far as braces say.
    fn selected(&mut self, name: &str) -> Result<BTreeSet<Labels>, String> {
        let mut found: BTreeSet<Labels> =
            self.page.lines().filter_map(series).filter(|(of, _)| of == name).map(|(_, labels)| labels).collect();
        if self.takes("{") {
            while !self.takes("}") {
                let (label, operator, value) = (self.next(), self.next(), self.next());
                found.retain(|labels| operator != "=" || labels.get(&label) == Some(&value));
                self.takes(",");
            }
        }
        if found.is_empty() { Err(format!("nobody tells such a `{name}`")) } else { Ok(found) }
    }
}

fn joined(operator: &str, left: Given, right: Given, matched: &dyn Fn(&Labels) -> Labels) -> Result<Given, String> {
    let (left, right) = match (left, right) {
        (Some(left), Some(right)) => (left, right),
        (left, right) => return Ok(left.or(right)),
    };
    if operator == "or" {
        return Ok(Some(left.union(&right).cloned().collect()));
    }
    let others: BTreeSet<Labels> = right.iter().map(matched).collect();
    let both: BTreeSet<Labels> = left.iter().filter(|labels| others.contains(&matched(labels))).cloned().collect();
    match both.is_empty() {
        true => Err(format!("`{operator}` has nothing on both sides: {left:?} and {right:?}")),
        false => Ok(Some(both)),
    }
}

/// Name and labels of a line of a page.
fn series(line: &str) -> Option<(String, Labels)> {
    let (told, _) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))?;
    let (name, labels) = told.split_once('{').unwrap_or((told, ""));
    let pairs = labels.trim_end_matches('}').split(',').filter_map(|pair| pair.split_once('='));
    Some((name.to_string(), pairs.map(|(name, value)| (name.into(), value.trim_matches('"').into())).collect()))
}

/// Names, numbers, texts without their quotes, and signs; how far back is looked, in brackets, is left out.
fn words(expression: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), expression.trim_start());
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        let (word, length) = match first {
            '[' => ("", rest.find(']').map_or(rest.len(), |end| end + 1)),
            '"' => {
                let text = rest[1..].split('"').next().unwrap_or_default();
                (text, text.len() + 2)
            }
            c if is_word(c) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                (&rest[..end], end)
            }
            _ => {
                let long = ["==", "!=", ">=", "<=", "=~", "!~"].iter().any(|sign| rest.starts_with(sign));
                let end = 1 + usize::from(long);
                (&rest[..end], end)
            }
        };
        if first != '[' {
            words.push(word.to_string());
        }
        rest = rest[length..].trim_start();
    }
    words
}

#[test]
fn sides_that_never_meet_are_found() {
    let page = "a{of=\"x\"} 1\nb{of=\"y\"} 1\nc{of=\"x\"} 1\nc{of=\"y\"} 2\nd 1";
    for wrong in [
        "a > b",
        "a > 0.1 * clamp_min(b, 10)",
        "c{of=\"x\"} / (b > 0)",
        "a and d",
        "a == 1 and d",
        "count(a < b)",
        "e",
        "a{of=\"y\"}",
    ] {
        assert!(ask(wrong, page).is_err(), "{wrong}");
    }
    for right in [
        "a > ignoring(of) 0.1 * clamp_min(b, 10)",
        "a > on() b",
        "a / (c > 0) > 0.9",
        "min_over_time(d[10m]) > 0",
        "(count(a < c and a < ignoring(of) d) or vector(0)) == 0 and on() count(a) > 0",
        "d == 0 or absent(d)",
        "rate(c{of=~\"x.*\"}[5m])",
    ] {
        assert!(ask(right, page).is_ok(), "{right}: {:?}", ask(right, page));
    }
}
