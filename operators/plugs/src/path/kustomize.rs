//! Path syntax of kustomize: `ports[0]`, `[name=web]`, `annotations[example.com/a]`.

use serde_json::Value;

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KustomizeStep {
    /// Field of a map, or element of a list if the name is a number.
    Field(String),
    /// List element whose field has the value; with an empty field, the element itself.
    Element { field: String, value: String },
}

/// Returns the steps of a kustomize path, or `None` if the path has no kustomize-only syntax.
pub(super) fn steps(path: &str) -> Option<Vec<KustomizeStep>> {
    let mut steps = Vec::new();
    let mut own = false;
    for component in components(path)? {
        let (name, brackets) = split(&component)?;
        if !name.is_empty() || brackets.is_empty() {
            steps.push(KustomizeStep::Field(name));
        }
        for inside in brackets {
            own = true;
            steps.push(bracket(&inside, component.starts_with('['))?);
        }
    }
    own.then_some(steps)
}

/// Splits a path at dots that are neither escaped nor in brackets. Returns `None` for gjson-only syntax.
fn components(path: &str) -> Option<Vec<String>> {
    let (mut components, mut current, mut depth) = (Vec::new(), String::new(), 0u32);
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                current.push('\\');
                current.push(chars.next()?);
                continue;
            }
            // Queries, modifiers, multipaths, pipes, literals, wildcards.
            '#' | '|' | '{' | '(' if depth == 0 => return None,
            '@' | '!' if depth == 0 && current.is_empty() => return None,
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            '.' if depth == 0 => {
                components.push(std::mem::take(&mut current));
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    components.push(current);
    Some(components)
}

/// Splits a component into its name and the contents of its brackets.
fn split(component: &str) -> Option<(String, Vec<String>)> {
    let open = unescaped(component, '[').unwrap_or(component.len());
    let (name, mut rest) = component.split_at(open);
    let mut brackets = Vec::new();
    while !rest.is_empty() {
        let close = rest.find(']')?;
        brackets.push(rest.strip_prefix('[')?[..close - 1].to_string());
        rest = &rest[close + 1..];
    }
    Some((unescape(name), brackets))
}

fn unescaped(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == wanted => return Some(at),
            _ => {}
        }
    }
    None
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}

/// Parses the content of a bracket. `alone` is a bracket without a name before it, which in gjson starts a multipath:
/// `[a,b]`.
fn bracket(inside: &str, alone: bool) -> Option<KustomizeStep> {
    if let Some((field, value)) = inside.split_once('=').filter(|(field, _)| !field.contains([',', '"', '\''])) {
        return Some(KustomizeStep::Element { field: field.to_string(), value: value.to_string() });
    }
    let quoted = |quote: char| inside.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    match quoted('"').or_else(|| quoted('\'')) {
        Some(key) => Some(KustomizeStep::Field(key.to_string())),
        None if alone && !inside.bytes().all(|b| b.is_ascii_digit()) => None,
        None if inside.is_empty() => None,
        None => Some(KustomizeStep::Field(inside.to_string())),
    }
}

/// Returns the value at the steps.
pub(super) fn follow<'a>(object: &'a Value, steps: &[KustomizeStep]) -> Option<&'a Value> {
    steps.iter().try_fold(object, |at, step| match (step, at) {
        (KustomizeStep::Field(name), Value::Object(fields)) => fields.get(name),
        (KustomizeStep::Field(name), Value::Array(items)) if name == "-" => items.last(),
        (KustomizeStep::Field(name), Value::Array(items)) => items.get(name.parse::<usize>().ok()?),
        (KustomizeStep::Element { field, value }, Value::Array(items)) => items.iter().find(|item| {
            let own = if field.is_empty() { Some(*item) } else { item.get(field) };
            own.is_some_and(|own| is(own, value))
        }),
        _ => None,
    })
}

fn is(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own == text,
        Value::Number(own) => own.to_string() == text,
        Value::Bool(own) => own.to_string() == text,
        _ => false,
    }
}
