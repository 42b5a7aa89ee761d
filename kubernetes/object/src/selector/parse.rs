//! Parser of label selectors: `a,!b,c=d,e!=f,g in (h,i),j notin (k),l>1,m<2`.
//!
//! A port of Go's lexer and recursive-descent parser, because the first error found decides the error text.

use std::collections::BTreeSet;

use super::LabelSelectorError;
use super::label::{Requirement, SelectorOperator};
use crate::field::FieldError;
use crate::name;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SelectorToken {
    Error,
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Identifier,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

/// Parses the requirements of a selector, in their order in the text.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, LabelSelectorError> {
    let mut parser = SelectorParser { items: scan(text), position: 0 };
    parser.parse().map_err(LabelSelectorError)
}

struct SelectorParser {
    items: Vec<(SelectorToken, String)>,
    position: usize,
}

impl SelectorParser {
    // Returns the next token. `in` and `notin` are keywords only where an operator is expected.
    fn peek(&self) -> (SelectorToken, &str) {
        match self.items.get(self.position) {
            Some((SelectorToken::In | SelectorToken::NotIn, literal)) => (SelectorToken::Identifier, literal),
            Some((token, literal)) => (*token, literal),
            None => (SelectorToken::End, ""),
        }
    }

    fn take(&mut self) -> (SelectorToken, String) {
        let (token, literal) = self.peek();
        let taken = (token, literal.to_string());
        self.position += 1;
        taken
    }

