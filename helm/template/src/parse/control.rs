//! Actions: control structures, and pipelines that are printed.

use super::node::Action;
use super::token::{Kind, Token};
use super::{Branch, Invocation, Item, MAX_NESTING, Node, Parser};
use crate::error::Error;
use crate::parse::unquote;
use crate::stack;
use crate::value::Str;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    If,
    With,
    Range,
}

impl Word {
    fn name(self) -> &'static str {
        match self {
            Word::If => "if",
            Word::With => "with",
            Word::Range => "range",
        }
    }
}

impl<'t> Parser<'_, 't> {
    /// The left delimiter is past; a keyword may come, or a pipeline.
    pub(super) fn action(&mut self) -> Result<Item, Error> {
        let token = self.next_non_space();
        Ok(Item::Node(match token.kind {
            Kind::Block => self.block()?,
            Kind::Break => self.jump("break", Node::Break)?,
            Kind::Continue => self.jump("continue", Node::Continue)?,
            Kind::Else => return self.otherwise(),
            Kind::End => {
                self.expect(Kind::RightDelim, "end")?;
                return Ok(Item::End);
            }
            Kind::If => self.branch(Word::If)?,
            Kind::Range => self.branch(Word::Range)?,
            Kind::Template => self.invocation()?,
            Kind::With => self.branch(Word::With)?,
            _ => {
                self.back_up();
                let position = self.peek().position as u32;
                // Variables stay until the next end.
                Node::Action(Action { position, pipe: self.pipeline("command", Kind::RightDelim)? })
            }
        }))
    }

    fn jump(&mut self, word: &str, node: Node) -> Result<Node, Error> {
        let token = self.next_non_space();
        if token.kind != Kind::RightDelim {
            return Err(self.unexpected(&token, &format!("{{{{{word}}}}}")));
        }
        if self.range_depth == 0 {
            return Err(self.error(format!("{{{{{word}}}}} outside {{{{range}}}}")));
        }
        Ok(node)
    }

    /// `{{else if` and `{{else with` leave their second word for [`Parser::branch`].
    fn otherwise(&mut self) -> Result<Item, Error> {
        if !matches!(self.peek_non_space().kind, Kind::If | Kind::With) {
            self.expect(Kind::RightDelim, "else")?;
        }
        Ok(Item::Else)
    }

    /// The keyword is past.
    fn branch(&mut self, word: Word) -> Result<Node, Error> {
        self.nest()?;
        let scope = self.scope.len();
        let pipe = self.pipeline(word.name(), Kind::RightDelim)?;
        let position = pipe.position;
        self.range_depth += usize::from(word == Word::Range);
        let (list, end) = stack::grow(|| self.item_list())?;
        self.range_depth -= usize::from(word == Word::Range);
        let otherwise = match end {
            Item::Else => Some(self.else_list(word)?),
            _ => None,
        };
        self.scope.truncate(scope);
        self.shared.nesting -= 1;
        let branch = Box::new(Branch { position, pipe, list, otherwise });
        Ok(match word {
            Word::If => Node::If(branch),
            Word::With => Node::With(branch),
            Word::Range => Node::Range(branch),
        })
    }

    /// `{{else if b}}_{{end}}` is `{{else}}{{if b}}_{{end}}{{end}}`, and so is `with`.
    fn else_list(&mut self, word: Word) -> Result<Vec<Node>, Error> {
        let again = match self.peek().kind {
            Kind::If if word == Word::If => true,
            Kind::With if word == Word::With => true,
            _ => false,
        };
        if again {
            self.next();
            return Ok(vec![stack::grow(|| self.branch(word))?]);
        }
        let (list, end) = stack::grow(|| self.item_list())?;
        match end {
            Item::End => Ok(list),
            end => Err(self.error(format!("expected end; found {}", end.shown()))),
        }
    }

    fn nest(&mut self) -> Result<(), Error> {
        self.shared.nesting += 1;
        if self.shared.nesting > MAX_NESTING {
            return Err(self.error(format!("exceeded maximum nesting of actions ({MAX_NESTING})")));
        }
        Ok(())
    }

    fn block(&mut self) -> Result<Node, Error> {
        let context = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, context)?;
        let pipe = self.pipeline(context, Kind::RightDelim)?;
        self.nest()?;
        let mut block = Parser::new(self.shared, name.clone());
        let (root, end) = stack::grow(|| block.item_list())?;
        if !matches!(end, Item::End) {
            return Err(self.error(format!("unexpected {} in {context}", end.shown())));
        }
        block.add(root)?;
        self.shared.nesting -= 1;
        Ok(Node::Template(Box::new(Invocation { position: token.position as u32, name, pipe: Some(pipe) })))
    }

    fn invocation(&mut self) -> Result<Node, Error> {
        let context = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, context)?;
        let mut pipe = None;
        if self.next_non_space().kind != Kind::RightDelim {
            self.back_up();
            pipe = Some(self.pipeline(context, Kind::RightDelim)?);
        }
        Ok(Node::Template(Box::new(Invocation { position: token.position as u32, name, pipe })))
    }

    pub(super) fn template_name(&mut self, token: &Token<'t>, context: &str) -> Result<Str, Error> {
        match token.kind {
            Kind::String | Kind::RawString => match unquote::unquote(token.text) {
                Some(name) => Ok(name.into()),
                None => Err(self.error("invalid syntax".to_string())),
            },
            _ => Err(self.unexpected(token, context)),
        }
    }
}
