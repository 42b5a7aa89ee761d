//! Layout of `@pretty`: JSON on several lines, with short lists on one line.

use super::node::JsonNode;

/// Layout options.
pub(super) struct PrettyOptions {
    /// Maximum width of a list on one line; zero or less puts every list on several lines.
    pub width: i64,
    pub prefix: String,
    pub indent: String,
    pub sort_keys: bool,
}

impl Default for PrettyOptions {
    fn default() -> Self {
        Self { width: 80, prefix: String::new(), indent: "  ".to_string(), sort_keys: false }
    }
}

/// Returns the value with its layout.
pub(super) fn pretty(node: &JsonNode, options: &PrettyOptions) -> JsonNode {
    let plain = node.plain();
    let mut page = PrettyPrinter { out: options.prefix.clone(), line_at: 0, options };
    page.any(plain, 0);
    page.out.push('\n');
    match plain {
        JsonNode::Array(_) | JsonNode::Object(_) => JsonNode::Pretty(page.out, Box::new(plain.clone())),
        // Scalars have no layout.
        other => other.clone(),
    }
}

struct PrettyPrinter<'a> {
    out: String,
    /// Start of the current line.
    line_at: usize,
    options: &'a PrettyOptions,
}

impl PrettyPrinter<'_> {
    fn any(&mut self, node: &JsonNode, depth: usize) {
        match node.plain() {
            JsonNode::Array(items) => self.list(items, depth),
            JsonNode::Object(fields) => self.map(fields, depth),
            other => self.out.push_str(&other.json()),
        }
    }

    fn list(&mut self, items: &[JsonNode], depth: usize) {
        let room = self.options.width - (self.out.len() - self.line_at) as i64;
        if self.options.width > 0
            && room > 3
            && let Some(line) = one_line(items)
            && line.len() as i64 <= room
        {
            self.out.push_str(&line);
            return;
        }
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            self.new_line(index > 0, depth + 1);
            self.any(item, depth + 1);
        }
        self.close(']', !items.is_empty(), depth);
    }

    fn map(&mut self, fields: &[(String, JsonNode)], depth: usize) {
        let mut order: Vec<&(String, JsonNode)> = fields.iter().collect();
        if self.options.sort_keys {
            order.sort_by(|a, b| a.0.cmp(&b.0));
        }
        self.out.push('{');
        for (index, (name, node)) in order.into_iter().enumerate() {
            self.new_line(index > 0, depth + 1);
            self.out.push_str(&JsonNode::String(name.clone()).json());
            self.out.push_str(": ");
            self.any(node, depth + 1);
        }
        self.close('}', !fields.is_empty(), depth);
    }

    fn new_line(&mut self, behind_another: bool, depth: usize) {
        if behind_another {
            self.out.push(',');
        }
        self.line_at = self.out.len();
        self.out.push('\n');
        self.tabs(depth);
    }

    fn close(&mut self, bracket: char, filled: bool, depth: usize) {
        if filled {
            self.line_at = self.out.len();
            self.out.push('\n');
            self.tabs(depth);
        }
        self.out.push(bracket);
    }

    fn tabs(&mut self, depth: usize) {
        self.out.push_str(&self.options.prefix);
        (0..depth).for_each(|_| self.out.push_str(&self.options.indent));
    }
}

/// Formats a list on one line, or returns `None` if the list contains a map.
fn one_line(items: &[JsonNode]) -> Option<String> {
    let mut out = "[".to_string();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        match item.plain() {
            JsonNode::Object(_) => return None,
            JsonNode::Array(items) => out.push_str(&one_line(items)?),
            other => out.push_str(&other.json()),
        }
    }
    out.push(']');
    Some(out)
}
