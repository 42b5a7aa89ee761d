//! Subset of PromQL that checks whether both operands of an operation have series with matching labels. Values are
//! ignored.

use std::collections::{BTreeMap, BTreeSet};

/// Labels of a series, without its name.
pub type Labels = BTreeMap<String, String>;

/// Result of an expression; `None` is a number, which matches every series.
type SeriesSet = Option<BTreeSet<Labels>>;

/// Operators by precedence, the lowest first.
const LEVELS: [&[&str]; 5] =
    [&["or"], &["and", "unless"], &["==", "!=", ">", "<", ">=", "<="], &["+", "-"], &["*", "/", "%"]];

/// Returns the labels of the series that an expression selects from a page.
///
/// # Errors
/// When the operands of an operation have no matching series.
pub fn evaluate(expression: &str, page: &str) -> Result<BTreeSet<Labels>, String> {
    let mut parser = PromqlParser { tokens: tokens(expression), at: 0, page };
    let given = parser.level(0)?;
    match parser.tokens.get(parser.at) {
        Some(token) => Err(format!("`{token}` is not supported")),
        None => given.ok_or_else(|| "the expression is a number".to_string()),
    }
}

struct PromqlParser<'a> {
    tokens: Vec<String>,
    at: usize,
    page: &'a str,
}

impl PromqlParser<'_> {
    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned().unwrap_or_default()
    }

    fn is_next(&self, token: &str) -> bool {
        self.tokens.get(self.at).is_some_and(|found| found == token)
    }

    /// Consumes the next word if it is this one.
    fn accept(&mut self, token: &str) -> bool {
        let is_next = self.is_next(token);
        self.at += usize::from(is_next);
        is_next
    }

    fn level(&mut self, level: usize) -> Result<SeriesSet, String> {
        let Some(operators) = LEVELS.get(level) else { return self.one() };
        let mut left = self.level(level + 1)?;
        while operators.iter().any(|operator| self.is_next(operator)) {
            let operator = self.next();
            let matching_labels = self.matching_labels();
            let right = self.level(level + 1)?;
            left = join_sides(&operator, left, right, &matching_labels)?;
        }
        Ok(left)
    }

    /// Parses `on (a, b)` or `ignoring (a, b)`; returns the labels to match by.
    fn matching_labels(&mut self) -> Box<dyn Fn(&Labels) -> Labels> {
        let (on, ignoring) = (self.accept("on"), self.accept("ignoring"));
        let mut names = BTreeSet::new();
        if (on || ignoring) && self.accept("(") {
            while !self.accept(")") {
                names.insert(self.next());
                self.accept(",");
            }
        }
        Box::new(move |labels| {
            labels.clone().into_iter().filter(|(name, _)| on == names.contains(name)).collect::<Labels>()
        })
    }

    fn one(&mut self) -> Result<SeriesSet, String> {
        let token = self.next();
        if token == "(" {
            let given = self.level(0)?;
            return if self.accept(")") { Ok(given) } else { Err("`)` is missing".to_string()) };
        }
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        if !self.accept("(") {
            return self.selected(&token).map(Some);
        }
        let mut arguments = Vec::new();
        while !self.accept(")") {
            arguments.push(self.level(0)?);
            self.accept(",");
        }
        match token.as_str() {
            "count" | "vector" | "absent" => Ok(Some(BTreeSet::from([Labels::new()]))),
            "min_over_time" | "clamp_min" | "rate" => Ok(arguments.swap_remove(0)),
            other => Err(format!("`{other}` is not supported")),
        }
    }

    /// Returns the series of a name that match the braces.
    fn selected(&mut self, name: &str) -> Result<BTreeSet<Labels>, String> {
        let mut found: BTreeSet<Labels> =
            self.page.lines().filter_map(series).filter(|(of, _)| of == name).map(|(_, labels)| labels).collect();
        if self.accept("{") {
            while !self.accept("}") {
                let (label, operator, value) = (self.next(), self.next(), self.next());
                found.retain(|labels| operator != "=" || labels.get(&label) == Some(&value));
                self.accept(",");
            }
        }
        if found.is_empty() { Err(format!("no series matches `{name}`")) } else { Ok(found) }
    }
}

fn join_sides(
    operator: &str,
    left: SeriesSet,
    right: SeriesSet,
    matching_labels: &dyn Fn(&Labels) -> Labels,
) -> Result<SeriesSet, String> {
    let (left, right) = match (left, right) {
        (Some(left), Some(right)) => (left, right),
        (left, right) => return Ok(left.or(right)),
    };
    if operator == "or" {
        return Ok(Some(left.union(&right).cloned().collect()));
    }
    let others: BTreeSet<Labels> = right.iter().map(matching_labels).collect();
    let both: BTreeSet<Labels> =
        left.iter().filter(|labels| others.contains(&matching_labels(labels))).cloned().collect();
    match both.is_empty() {
        true => Err(format!("`{operator}` has nothing on both sides: {left:?} and {right:?}")),
        false => Ok(Some(both)),
    }
}

/// Parses the name and the labels of a series.
fn series(line: &str) -> Option<(String, Labels)> {
    let (told, _) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))?;
    let (name, labels) = told.split_once('{').unwrap_or((told, ""));
    let pairs = labels.trim_end_matches('}').split(',').filter_map(|pair| pair.split_once('='));
    Some((name.to_string(), pairs.map(|(name, value)| (name.into(), value.trim_matches('"').into())).collect()))
}

/// Splits an expression into names, numbers, strings without quotes, and operators. Ranges in brackets are skipped.
fn tokens(expression: &str) -> Vec<String> {
    let (mut tokens, mut rest) = (Vec::new(), expression.trim_start());
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        let (token, length) = match first {
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
            tokens.push(token.to_string());
        }
        rest = rest[length..].trim_start();
    }
    tokens
}

#[test]
fn operands_without_common_labels_are_found() {
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
        assert!(evaluate(wrong, page).is_err(), "{wrong}");
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
        assert!(evaluate(right, page).is_ok(), "{right}: {:?}", evaluate(right, page));
    }
}
