//! A gjson path followed through a value.

use super::component::{self, Element, Rest};
use super::modifier;
use super::node::Node;
use super::{MAX_STEPS, glob, query};

/// One evaluation, which counts its steps.
pub(super) struct Search {
    steps_left: u32,
}

/// What was found so far, and what is still to be done with it as a whole.
#[derive(Default)]
struct Context {
    value: Option<Node>,
    pipe: Option<String>,
}

impl Search {
    pub(super) fn new() -> Self {
        Self { steps_left: MAX_STEPS }
    }

    /// Whether it was given up.
    pub(super) fn spent(&self) -> bool {
        self.steps_left == 0
    }

    fn step(&mut self) -> bool {
        self.steps_left = self.steps_left.saturating_sub(1);
        self.steps_left > 0
    }

    /// Counts what was made: multipaths and modifiers can make more of a value than it was.
    fn made(&mut self, node: Option<Node>) -> Option<Node> {
        self.steps_left = self.steps_left.saturating_sub(node.as_ref().map_or(0, Node::weight));
        node.filter(|_| self.steps_left > 0)
    }

    /// What stands at the path in a value; the value may be absent, as modifiers and literals make something of nothing.
    pub(super) fn get(&mut self, value: Option<&Node>, path: &str) -> Option<Node> {
        if !self.step() {
            return None;
        }
        let mut path = path;
        if path.len() > 1 {
            match path.as_bytes()[0] {
                b'@' => {
                    if let Some((made, behind)) = modifier::run(self, value, path) {
                        let made = self.made(made);
                        return self.behind(made, behind);
                    }
                }
                b'!' => {
                    if let Some((made, behind)) = literal(path) {
                        return self.behind(made, behind);
                    }
                }
                b'[' | b'{' => match component::selectors(path) {
                    Some((selectors, behind)) if behind.is_empty() || behind.starts_with(['.', '|']) => {
                        let made = self.multipath(value, path.starts_with('{'), &selectors);
                        let made = self.made(Some(made));
                        return self.behind(made, behind);
                    }
                    Some((_, behind)) => path = behind,
                    None => path = "",
                },
                _ => {}
            }
        }
        let mut context = Context::default();
        match (path.strip_prefix(".."), value.map(Node::plain)) {
            (Some(rest), Some(one)) => drop(self.array(&mut context, std::slice::from_ref(one), rest)),
            (None, Some(Node::Object(fields))) => drop(self.object(&mut context, fields, path)),
            (None, Some(Node::Array(items))) => drop(self.array(&mut context, items, path)),
            _ => {}
        }
        match context.pipe {
            Some(pipe) => self.get(context.value.as_ref(), &pipe),
            None => context.value,
        }
    }

    fn behind(&mut self, made: Option<Node>, behind: &str) -> Option<Node> {
        match behind.strip_prefix(['.', '|']) {
            Some(path) => self.get(made.as_ref(), path),
            None => made,
        }
    }

