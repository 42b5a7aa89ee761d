//! From the text of a template to its trees.

mod control;
mod lexer;
mod node;
mod number;
mod pipeline;
mod print;
#[cfg(test)]
mod tests;
mod token;
mod unquote;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use lexer::Delimiters;
pub(crate) use node::{Branch, Called, Callee, Chain, Command, Invocation, Node, Number, Operand, Part, Pipe, Tree};
pub(crate) use print::part as print_part;

use crate::error::{Error, Spot};
use crate::format::quote;
use crate::function::Functions;
use crate::value::Str;
use lexer::Lexer;
use token::{Kind, Token};

/// Largest text: positions are 32 bits.
const MAX_TEXT_BYTES: usize = 1 << 30;

/// Deepest nesting of `if`, `with`, `range` and `block`. Go has no bound but its memory.
const MAX_NESTING: usize = 10_000;

/// Parses a text into the trees it defines, its own among them.
pub(crate) fn parse(
    file: &Str,
    text: &[u8],
    delimiters: &Delimiters,
    functions: &Functions,
) -> Result<Vec<Tree>, Error> {
    let shared_text: Arc<[u8]> = Arc::from(text);
    let mut lexer = Lexer::new(text, delimiters);
    lexer.break_is_keyword = !functions.contains("break");
    lexer.continue_is_keyword = !functions.contains("continue");
    let mut shared =
        Shared { lexer, functions, file, text: shared_text, trees: Vec::new(), defined: HashMap::new(), nesting: 0 };
    let parser = Parser::new(&mut shared, file.clone());
    if text.len() > MAX_TEXT_BYTES {
        return Err(parser.error(format!("text of {} bytes is larger than the limit of {MAX_TEXT_BYTES}", text.len())));
    }
    parser.parse()?;
    Ok(shared.trees)
}

/// What the trees of one text have together.
struct Shared<'t> {
    lexer: Lexer<'t>,
    functions: &'t Functions,
    file: &'t Str,
    text: Arc<[u8]>,
    trees: Vec<Tree>,
    /// Where the trees stand, by name.
    defined: HashMap<Str, usize>,
    nesting: usize,
}

/// The parser of one tree; a `define` or `block` inside of it has its own.
struct Parser<'p, 't> {
    shared: &'p mut Shared<'t>,
    name: Str,
    /// Three tokens of lookahead; the last read stands first, and its line is that of errors.
    tokens: [Token<'t>; 3],
    peeked: usize,
    names: Vec<Str>,
    /// Where the names stand.
    places: HashMap<Str, u32>,
    /// Variables that are declared here.
    scope: Vec<u32>,
    action_line: usize,
    range_depth: usize,
    paren_depth: usize,
}

/// A node, or what ends a list of them.
enum Item {
    Node(Node),
    End,
    Else,
}

impl Item {
    fn shown(&self) -> &'static str {
        match self {
            Item::End => "{{end}}",
            _ => "{{else}}",
        }
    }
}

impl<'p, 't> Parser<'p, 't> {
    fn new(shared: &'p mut Shared<'t>, name: Str) -> Parser<'p, 't> {
        let none = Token { kind: Kind::Error, position: 0, text: &[], line: 0, problem: None };
        let tokens = [none.clone(), none.clone(), none];
        let names = vec![Str::new("$")];
        Parser {
            shared,
            name,
            tokens,
            peeked: 0,
            names,
            places: HashMap::new(),
            scope: vec![0],
            action_line: 0,
            range_depth: 0,
            paren_depth: 0,
        }
    }

    /// The whole text: like a list of nodes, and `define` besides.
    fn parse(mut self) -> Result<(), Error> {
        let mut root = Vec::new();
        while self.peek().kind != Kind::Eof {
            if self.peek().kind == Kind::LeftDelim {
                let delim = self.next();
                if self.next_non_space().kind == Kind::Define {
                    Parser::new(self.shared, Str::EMPTY).definition()?;
                    continue;
                }
                self.back_up_2(delim);
            }
            match self.text_or_action()? {
                Item::Node(node) => root.push(node),
                item => return Err(self.error(format!("unexpected {}", item.shown()))),
            }
        }
        self.add(root)
    }