    fn parse(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (SelectorToken::Identifier | SelectorToken::Not, _) => {
                    let found = self.requirement().map_err(|e| format!("unable to parse requirement: {e}"))?;
                    requirements.push(found);
                }
                (SelectorToken::End, _) => return Ok(requirements),
                (_, literal) => return Err(format!("found '{literal}', expected: !, identifier, or 'end of string'")),
            }
            match self.take() {
                (SelectorToken::End, _) => return Ok(requirements),
                (SelectorToken::Comma, _) => match self.peek() {
                    (SelectorToken::Identifier | SelectorToken::Not, _) => {}
                    (_, literal) => return Err(format!("found '{literal}', expected: identifier after ','")),
                },
                (_, literal) => return Err(format!("found '{literal}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut literal) = self.take();
        let negated = token == SelectorToken::Not;
        if negated {
            (token, literal) = self.take();
        }
        if token != SelectorToken::Identifier {
            return Err(format!("found '{literal}', expected: identifier"));
        }
        let wrong = name::qualified_name(&literal);
        if !wrong.is_empty() {
            // Go has no path here and prints it as <nil>.
            return Err(FieldError::invalid("<nil>", literal, wrong.join("; ")).to_string());
        }
        let bare = matches!(self.peek().0, SelectorToken::End | SelectorToken::Comma);
        let (operator, values) = match (negated, bare) {
            (true, _) => (SelectorOperator::DoesNotExist, BTreeSet::new()),
            (false, true) => (SelectorOperator::Exists, BTreeSet::new()),
            (false, false) => {
                let operator = self.operator()?;
                let in_list = matches!(operator, SelectorOperator::In | SelectorOperator::NotIn);
                (operator, if in_list { self.values()? } else { self.exact_value()? })
            }
        };
        Requirement::new(literal, operator, values.into_iter().collect()).map_err(|e| e.0)
    }

    fn operator(&mut self) -> Result<SelectorOperator, String> {
        let item = self.items.get(self.position).cloned().unwrap_or((SelectorToken::End, String::new()));
        self.position += 1;
        Ok(match item {
            (SelectorToken::In, _) => SelectorOperator::In,
            (SelectorToken::Equals, _) => SelectorOperator::Equals,
            (SelectorToken::DoubleEquals, _) => SelectorOperator::DoubleEquals,
            (SelectorToken::Greater, _) => SelectorOperator::GreaterThan,
            (SelectorToken::Less, _) => SelectorOperator::LessThan,
            (SelectorToken::NotIn, _) => SelectorOperator::NotIn,
            (SelectorToken::NotEquals, _) => SelectorOperator::NotEquals,
            (_, literal) => return Err(format!("found '{literal}', expected: in, notin, =, ==, !=, gt, lt")),
        })
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let (token, literal) = self.take();
        if token != SelectorToken::Open {
            return Err(format!("found '{literal}' expected: '('"));
        }
        let (token, literal) = self.peek();
        let first = literal.to_string();
        match token {
            SelectorToken::Identifier | SelectorToken::Comma => {
                let values = self.list()?;
                // Go reports the list's first token here, not the wrong one.
                if self.take().0 == SelectorToken::Close {
                    Ok(values)
                } else {
                    Err(format!("found '{first}', expected: ')'"))
                }
            }
            SelectorToken::Close => {
                self.take();
                Ok(BTreeSet::from([String::new()]))
            }
            _ => Err(format!("found '{first}', expected: ',', ')' or identifier")),
        }
    }

    fn list(&mut self) -> Result<BTreeSet<String>, String> {
        let mut values = BTreeSet::new();
        loop {
            match self.take() {
                (SelectorToken::Identifier, literal) => {
                    values.insert(literal);
                    match self.peek() {
                        (SelectorToken::Comma, _) => {}
                        (SelectorToken::Close, _) => return Ok(values),
                        (_, literal) => return Err(format!("found '{literal}', expected: ',' or ')'")),
                    }
                }
                (SelectorToken::Comma, _) => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek().0 {
                        SelectorToken::Close => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        SelectorToken::Comma => {
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                (_, literal) => return Err(format!("found '{literal}', expected: ',', or identifier")),
            }
        }
    }

    fn exact_value(&mut self) -> Result<BTreeSet<String>, String> {
        if matches!(self.peek().0, SelectorToken::End | SelectorToken::Comma) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.take() {
            (SelectorToken::Identifier, literal) => Ok(BTreeSet::from([literal])),
            (_, literal) => Err(format!("found '{literal}', expected: identifier")),
        }
    }
}

fn scan(text: &str) -> Vec<(SelectorToken, String)> {
    let mut items = Vec::new();
    // Go's lexer treats a NUL as the end of the text.
    let mut rest = text.split('\0').next().unwrap_or_default();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = rest.chars().next() else { break };
        let length = if is_special(first) {
            let (item, length) = special(rest);
            items.push(item);
            length
        } else {
            let length = rest.find(|c| is_special(c) || matches!(c, ' ' | '\t' | '\r' | '\n')).unwrap_or(rest.len());
            let word = &rest[..length];
            items.push((token(word).unwrap_or(SelectorToken::Identifier), word.to_string()));
            length
        };
        rest = &rest[length..];
    }
    items.push((SelectorToken::End, String::new()));
    items
}

// Returns the longest run of special characters that is an operator.
fn special(rest: &str) -> ((SelectorToken, String), usize) {
    let run = rest.find(|c| !is_special(c)).unwrap_or(rest.len());
    let mut found = None;
    for length in 1..=run {
        match token(&rest[..length]) {
            Some(token) => found = Some((token, length)),
            None if found.is_some() => break,
            None => {}
        }
    }
    match found {
        Some((token, length)) => ((token, rest[..length].to_string()), length),
        None => ((SelectorToken::Error, format!("error expected: keyword found '{}'", &rest[..run])), run),
    }
}

fn token(word: &str) -> Option<SelectorToken> {
    Some(match word {
        ")" => SelectorToken::Close,
        "," => SelectorToken::Comma,
        "!" => SelectorToken::Not,
        "==" => SelectorToken::DoubleEquals,
        "=" => SelectorToken::Equals,
        ">" => SelectorToken::Greater,
        "in" => SelectorToken::In,
        "<" => SelectorToken::Less,
        "!=" => SelectorToken::NotEquals,
        "notin" => SelectorToken::NotIn,
        "(" => SelectorToken::Open,
        _ => return None,
    })
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
