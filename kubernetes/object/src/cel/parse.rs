//! Parsing, within bounds.

use std::sync::OnceLock;

use ::cel::Env;
use ::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, MapExpr, SourceInfo};
use ::cel::parser::{Macro, MacroExprHelper, ParseError};

/// Bound on the length of a rule, as in kube-apiserver.
const MAX_CODE_POINTS: usize = 100_000;
/// Bound on the operators in one rule. Each operator may nest the tree one level deeper.
const MAX_OPERATORS: usize = 5_000;
/// Rules with at most this many operators are parsed on the caller's stack.
const MAX_OPERATORS_HERE: usize = 40;
/// Bound on the depth of the tree, because evaluation recurses.
const MAX_DEPTH: usize = 200;
/// Stack size of the parser thread, large enough for `MAX_OPERATORS`.
const PARSER_STACK_BYTES: usize = 256 * 1024 * 1024;

/// Parsed rule.
#[derive(Debug)]
pub(super) struct ParsedRule {
    pub expression: IdedExpr,
    pub source: SourceInfo,
}

/// Parses a rule. The error is cel-go's list of issues.
pub(super) fn parse(text: &str) -> Result<ParsedRule, String> {
    let size = text.chars().count();
    if size > MAX_CODE_POINTS {
        let issue = format!("expression code point size exceeds limit: size: {size}, limit {MAX_CODE_POINTS}");
        return Err(format!("ERROR: <input>:-1:0: {issue}"));
    }
    let operators = text.bytes().filter(|b| b".[({!-+*/%?<>=&|,:".contains(b)).count();
    if operators > MAX_OPERATORS {
        return Err("ERROR: <input>:-1:0: expression has too many operators".into());
    }
    if operators <= MAX_OPERATORS_HERE {
        return parse_here(text);
    }
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().stack_size(PARSER_STACK_BYTES);
        match parser.spawn_scoped(scope, || parse_here(text)) {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err("ERROR: <input>:-1:0: the parser failed".into())),
            Err(_) => Err("ERROR: <input>:-1:0: no thread for the parser".into()),
        }
    })
}

fn parse_here(text: &str) -> Result<ParsedRule, String> {
    let parsed = environment().parser().max_recursion_depth(MAX_DEPTH as u16).parse_with_source_info(text);
    match parsed {
        Ok((expression, source)) if depth(&expression) <= MAX_DEPTH => Ok(ParsedRule { expression, source }),
        Ok(_) => Err(format!("ERROR: <input>:-1:0: expression recursion limit exceeded: {MAX_DEPTH}")),
        Err(errors) => {
            let shown = |e: &ParseError| issue(text, e.pos.0, e.pos.1, issue_text(text, e));
            let issues: Vec<String> = errors.errors.iter().map(shown).collect();
            Err(issues.join("\n"))
        }
    }
}

/// Returns cel-go's text for a parser error.
fn issue_text<'a>(text: &str, error: &'a ParseError) -> &'a str {
    let line = usize::try_from(error.pos.0 - 1).ok().and_then(|line| text.lines().nth(line)).unwrap_or("");
    let before: String = line.chars().take(usize::try_from(error.pos.1 - 1).unwrap_or(0)).collect();
    let collects = [".filter(", ".map("].iter().any(|name| before.trim_end().ends_with(name));
    match error.msg.as_str() {
        "argument must be a simple name" if collects => "argument is not an identifier",
        message => message,
    }
}

/// Formats an issue with its line and a mark below the position. Columns count from one.
pub(super) fn issue(text: &str, line: isize, column: isize, message: &str) -> String {
    let mut out = format!("ERROR: <input>:{line}:{column}: {message}");
    let shown = usize::try_from(line - 1).ok().and_then(|line| text.lines().nth(line));
    if let Some(shown) = shown {
        // A wide dot stands for a character of more than one byte.
        let before = shown.chars().chain(std::iter::repeat('.')).take(usize::try_from(column - 1).unwrap_or(0));
        let dots: String = before.map(|c| if c.is_ascii() { '.' } else { '．' }).collect();
        out.push_str(&format!("\n | {shown}\n | {dots}^"));
    }
    out
}

fn environment() -> &'static Env {
    static ENVIRONMENT: OnceLock<Env> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| {
        let mut env = Env::stdlib();
        for (name, count, expand) in MACROS {
            let added = env.add_macro(Macro::receiver(name, count, move |helper, target, args| {
                let target = target.take().ok_or_else(|| helper.new_error(0, "a target is expected"))?;
                expand(helper, target, std::mem::take(args)).map(Some)
            }));
            debug_assert!(added.is_ok(), "{name}/{count} is not a standard macro");
        }
        env
    })
}