    /// `define` is past.
    fn definition(mut self) -> Result<(), Error> {
        let context = "define clause";
        let name = self.next_non_space();
        self.name = self.template_name(&name, context)?;
        self.expect(Kind::RightDelim, context)?;
        let (root, end) = self.item_list()?;
        if !matches!(end, Item::End) {
            return Err(self.error(format!("unexpected {} in {context}", end.shown())));
        }
        self.add(root)
    }

    /// Adds the finished tree to those of the text. An empty one gives way to another of its name.
    fn add(mut self, root: Vec<Node>) -> Result<(), Error> {
        let text = self.shared.text.clone();
        let known = self.shared.defined.get(&self.name).copied();
        if let Some(known) = known
            && !is_empty(&self.shared.trees[known].root, &text)
        {
            if !is_empty(&root, &text) {
                let name = quote::quote(&self.name);
                return Err(self.error(format!("template: multiple definition of template {name}")));
            }
            return Ok(());
        }
        let variables = std::mem::take(&mut self.names);
        let tree = Tree { name: self.name.clone(), file: self.shared.file.clone(), text, root, variables };
        match known {
            Some(known) => self.shared.trees[known] = tree,
            None => {
                self.shared.defined.insert(self.name.clone(), self.shared.trees.len());
                self.shared.trees.push(tree);
            }
        }
        Ok(())
    }

    /// Nodes up to `end` or `else`.
    fn item_list(&mut self) -> Result<(Vec<Node>, Item), Error> {
        let mut list = Vec::new();
        while self.peek_non_space().kind != Kind::Eof {
            match self.text_or_action()? {
                Item::Node(node) => list.push(node),
                end => return Ok((list, end)),
            }
        }
        Err(self.error("unexpected EOF".to_string()))
    }

    fn text_or_action(&mut self) -> Result<Item, Error> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => {
                let start = token.position as u32;
                Ok(Item::Node(Node::Text(start..start + token.text.len() as u32)))
            }
            Kind::LeftDelim => {
                self.action_line = token.line;
                let item = self.action()?;
                self.action_line = 0;
                Ok(item)
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn next(&mut self) -> Token<'t> {
        if self.peeked > 0 {
            self.peeked -= 1;
        } else {
            self.tokens[0] = self.shared.lexer.next_token();
        }
        self.tokens[self.peeked].clone()
    }

    fn back_up(&mut self) {
        self.peeked += 1;
    }

    /// Gives back two tokens, the second of which is still here.
    fn back_up_2(&mut self, first: Token<'t>) {
        self.tokens[1] = first;
        self.peeked = 2;
    }

    fn back_up_3(&mut self, first: Token<'t>, second: Token<'t>) {
        self.tokens[1] = second;
        self.tokens[2] = first;
        self.peeked = 3;
    }

    fn peek(&mut self) -> &Token<'t> {
        if self.peeked == 0 {
            self.peeked = 1;
            self.tokens[0] = self.shared.lexer.next_token();
        }
        &self.tokens[self.peeked - 1]
    }

    fn next_non_space(&mut self) -> Token<'t> {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token<'t> {
        let token = self.next_non_space();
        self.back_up();
        token
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token<'t>, Error> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(&token, context)) }
    }

    fn unexpected(&self, token: &Token<'t>, context: &str) -> Error {
        let Some(problem) = &token.problem else {
            return self.error(format!("unexpected {} in {context}", token.shown()));
        };
        if self.action_line == 0 || self.action_line == token.line {
            return self.error(problem.clone());
        }
        let word = if problem.ends_with(" action") { "" } else { " in action" };
        self.error(format!("{problem}{word} started at {}:{}", self.shared.file, self.action_line))
    }

    fn error(&self, problem: String) -> Error {
        let file = self.shared.file.to_string();
        let line = self.tokens[0].line;
        let text = format!("template: {file}:{line}: {problem}");
        let template = self.name.to_string();
        Error::Parse(Box::new(Spot { text, file, template, line, problem, ..Spot::default() }))
    }
}

/// Whether there is nothing but space and comments.
pub(crate) fn is_empty(list: &[Node], text: &[u8]) -> bool {
    list.iter().all(|node| match node {
        Node::Text(range) => {
            let text = String::from_utf8_lossy(&text[range.start as usize..range.end as usize]);
            text.chars().all(char::is_whitespace)
        }
        _ => false,
    })
}