    fn multipath(&mut self, value: Option<&Node>, named: bool, selectors: &[component::Selector<'_>]) -> Node {
        let mut fields = Vec::new();
        for (name, path) in selectors {
            if let Some(found) = self.get(value, path) {
                fields.push((name.map_or_else(|| last_name(path), given_name), found));
            }
        }
        if named { Node::Object(fields) } else { Node::Array(fields.into_iter().map(|(_, node)| node).collect()) }
    }

    /// Whether it was found. A list's query for all finds something and goes on all the same.
    fn object(&mut self, context: &mut Context, fields: &[(String, Node)], path: &str) -> bool {
        let field = component::field(path);
        if let Rest::Piped(pipe) = field.rest {
            context.pipe = Some(pipe.to_string());
        }
        for (name, node) in fields {
            if !self.step() {
                return false;
            }
            let named = if field.wild { glob::matches(name, &field.name) } else { *name == field.name };
            if named && self.enter(context, node, field.rest) {
                return true;
            }
        }
        false
    }

    /// Takes a value that a component named, or goes on inside of it.
    fn enter(&mut self, context: &mut Context, node: &Node, rest: Rest<'_>) -> bool {
        match (rest, node.plain()) {
            (Rest::End | Rest::Piped(_), _) => {
                context.value = Some(node.clone());
                true
            }
            (Rest::Inside(path), Node::Object(fields)) => self.object(context, fields, path),
            (Rest::Inside(path), Node::Array(items)) => self.array(context, items, path),
            (Rest::Inside(_), _) => false,
        }
    }

    fn array(&mut self, context: &mut Context, items: &[Node], path: &str) -> bool {
        let element = component::element(path);
        if let Element::At(_, Rest::Piped(pipe))
        | Element::Count(Rest::Piped(pipe))
        | Element::Nothing(Rest::Piped(pipe))
        | Element::Query { rest: Rest::Piped(pipe), .. } = &element
        {
            context.pipe = Some((*pipe).to_string());
        }
        match element {
            Element::At(index, rest) => {
                let item = index.and_then(|index| items.get(index));
                item.is_some_and(|item| self.enter(context, item, rest))
            }
            Element::Count(_) => {
                context.value = Some(Node::Number(items.len().into()));
                true
            }
            Element::Each(path) => self.each(context, items, path),
            Element::Query { query, all, rest } => self.query(context, items, &query, all, rest),
            Element::Nothing(_) => false,
        }
    }

    fn each(&mut self, context: &mut Context, items: &[Node], path: &str) -> bool {
        let (path, pipe) = component::split_pipe(path).map_or((path, None), |(left, right)| (left, Some(right)));
        if let Some(pipe) = pipe {
            context.pipe = Some(pipe.to_string());
        }
        context.value = Some(Node::Array(items.iter().filter_map(|item| self.get(Some(item), path)).collect()));
        true
    }

    fn query(
        &mut self,
        context: &mut Context,
        items: &[Node],
        query: &component::Query,
        all: bool,
        rest: Rest<'_>,
    ) -> bool {
        let mut found = Vec::new();
        for item in items {
            let asked = match item.plain() {
                Node::Object(_) | Node::Array(_) => self.get(Some(item), &query.path),
                _ if query.path.is_empty() => Some(item.clone()),
                _ => continue,
            };
            if !query::matches(query, asked.as_ref()) {
                continue;
            }
            let taken = match rest {
                Rest::Inside(path) => {
                    let (path, pipe) = component::split_pipe(path).map_or((path, None), |(l, r)| (l, Some(r)));
                    // Only once something matched, as gjson has it: without, the empty list is the answer.
                    if let Some(pipe) = pipe {
                        context.pipe = Some(pipe.to_string());
                    }
                    self.get(Some(item), path)
                }
                Rest::End | Rest::Piped(_) => Some(item.clone()),
            };
            if !all {
                context.value = taken;
                return true;
            }
            found.extend(taken);
        }
        if all && context.value.is_none() {
            context.value = Some(Node::Array(found));
        }
        false
    }
}

/// `!"text"`, `!{"a":1}`, `!true`: a value that stands in the path itself.
fn literal(path: &str) -> Option<(Option<Node>, &str)> {
    let text = &path[1..];
    if text.starts_with(['{', '[']) {
        let (json, behind) = text.split_at(component::balanced(text));
        return Some((Node::leading(json), behind));
    }
    // A string or a number reaches to the end of the path.
    if text.starts_with(|c: char| c == '"' || c == '+' || c == '-' || c.is_ascii_digit()) {
        return Some((Node::leading(text), ""));
    }
    let (word, behind) = text.split_at(text.find(['.', '|']).unwrap_or(text.len()));
    matches!(word.to_lowercase().as_str(), "true" | "false" | "null").then(|| (Node::leading(word), behind))
}

fn given_name(name: &str) -> String {
    let json = if name.starts_with('"') { serde_json::from_str(name).ok() } else { None };
    json.unwrap_or_else(|| name.to_string())
}

/// The name of a path's last component, for a multipath that gives none.
fn last_name(path: &str) -> String {
    let bytes = path.as_bytes();
    let cut =
        (0..bytes.len()).rev().find(|at| matches!(bytes[*at], b'|' | b'.') && (*at == 0 || bytes[at - 1] != b'\\'));
    let last = cut.map_or(path, |at| &path[at + 1..]);
    let simple = last.chars().all(|c| c >= ' ' && !"[]{}()#|!".contains(c));
    if simple { last.to_string() } else { "_".to_string() }
}