type MacroExpander = fn(&mut MacroExprHelper<'_>, IdedExpr, Vec<IdedExpr>) -> Result<IdedExpr, ParseError>;

/// Macros that Kubernetes adds to the standard ones.
const MACROS: [(&str, usize, MacroExpander); 11] = [
    ("all", 3, all_two),
    ("exists", 3, exists_two),
    ("existsOne", 3, exists_one_two),
    ("exists_one", 3, exists_one_two),
    ("transformList", 3, transform_list),
    ("transformList", 4, transform_list),
    ("transformMap", 3, transform_map),
    ("transformMap", 4, transform_map),
    ("transformMapEntry", 3, transform_map_entry),
    ("transformMapEntry", 4, transform_map_entry),
    ("sortBy", 2, sort_by),
];

const ACCUMULATOR: &str = "@result";

fn call(h: &mut MacroExprHelper<'_>, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    h.next_expr(Expr::Call(CallExpr { func_name: name.to_string(), target: None, args }))
}

fn method(h: &mut MacroExprHelper<'_>, target: IdedExpr, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    h.next_expr(Expr::Call(CallExpr { func_name: name.to_string(), target: Some(Box::new(target)), args }))
}

fn ident(h: &mut MacroExprHelper<'_>, name: &str) -> IdedExpr {
    h.next_expr(Expr::Ident(name.to_string()))
}

fn boolean(h: &mut MacroExprHelper<'_>, value: bool) -> IdedExpr {
    h.next_expr(Expr::Literal(::cel::common::ast::LiteralValue::Boolean(value.into())))
}

fn list(h: &mut MacroExprHelper<'_>, elements: Vec<IdedExpr>) -> IdedExpr {
    h.next_expr(Expr::List(ListExpr::new(elements)))
}

fn variable(h: &MacroExprHelper<'_>, e: &IdedExpr) -> Result<String, ParseError> {
    match &e.expr {
        Expr::Ident(name) => Ok(name.clone()),
        _ => Err(h.new_error(e.id, "argument must be a simple name")),
    }
}

/// Macro that loops over keys and values.
struct LoopMacro {
    first: String,
    second: Option<String>,
    range: IdedExpr,
}

impl LoopMacro {
    /// Takes the two variables from the arguments.
    fn from_arguments(h: &MacroExprHelper<'_>, range: IdedExpr, args: &mut Vec<IdedExpr>) -> Result<Self, ParseError> {
        let (first, second) = (variable(h, &args[0])?, variable(h, &args[1])?);
        args.drain(..2);
        Ok(Self { first, second: Some(second), range })
    }

    fn build(
        self,
        h: &mut MacroExprHelper<'_>,
        accu_init: IdedExpr,
        loop_cond: IdedExpr,
        loop_step: IdedExpr,
        result: IdedExpr,
    ) -> IdedExpr {
        let comprehension = ComprehensionExpr {
            iter_range: self.range,
            iter_var: self.first,
            iter_var2: self.second,
            accu_var: ACCUMULATOR.to_string(),
            accu_init,
            loop_cond,
            loop_step,
            result,
        };
        h.next_expr(Expr::Comprehension(Box::new(comprehension)))
    }
}

fn last(args: &mut Vec<IdedExpr>) -> IdedExpr {
    args.pop().unwrap_or_default()
}

fn all_two(h: &mut MacroExprHelper<'_>, target: IdedExpr, mut args: Vec<IdedExpr>) -> Result<IdedExpr, ParseError> {
    let looped = LoopMacro::from_arguments(h, target, &mut args)?;
    let accumulator = ident(h, ACCUMULATOR);
    let condition = call(h, "@not_strictly_false", vec![accumulator]);
    let accumulator = ident(h, ACCUMULATOR);
    let step = call(h, "_&&_", vec![accumulator, last(&mut args)]);
    let (init, result) = (boolean(h, true), ident(h, ACCUMULATOR));
    Ok(looped.build(h, init, condition, step, result))
}

fn exists_two(h: &mut MacroExprHelper<'_>, target: IdedExpr, mut args: Vec<IdedExpr>) -> Result<IdedExpr, ParseError> {
    let looped = LoopMacro::from_arguments(h, target, &mut args)?;
    let accumulator = ident(h, ACCUMULATOR);
    let not = call(h, "!_", vec![accumulator]);
    let condition = call(h, "@not_strictly_false", vec![not]);
    let accumulator = ident(h, ACCUMULATOR);
    let step = call(h, "_||_", vec![accumulator, last(&mut args)]);
    let (init, result) = (boolean(h, false), ident(h, ACCUMULATOR));
    Ok(looped.build(h, init, condition, step, result))
}

fn int(h: &mut MacroExprHelper<'_>, value: i64) -> IdedExpr {
    h.next_expr(Expr::Literal(::cel::common::ast::LiteralValue::Int(value.into())))
}

fn exists_one_two(
    h: &mut MacroExprHelper<'_>,
    target: IdedExpr,
    mut args: Vec<IdedExpr>,
) -> Result<IdedExpr, ParseError> {
    let looped = LoopMacro::from_arguments(h, target, &mut args)?;
    let (accumulator, one) = (ident(h, ACCUMULATOR), int(h, 1));
    let more = call(h, "_+_", vec![accumulator, one]);
    let accumulator = ident(h, ACCUMULATOR);
    let step = call(h, "_?_:_", vec![last(&mut args), more, accumulator]);
    let (accumulator, one) = (ident(h, ACCUMULATOR), int(h, 1));
    let result = call(h, "_==_", vec![accumulator, one]);
    let (init, condition) = (int(h, 0), boolean(h, true));
    Ok(looped.build(h, init, condition, step, result))
}

/// Returns `step`, guarded by the filter in `args` if there is one.
fn apply_filter(h: &mut MacroExprHelper<'_>, step: IdedExpr, mut args: Vec<IdedExpr>) -> IdedExpr {
    match args.pop() {
        Some(filter) => {
            let accumulator = ident(h, ACCUMULATOR);
            call(h, "_?_:_", vec![filter, step, accumulator])
        }
        None => step,
    }
}

fn transform_list(
    h: &mut MacroExprHelper<'_>,
    target: IdedExpr,
    mut args: Vec<IdedExpr>,
) -> Result<IdedExpr, ParseError> {
    let looped = LoopMacro::from_arguments(h, target, &mut args)?;
    let transformed = last(&mut args);
    let (accumulator, added) = (ident(h, ACCUMULATOR), list(h, vec![transformed]));
    let step = call(h, "_+_", vec![accumulator, added]);
    let step = apply_filter(h, step, args);
    let (init, condition, result) = (list(h, vec![]), boolean(h, true), ident(h, ACCUMULATOR));
    Ok(looped.build(h, init, condition, step, result))
}

fn transform_map(
    h: &mut MacroExprHelper<'_>,
    target: IdedExpr,
    mut args: Vec<IdedExpr>,
) -> Result<IdedExpr, ParseError> {
    let looped = LoopMacro::from_arguments(h, target, &mut args)?;
    let transformed = last(&mut args);
    let (accumulator, key) = (ident(h, ACCUMULATOR), ident(h, &looped.first.clone()));
    let step = call(h, "@mapInsert", vec![accumulator, key, transformed]);
    let step = apply_filter(h, step, args);
    let init = h.next_expr(Expr::Map(MapExpr { entries: vec![] }));
    let (condition, result) = (boolean(h, true), ident(h, ACCUMULATOR));
    Ok(looped.build(h, init, condition, step, result))
}

fn transform_map_entry(
    h: &mut MacroExprHelper<'_>,
    target: IdedExpr,
    mut args: Vec<IdedExpr>,
) -> Result<IdedExpr, ParseError> {
    let looped = LoopMacro::from_arguments(h, target, &mut args)?;
    let transformed = last(&mut args);
    let accumulator = ident(h, ACCUMULATOR);
    let step = call(h, "@mapInsert", vec![accumulator, transformed]);
    let step = apply_filter(h, step, args);
    let init = h.next_expr(Expr::Map(MapExpr { entries: vec![] }));
    let (condition, result) = (boolean(h, true), ident(h, ACCUMULATOR));
    Ok(looped.build(h, init, condition, step, result))
}

fn sort_by(h: &mut MacroExprHelper<'_>, target: IdedExpr, mut args: Vec<IdedExpr>) -> Result<IdedExpr, ParseError> {
    let key = last(&mut args);
    let first = variable(h, &args[0])?;
    let looped = LoopMacro { first, second: None, range: target.clone() };
    let (accumulator, added) = (ident(h, ACCUMULATOR), list(h, vec![key]));
    let step = call(h, "_+_", vec![accumulator, added]);
    let (init, condition, result) = (list(h, vec![]), boolean(h, true), ident(h, ACCUMULATOR));
    let keys = looped.build(h, init, condition, step, result);
    Ok(method(h, target, "@sortByAssociatedKeys", vec![keys]))
}

/// Returns the depth of the tree without recursion.
fn depth(root: &IdedExpr) -> usize {
    let mut deepest = 0;
    let mut open = vec![(root, 1)];
    while let Some((node, depth)) = open.pop() {
        deepest = deepest.max(depth);
        let mut push = |child| open.push((child, depth + 1));
        match &node.expr {
            Expr::Call(call) => {
                call.target.iter().for_each(|target| push(target));
                call.args.iter().for_each(push);
            }
            Expr::Select(select) => push(&select.operand),
            Expr::List(list) => list.elements.iter().for_each(push),
            Expr::Map(map) => entries(&map.entries).for_each(push),
            Expr::Struct(message) => entries(&message.entries).for_each(push),
            Expr::Comprehension(c) => {
                [&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result].into_iter().for_each(push);
            }
            Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        }
    }
    deepest
}

fn entries(entries: &[::cel::common::ast::IdedEntryExpr]) -> impl Iterator<Item = &IdedExpr> {
    entries.iter().flat_map(|entry| match &entry.expr {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    })
}
