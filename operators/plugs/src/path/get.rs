//! Evaluation of a gjson path.

use super::component::{self, ElementComponent, PathRest};
use super::modifier;
use super::node::JsonNode;
use super::{MAX_STEPS, plain_glob, query};

/// One evaluation with a step limit.
pub(super) struct PathSearch {
    steps_left: u32,
}

/// Intermediate result, and the pipe to apply to it.
#[derive(Default)]
struct SearchContext {
    value: Option<JsonNode>,
    pipe: Option<String>,
}

impl PathSearch {
    pub(super) fn new() -> Self {
        Self { steps_left: MAX_STEPS }
    }

    /// Whether the step limit is exhausted.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps_left == 0
    }

    fn step(&mut self) -> bool {
        self.steps_left = self.steps_left.saturating_sub(1);
        self.steps_left > 0
    }

    /// Charges for a created value: multipaths and modifiers can enlarge a value.
    fn charge(&mut self, node: Option<JsonNode>) -> Option<JsonNode> {
        self.steps_left = self.steps_left.saturating_sub(node.as_ref().map_or(0, JsonNode::weight));
        node.filter(|_| self.steps_left > 0)
    }

    /// Returns the value at a path. The input may be absent, because modifiers and literals can create values.
    pub(super) fn get(&mut self, value: Option<&JsonNode>, path: &str) -> Option<JsonNode> {
        if !self.step() {
            return None;
        }
        let mut path = path;
        if path.len() > 1 {
            match path.as_bytes()[0] {
                b'@' => {
                    if let Some((made, behind)) = modifier::run(self, value, path) {
                        let made = self.charge(made);
                        return self.get_rest(made, behind);
                    }
                }
                b'!' => {
                    if let Some((made, behind)) = literal(path) {
                        return self.get_rest(made, behind);
                    }
                }
                b'[' | b'{' => match component::selectors(path) {
                    Some((selectors, behind)) if behind.is_empty() || behind.starts_with(['.', '|']) => {
                        let made = self.multipath(value, path.starts_with('{'), &selectors);
                        let made = self.charge(Some(made));
                        return self.get_rest(made, behind);
                    }
                    Some((_, behind)) => path = behind,
                    None => path = "",
                },
                _ => {}
            }
        }
        let mut context = SearchContext::default();
        match (path.strip_prefix(".."), value.map(JsonNode::plain)) {
            (Some(rest), Some(one)) => drop(self.array(&mut context, std::slice::from_ref(one), rest)),
            (None, Some(JsonNode::Object(fields))) => drop(self.object(&mut context, fields, path)),
            (None, Some(JsonNode::Array(items))) => drop(self.array(&mut context, items, path)),
            _ => {}
        }
        match context.pipe {
            Some(pipe) => self.get(context.value.as_ref(), &pipe),
            None => context.value,
        }
    }

    fn get_rest(&mut self, made: Option<JsonNode>, behind: &str) -> Option<JsonNode> {
        match behind.strip_prefix(['.', '|']) {
            Some(path) => self.get(made.as_ref(), path),
            None => made,
        }
    }

    fn multipath(
        &mut self,
        value: Option<&JsonNode>,
        named: bool,
        selectors: &[component::PathSelector<'_>],
    ) -> JsonNode {
        let mut fields = Vec::new();
        for (name, path) in selectors {
            if let Some(found) = self.get(value, path) {
                fields.push((name.map_or_else(|| last_name(path), selector_name), found));
            }
        }
        if named {
            JsonNode::Object(fields)
        } else {
            JsonNode::Array(fields.into_iter().map(|(_, node)| node).collect())
        }
    }

    /// Evaluates a path in an object and returns whether evaluation stops. A query for all elements stores a result and
    /// continues.
    fn object(&mut self, context: &mut SearchContext, fields: &[(String, JsonNode)], path: &str) -> bool {
        let field = component::field(path);
        if let PathRest::Piped(pipe) = field.rest {
            context.pipe = Some(pipe.to_string());
        }
        for (name, node) in fields {
            if !self.step() {
                return false;
            }
            let named = if field.wild { plain_glob(&field.name, name) } else { *name == field.name };
            if named && self.enter(context, node, field.rest) {
                return true;
            }
        }
        false
    }

    /// Stores the value of a component, or descends into the value.
    fn enter(&mut self, context: &mut SearchContext, node: &JsonNode, rest: PathRest<'_>) -> bool {
        match (rest, node.plain()) {
            (PathRest::End | PathRest::Piped(_), _) => {
                context.value = Some(node.clone());
                true
            }
            (PathRest::Inside(path), JsonNode::Object(fields)) => self.object(context, fields, path),
            (PathRest::Inside(path), JsonNode::Array(items)) => self.array(context, items, path),
            (PathRest::Inside(_), _) => false,
        }
    }

    fn array(&mut self, context: &mut SearchContext, items: &[JsonNode], path: &str) -> bool {
        let element = component::element(path);
        if let ElementComponent::At(_, PathRest::Piped(pipe))
        | ElementComponent::Count(PathRest::Piped(pipe))
        | ElementComponent::Nothing(PathRest::Piped(pipe))
        | ElementComponent::Query { rest: PathRest::Piped(pipe), .. } = &element
        {
            context.pipe = Some((*pipe).to_string());
        }
        match element {
            ElementComponent::At(index, rest) => {
                let item = index.and_then(|index| items.get(index));
                item.is_some_and(|item| self.enter(context, item, rest))
            }
            ElementComponent::Count(_) => {
                context.value = Some(JsonNode::Number(items.len().into()));
                true
            }
            ElementComponent::Each(path) => self.each(context, items, path),
            ElementComponent::Query { query, all, rest } => self.query(context, items, &query, all, rest),
            ElementComponent::Nothing(_) => false,
        }
    }

    fn each(&mut self, context: &mut SearchContext, items: &[JsonNode], path: &str) -> bool {
        let (path, pipe) = component::split_pipe(path).map_or((path, None), |(left, right)| (left, Some(right)));
        if let Some(pipe) = pipe {
            context.pipe = Some(pipe.to_string());
        }
        context.value = Some(JsonNode::Array(items.iter().filter_map(|item| self.get(Some(item), path)).collect()));
        true
    }

    fn query(
        &mut self,
        context: &mut SearchContext,
        items: &[JsonNode],
        query: &component::ElementQuery,
        all: bool,
        rest: PathRest<'_>,
    ) -> bool {
        let mut found = Vec::new();
        for item in items {
            let asked = match item.plain() {
                JsonNode::Object(_) | JsonNode::Array(_) => self.get(Some(item), &query.path),
                _ if query.path.is_empty() => Some(item.clone()),
                _ => continue,
            };
            if !query::matches(query, asked.as_ref()) {
                continue;
            }
            let taken = match rest {
                PathRest::Inside(path) => {
                    let (path, pipe) = component::split_pipe(path).map_or((path, None), |(l, r)| (l, Some(r)));
                    // As in gjson, only after the first match; without a match, the result is the empty list.
                    if let Some(pipe) = pipe {
                        context.pipe = Some(pipe.to_string());
                    }
                    self.get(Some(item), path)
                }
                PathRest::End | PathRest::Piped(_) => Some(item.clone()),
            };
            if !all {
                context.value = taken;
                return true;
            }
            found.extend(taken);
        }
        if all && context.value.is_none() {
            context.value = Some(JsonNode::Array(found));
        }
        false
    }
}

