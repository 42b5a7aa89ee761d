//! The grammar of label selectors: `a,!b,c=d,e!=f,g in (h,i),j notin (k),l>1,m<2`.
//!
//! A port of Go's lexer and recursive-descent parser, because which error is found first decides the words.

use std::collections::BTreeSet;

use super::LabelSelectorError;
use super::label::{Operator, Requirement};
use crate::field::FieldError;
use crate::name;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
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

/// The requirements of a selector's text, in the order they stand there.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, LabelSelectorError> {
    let mut parser = Parser { items: scan(text), position: 0 };
    parser.parse().map_err(LabelSelectorError)
}

struct Parser {
    items: Vec<(Token, String)>,
    position: usize,
}

impl Parser {
    // `in` and `notin` are keywords only where an operator is expected.
    fn peek(&self) -> (Token, &str) {
        match self.items.get(self.position) {
            Some((Token::In | Token::NotIn, literal)) => (Token::Identifier, literal),
            Some((token, literal)) => (*token, literal),
            None => (Token::End, ""),
        }
    }

    fn take(&mut self) -> (Token, String) {
        let (token, literal) = self.peek();
        let taken = (token, literal.to_string());
        self.position += 1;
        taken
    }

    fn parse(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (Token::Identifier | Token::Not, _) => {
                    let found = self.requirement().map_err(|e| format!("unable to parse requirement: {e}"))?;
                    requirements.push(found);
                }
                (Token::End, _) => return Ok(requirements),
                (_, literal) => return Err(format!("found '{literal}', expected: !, identifier, or 'end of string'")),
            }
            match self.take() {
                (Token::End, _) => return Ok(requirements),
                (Token::Comma, _) => match self.peek() {
                    (Token::Identifier | Token::Not, _) => {}
                    (_, literal) => return Err(format!("found '{literal}', expected: identifier after ','")),
                },
                (_, literal) => return Err(format!("found '{literal}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut literal) = self.take();
        let negated = token == Token::Not;
        if negated {
            (token, literal) = self.take();
        }
        if token != Token::Identifier {
            return Err(format!("found '{literal}', expected: identifier"));
        }
        let wrong = name::qualified_name(&literal);
        if !wrong.is_empty() {
            // Go has no path here and prints that as <nil>.
            return Err(FieldError::invalid("<nil>", literal, wrong.join("; ")).to_string());
        }
        let bare = matches!(self.peek().0, Token::End | Token::Comma);
        let (operator, values) = match (negated, bare) {
            (true, _) => (Operator::DoesNotExist, BTreeSet::new()),
            (false, true) => (Operator::Exists, BTreeSet::new()),
            (false, false) => {
                let operator = self.operator()?;
                let in_list = matches!(operator, Operator::In | Operator::NotIn);
                (operator, if in_list { self.values()? } else { self.exact_value()? })
            }
        };
        Requirement::new(literal, operator, values.into_iter().collect()).map_err(|e| e.0)
    }

    fn operator(&mut self) -> Result<Operator, String> {
        let item = self.items.get(self.position).cloned().unwrap_or((Token::End, String::new()));
        self.position += 1;
        Ok(match item {
            (Token::In, _) => Operator::In,
            (Token::Equals, _) => Operator::Equals,
            (Token::DoubleEquals, _) => Operator::DoubleEquals,
            (Token::Greater, _) => Operator::GreaterThan,
            (Token::Less, _) => Operator::LessThan,
            (Token::NotIn, _) => Operator::NotIn,
            (Token::NotEquals, _) => Operator::NotEquals,
            (_, literal) => return Err(format!("found '{literal}', expected: in, notin, =, ==, !=, gt, lt")),
        })
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let (token, literal) = self.take();
        if token != Token::Open {
            return Err(format!("found '{literal}' expected: '('"));
        }
        let (token, literal) = self.peek();
        let first = literal.to_string();
        match token {
            Token::Identifier | Token::Comma => {
                let values = self.list()?;
                // Go reports the list's first token here, not the one that is wrong.
                if self.take().0 == Token::Close { Ok(values) } else { Err(format!("found '{first}', expected: ')'")) }
            }
            Token::Close => {
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
                (Token::Identifier, literal) => {
                    values.insert(literal);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(values),
                        (_, literal) => return Err(format!("found '{literal}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek().0 {
                        Token::Close => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Token::Comma => {
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
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.take() {
            (Token::Identifier, literal) => Ok(BTreeSet::from([literal])),
            (_, literal) => Err(format!("found '{literal}', expected: identifier")),
        }
    }
}

fn scan(text: &str) -> Vec<(Token, String)> {
    let mut items = Vec::new();
    // Go's lexer takes a NUL for the end of the text.
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
            items.push((token(word).unwrap_or(Token::Identifier), word.to_string()));
            length
        };
        rest = &rest[length..];
    }
    items.push((Token::End, String::new()));
    items
}

// The longest run of special characters that is an operator.
fn special(rest: &str) -> ((Token, String), usize) {
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
        None => ((Token::Error, format!("error expected: keyword found '{}'", &rest[..run])), run),
    }
}

fn token(word: &str) -> Option<Token> {
    Some(match word {
        ")" => Token::Close,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::Greater,
        "in" => Token::In,
        "<" => Token::Less,
        "!=" => Token::NotEquals,
        "notin" => Token::NotIn,
        "(" => Token::Open,
        _ => return None,
    })
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
