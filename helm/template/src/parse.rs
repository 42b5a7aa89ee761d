//! Parser: text of a template to trees.

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
pub(crate) use node::{
    BranchNode, Callee, ChainNode, CommandNode, IdentifierNode, NumberNode, Operand, ParseNode, PipeNode, TemplateNode,
    Tree, TreePart,
};
pub(crate) use print::part as print_part;

use switchboard_object::quote;

use crate::error::{Error, ErrorDetails};
use crate::function::Functions;
use crate::value::Str;
use lexer::Lexer;
use token::{TemplateToken, TokenKind};

/// Maximum length of a text, because positions have 32 bits.
const MAX_TEXT_BYTES: usize = 1 << 30;

/// Maximum nesting of `if`, `with`, `range` and `block`. Go has no limit except memory.
const MAX_NESTING: usize = 10_000;

/// Parses a text into the trees it defines, including its own.
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
    let mut shared = SharedParseState {
        lexer,
        functions,
        file,
        text: shared_text,
        trees: Vec::new(),
        defined: HashMap::new(),
        nesting: 0,
    };
    let parser = TreeParser::new(&mut shared, file.clone());
    if text.len() > MAX_TEXT_BYTES {
        return Err(parser.error(format!("text of {} bytes is larger than the limit of {MAX_TEXT_BYTES}", text.len())));
    }
    parser.parse()?;
    Ok(shared.trees)
}

/// Parse state shared by all trees of one text.
struct SharedParseState<'t> {
    lexer: Lexer<'t>,
    functions: &'t Functions,
    file: &'t Str,
    text: Arc<[u8]>,
    trees: Vec<Tree>,
    /// Indexes of the trees, by name.
    defined: HashMap<Str, usize>,
    nesting: usize,
}

/// Parser of one tree. A nested `define` or `block` has its own parser.
struct TreeParser<'p, 't> {
    shared: &'p mut SharedParseState<'t>,
    name: Str,
    /// Lookahead of three tokens. The last token read comes first, and errors report its line.
    tokens: [TemplateToken<'t>; 3],
    peeked: usize,
    names: Vec<Str>,
    /// Indexes of the names.
    places: HashMap<Str, u32>,
    /// Variables in scope.
    scope: Vec<u32>,
    action_line: usize,
    range_depth: usize,
    paren_depth: usize,
}

/// A node, or the end of a list of nodes.
enum NodeOrEnd {
    Node(ParseNode),
    End,
    Else,
}

impl NodeOrEnd {
    fn shown(&self) -> &'static str {
        match self {
            NodeOrEnd::End => "{{end}}",
            _ => "{{else}}",
        }
    }
}

impl<'p, 't> TreeParser<'p, 't> {
    fn new(shared: &'p mut SharedParseState<'t>, name: Str) -> TreeParser<'p, 't> {
        let none = TemplateToken { kind: TokenKind::Error, position: 0, text: &[], line: 0, problem: None };
        let tokens = [none.clone(), none.clone(), none];
        let names = vec![Str::new("$")];
        TreeParser {
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

    /// Parses the whole text: a list of nodes that may contain `define`.
    fn parse(mut self) -> Result<(), Error> {
        let mut root = Vec::new();
        while self.peek().kind != TokenKind::Eof {
            if self.peek().kind == TokenKind::LeftDelim {
                let delim = self.next();
                if self.next_non_space().kind == TokenKind::Define {
                    TreeParser::new(self.shared, Str::EMPTY).definition()?;
                    continue;
                }
                self.back_up_2(delim);
            }
            match self.text_or_action()? {
                NodeOrEnd::Node(node) => root.push(node),
                item => return Err(self.error(format!("unexpected {}", item.shown()))),
            }
        }
        self.add(root)
    }

    /// Parses a definition. The keyword `define` has been read.
    fn definition(mut self) -> Result<(), Error> {
        let context = "define clause";
        let name = self.next_non_space();
        self.name = self.template_name(&name, context)?;
        self.expect(TokenKind::RightDelim, context)?;
        let (root, end) = self.item_list()?;
        if !matches!(end, NodeOrEnd::End) {
            return Err(self.error(format!("unexpected {} in {context}", end.shown())));
        }
        self.add(root)
    }

    /// Adds the finished tree to the trees of the text. Of two trees with the same name, an empty one is dropped.
    fn add(mut self, root: Vec<ParseNode>) -> Result<(), Error> {
        let text = self.shared.text.clone();
        let known = self.shared.defined.get(&self.name).copied();
        if let Some(known) = known
            && !is_empty(&self.shared.trees[known].root, &text)
        {
            if !is_empty(&root, &text) {
                let name = quote::quote_bytes(&self.name);
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

    /// Parses nodes up to `end` or `else`.
    fn item_list(&mut self) -> Result<(Vec<ParseNode>, NodeOrEnd), Error> {
        let mut list = Vec::new();
        while self.peek_non_space().kind != TokenKind::Eof {
            match self.text_or_action()? {
                NodeOrEnd::Node(node) => list.push(node),
                end => return Ok((list, end)),
            }
        }
        Err(self.error("unexpected EOF".to_string()))
    }

    fn text_or_action(&mut self) -> Result<NodeOrEnd, Error> {
        let token = self.next_non_space();
        match token.kind {
            TokenKind::Text => {
                let start = token.position as u32;
                Ok(NodeOrEnd::Node(ParseNode::Text(start..start + token.text.len() as u32)))
            }
            TokenKind::LeftDelim => {
                self.action_line = token.line;
                let item = self.action()?;
                self.action_line = 0;
                Ok(item)
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn next(&mut self) -> TemplateToken<'t> {
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

    /// Puts back two tokens. The second one is still in the lookahead.
    fn back_up_2(&mut self, first: TemplateToken<'t>) {
        self.tokens[1] = first;
        self.peeked = 2;
    }

    fn back_up_3(&mut self, first: TemplateToken<'t>, second: TemplateToken<'t>) {
        self.tokens[1] = second;
        self.tokens[2] = first;
        self.peeked = 3;
    }

    fn peek(&mut self) -> &TemplateToken<'t> {
        if self.peeked == 0 {
            self.peeked = 1;
            self.tokens[0] = self.shared.lexer.next_token();
        }
        &self.tokens[self.peeked - 1]
    }

    fn next_non_space(&mut self) -> TemplateToken<'t> {
        loop {
            let token = self.next();
            if token.kind != TokenKind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> TemplateToken<'t> {
        let token = self.next_non_space();
        self.back_up();
        token
    }

    fn expect(&mut self, kind: TokenKind, context: &str) -> Result<TemplateToken<'t>, Error> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(&token, context)) }
    }

    fn unexpected(&self, token: &TemplateToken<'t>, context: &str) -> Error {
        let Some(problem) = &token.problem else {
            return self.error(format!("unexpected {} in {context}", token.display_text()));
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
        Error::Parse(Box::new(ErrorDetails { text, file, template, line, problem, ..ErrorDetails::default() }))
    }
}

/// Whether the list contains only space and comments.
pub(crate) fn is_empty(list: &[ParseNode], text: &[u8]) -> bool {
    list.iter().all(|node| match node {
        ParseNode::Text(range) => {
            let text = String::from_utf8_lossy(&text[range.start as usize..range.end as usize]);
            text.chars().all(char::is_whitespace)
        }
        _ => false,
    })
}