/// Parses a literal in a path: `!"text"`, `!{"a":1}`, `!true`.
fn literal(path: &str) -> Option<(Option<JsonNode>, &str)> {
    let text = &path[1..];
    if text.starts_with(['{', '[']) {
        let (json, behind) = text.split_at(component::balanced(text));
        return Some((JsonNode::leading(json), behind));
    }
    // A string or number extends to the end of the path.
    if text.starts_with(|c: char| c == '"' || c == '+' || c == '-' || c.is_ascii_digit()) {
        return Some((JsonNode::leading(text), ""));
    }
    let (word, behind) = text.split_at(text.find(['.', '|']).unwrap_or(text.len()));
    matches!(word.to_lowercase().as_str(), "true" | "false" | "null").then(|| (JsonNode::leading(word), behind))
}

fn selector_name(name: &str) -> String {
    let json = if name.starts_with('"') { serde_json::from_str(name).ok() } else { None };
    json.unwrap_or_else(|| name.to_string())
}

/// Returns the name of a path's last component, for a multipath part without a name.
fn last_name(path: &str) -> String {
    let bytes = path.as_bytes();
    let cut =
        (0..bytes.len()).rev().find(|at| matches!(bytes[*at], b'|' | b'.') && (*at == 0 || bytes[at - 1] != b'\\'));
    let last = cut.map_or(path, |at| &path[at + 1..]);
    let simple = last.chars().all(|c| c >= ' ' && !"[]{}()#|!".contains(c));
    if simple { last.to_string() } else { "_".to_string() }
}
