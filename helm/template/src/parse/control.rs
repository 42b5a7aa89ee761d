//! Actions: control structures, and pipelines that are printed.

use super::node::ActionNode;
use super::token::{TemplateToken, TokenKind};
use super::{BranchNode, MAX_NESTING, NodeOrEnd, ParseNode, TemplateNode, TreeParser};
use crate::error::Error;
use crate::parse::unquote;
use crate::stack;
use crate::value::Str;

#[derive(Clone, Copy, PartialEq, Eq)]
enum ControlKeyword {
    If,
    With,
    Range,
}

impl ControlKeyword {
    fn name(self) -> &'static str {
        match self {
            ControlKeyword::If => "if",
            ControlKeyword::With => "with",
            ControlKeyword::Range => "range",
        }
    }
}

impl<'t> TreeParser<'_, 't> {
    /// Parses an action. The left delimiter has been read; a keyword or a pipeline follows.
    pub(super) fn action(&mut self) -> Result<NodeOrEnd, Error> {
        let token = self.next_non_space();
        Ok(NodeOrEnd::Node(match token.kind {
            TokenKind::Block => self.block()?,
            TokenKind::Break => self.jump("break", ParseNode::Break)?,
            TokenKind::Continue => self.jump("continue", ParseNode::Continue)?,
            TokenKind::Else => return self.else_control(),
            TokenKind::End => {
                self.expect(TokenKind::RightDelim, "end")?;
                return Ok(NodeOrEnd::End);
            }
            TokenKind::If => self.branch(ControlKeyword::If)?,
            TokenKind::Range => self.branch(ControlKeyword::Range)?,
            TokenKind::Template => self.invocation()?,
            TokenKind::With => self.branch(ControlKeyword::With)?,
            _ => {
                self.back_up();
                let position = self.peek().position as u32;
                // Variables stay in scope until the next `end`.
                ParseNode::Action(ActionNode { position, pipe: self.pipeline("command", TokenKind::RightDelim)? })
            }
        }))
    }

    fn jump(&mut self, word: &str, node: ParseNode) -> Result<ParseNode, Error> {
        let token = self.next_non_space();
        if token.kind != TokenKind::RightDelim {
            return Err(self.unexpected(&token, &format!("{{{{{word}}}}}")));
        }
        if self.range_depth == 0 {
            return Err(self.error(format!("{{{{{word}}}}} outside {{{{range}}}}")));
        }
        Ok(node)
    }

    /// Parses `else`. For `{{else if` and `{{else with`, the second keyword is left for [`TreeParser::branch`].
    fn else_control(&mut self) -> Result<NodeOrEnd, Error> {
        if !matches!(self.peek_non_space().kind, TokenKind::If | TokenKind::With) {
            self.expect(TokenKind::RightDelim, "else")?;
        }
        Ok(NodeOrEnd::Else)
    }

    /// Parses a control structure. The keyword has been read.
    fn branch(&mut self, word: ControlKeyword) -> Result<ParseNode, Error> {
        self.check_nesting()?;
        let scope = self.scope.len();
        let pipe = self.pipeline(word.name(), TokenKind::RightDelim)?;
        let position = pipe.position;
        self.range_depth += usize::from(word == ControlKeyword::Range);
        let (list, end) = stack::grow(|| self.item_list())?;
        self.range_depth -= usize::from(word == ControlKeyword::Range);
        let else_list = match end {
            NodeOrEnd::Else => Some(self.else_list(word)?),
            _ => None,
        };
        self.scope.truncate(scope);
        self.shared.nesting -= 1;
        let branch = Box::new(BranchNode { position, pipe, list, else_list });
        Ok(match word {
            ControlKeyword::If => ParseNode::If(branch),
            ControlKeyword::With => ParseNode::With(branch),
            ControlKeyword::Range => ParseNode::Range(branch),
        })
    }

    /// Parses an `else` list. `{{else if b}}_{{end}}` means `{{else}}{{if b}}_{{end}}{{end}}`, and likewise for `with`.
    fn else_list(&mut self, word: ControlKeyword) -> Result<Vec<ParseNode>, Error> {
        let again = match self.peek().kind {
            TokenKind::If if word == ControlKeyword::If => true,
            TokenKind::With if word == ControlKeyword::With => true,
            _ => false,
        };
        if again {
            self.next();
            return Ok(vec![stack::grow(|| self.branch(word))?]);
        }
        let (list, end) = stack::grow(|| self.item_list())?;
        match end {
            NodeOrEnd::End => Ok(list),
            end => Err(self.error(format!("expected end; found {}", end.shown()))),
        }
    }

    fn check_nesting(&mut self) -> Result<(), Error> {
        self.shared.nesting += 1;
        if self.shared.nesting > MAX_NESTING {
            return Err(self.error(format!("exceeded maximum nesting of actions ({MAX_NESTING})")));
        }
        Ok(())
    }

    fn block(&mut self) -> Result<ParseNode, Error> {
        let context = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, context)?;
        let pipe = self.pipeline(context, TokenKind::RightDelim)?;
        self.check_nesting()?;
        let mut block = TreeParser::new(self.shared, name.clone());
        let (root, end) = stack::grow(|| block.item_list())?;
        if !matches!(end, NodeOrEnd::End) {
            return Err(self.error(format!("unexpected {} in {context}", end.shown())));
        }
        block.add(root)?;
        self.shared.nesting -= 1;
        Ok(ParseNode::Template(Box::new(TemplateNode { position: token.position as u32, name, pipe: Some(pipe) })))
    }

    fn invocation(&mut self) -> Result<ParseNode, Error> {
        let context = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, context)?;
        let mut pipe = None;
        if self.next_non_space().kind != TokenKind::RightDelim {
            self.back_up();
            pipe = Some(self.pipeline(context, TokenKind::RightDelim)?);
        }
        Ok(ParseNode::Template(Box::new(TemplateNode { position: token.position as u32, name, pipe })))
    }

    pub(super) fn template_name(&mut self, token: &TemplateToken<'t>, context: &str) -> Result<Str, Error> {
        match token.kind {
            TokenKind::String | TokenKind::RawString => match unquote::unquote(token.text) {
                Some(name) => Ok(name.into()),
                None => Err(self.error("invalid syntax".to_string())),
            },
            _ => Err(self.unexpected(token, context)),
        }
    }
}
