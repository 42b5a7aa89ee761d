//! Evaluation, with a bound on what it may cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::cost::{is_shallow, weigh};
use super::functions;
use super::operators::{arithmetic, compare, element, equal, is_in};
use super::value::{Fail, Outcome, Text, Val};

/// What one evaluation may cost, in steps.
pub(super) const PER_CALL_LIMIT: u64 = 1_000_000;

/// Evaluates one expression.
pub(super) struct Machine<'a> {
    variables: Vec<(&'a str, Outcome<'a>)>,
    cost: u64,
    limit: u64,
}

impl<'a> Machine<'a> {
    pub fn new(limit: u64) -> Self {
        Self { variables: Vec::new(), cost: 0, limit }
    }

    pub fn bind(&mut self, name: &'a str, value: Val<'a>) {
        self.variables.push((name, Ok(value)));
    }

    /// The steps made so far.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    pub fn eval(&mut self, expression: &'a IdedExpr) -> Outcome<'a> {
        self.charge(1)?;
        match &expression.expr {
            Expr::Literal(literal) => Ok(literal_value(literal)),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                self.charge(10)?;
                let mut items = Vec::with_capacity(list.elements.len());
                for (index, element) in list.elements.iter().enumerate() {
                    let value = self.eval(element)?;
                    match value {
                        Val::Optional(inner) if list.optional_indices.contains(&index) => {
                            items.extend(inner.map(|inner| *inner));
                        }
                        value => items.push(value),
                    }
                }
                Ok(Val::list(items))
            }
            Expr::Map(map) => self.map_literal(&map.entries),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) | Expr::Unspecified => Err(Fail::overload()),
        }
    }

    fn charge(&mut self, steps: u64) -> Result<(), Fail> {
        self.cost = self.cost.saturating_add(steps);
        if self.cost > self.limit { Err(Fail::Limit) } else { Ok(()) }
    }

    fn variable(&self, name: &str) -> Outcome<'a> {
        if let Some((_, value)) = self.variables.iter().rev().find(|(n, _)| *n == name) {
            return value.clone();
        }
        match functions::type_named(name) {
            Some(kind) => Ok(Val::Type(Arc::from(kind))),
            None => Err(Fail::text(format!("no such attribute(s): {name}"))),
        }
    }

    fn is_variable(&self, name: &str) -> bool {
        self.variables.iter().any(|(n, _)| *n == name)
    }

    fn select(&mut self, select: &'a SelectExpr) -> Outcome<'a> {
        if let Some(kind) = type_path(select).filter(|_| !select.test) {
            return Ok(Val::Type(Arc::from(kind)));
        }
        let operand = self.eval(&select.operand)?;
        let optional = matches!(operand, Val::Optional(_));
        let inside = match operand {
            Val::Optional(None) if select.test => return Ok(Val::Bool(false)),
            Val::Optional(None) => return Ok(Val::Optional(None)),
            Val::Optional(Some(inner)) => *inner,
            other => other,
        };
        let found = inside.field(&select.field)?;
        match (select.test, optional, found) {
            (true, _, found) => Ok(Val::Bool(found.is_some())),
            (false, true, found) => Ok(Val::Optional(found.map(Box::new))),
            (false, false, Some(value)) => Ok(value),
            (false, false, None) => Err(Fail::text(format!("no such key: {}", select.field))),
        }
    }

    fn map_literal(&mut self, entries: &'a [::cel::common::ast::IdedEntryExpr]) -> Outcome<'a> {
        self.charge(30)?;
        let mut map = BTreeMap::new();
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(Fail::overload()) };
            let key = self.eval(&entry.key)?;
            let key = key.key().ok_or_else(|| Fail::text("unsupported key type"))?;
            let value = match (entry.optional, self.eval(&entry.value)?) {
                (true, Val::Optional(None)) => continue,
                (true, Val::Optional(Some(inner))) => *inner,
                (_, value) => value,
            };
            map.insert(key, value);
        }
        Ok(Val::Map(Arc::new(map)))
    }

    fn call(&mut self, call: &'a CallExpr) -> Outcome<'a> {
        let name = call.func_name.as_str();
        match (name, call.args.as_slice()) {
            ("_&&_", [a, b]) => return self.both(a, b, false),
            ("_||_", [a, b]) => return self.both(a, b, true),
            ("_?_:_", [condition, yes, no]) => {
                return match self.eval(condition)? {
                    Val::Bool(true) => self.eval(yes),
                    Val::Bool(false) => self.eval(no),
                    _ => Err(Fail::overload()),
                };
            }
            ("@not_strictly_false" | "__not_strictly_false__", [value]) => {
                return match self.eval(value) {
                    Ok(Val::Bool(false)) => Ok(Val::Bool(false)),
                    Err(Fail::Limit) => Err(Fail::Limit),
                    _ => Ok(Val::Bool(true)),
                };
            }
            ("or" | "orValue", [other]) if call.target.is_some() => return self.or(call, other, name == "or"),
            _ => {}
        }
        let mut arguments = Vec::with_capacity(call.args.len() + 1);
        let mut full_name = None;
        let mut member = false;
        if let Some(target) = &call.target {
            match &target.expr {
                Expr::Ident(space) if !self.is_variable(space) && functions::is_namespaced(space, name) => {
                    full_name = Some(format!("{space}.{name}"));
                }
                _ => {
                    member = true;
                    arguments.push(self.eval(target)?);
                }
            }
        }
        for argument in &call.args {
            arguments.push(self.eval(argument)?);
        }
        let name = full_name.as_deref().unwrap_or(name);
        if !is_shallow(name) {
            let most = self.limit.saturating_sub(self.cost) + 1;
            let mut left = most;
            arguments.iter().for_each(|argument| weigh(argument, &mut left));
            self.charge(most - left)?;
        }
        self.apply(name, &arguments, member)
    }

    fn apply(&mut self, name: &str, arguments: &[Val<'a>], member: bool) -> Outcome<'a> {
        match (name, arguments) {
            ("_==_", [a, b]) => Ok(Val::Bool(equal(a, b))),
            ("_!=_", [a, b]) => Ok(Val::Bool(!equal(a, b))),
            ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
                let nan = |v: &Val<'_>| matches!(v, Val::Double(f) if f.is_nan());
                if nan(a) || nan(b) {
                    return Ok(Val::Bool(false));
                }
                let order = compare(a, b).ok_or_else(Fail::overload)?;
                Ok(Val::Bool(match name {
                    "_<_" => order.is_lt(),
                    "_<=_" => order.is_le(),
                    "_>_" => order.is_gt(),
                    _ => order.is_ge(),
                }))
            }
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [a, b]) => arithmetic(name, a, b),
            ("@in" | "_in_", [value, container]) => is_in(value, container),
            ("!_", [Val::Bool(b)]) => Ok(Val::Bool(!b)),
            ("-_", [Val::Int(n)]) => n.checked_neg().map(Val::Int).ok_or_else(|| Fail::text("integer overflow")),
            ("-_", [Val::Double(f)]) => Ok(Val::Double(-f)),
            ("_[_]", [container, key]) => self.index(container, key),
            ("_[?_]" | "_?._", [container, key]) => optional_element(container, key),
            _ => functions::call(name, arguments, member),
        }
    }

    fn index(&self, container: &Val<'a>, key: &Val<'a>) -> Outcome<'a> {
        if let Val::Optional(inner) = container {
            let Some(inner) = inner else { return Ok(Val::Optional(None)) };
            return Ok(Val::Optional(element(inner, key)?.map(Box::new)));
        }
        element(container, key)?.ok_or_else(|| match container {
            Val::List(_) | Val::JsonList(..) => Fail::text(format!("index out of bounds: {}", functions::shown(key))),
            _ => Fail::text(format!("no such key: {}", functions::shown(key))),
        })
    }

    /// `&&` (`decides` false) and `||` (`decides` true): one deciding side is enough, whatever the other does.
    fn both(&mut self, a: &'a IdedExpr, b: &'a IdedExpr, decides: bool) -> Outcome<'a> {
        let left = self.eval(a);
        if matches!(left, Ok(Val::Bool(value)) if value == decides) {
            return left;
        }
        if left == Err(Fail::Limit) {
            return left;
        }
        let right = self.eval(b);
        match (left, right) {
            (_, Err(Fail::Limit)) => Err(Fail::Limit),
            (_, Ok(Val::Bool(value))) if value == decides => Ok(Val::Bool(decides)),
            (Ok(Val::Bool(_)), Ok(Val::Bool(value))) => Ok(Val::Bool(value)),
            (Err(error), _) | (_, Err(error)) => Err(error),
            _ => Err(Fail::overload()),
        }
    }

    fn or(&mut self, call: &'a CallExpr, other: &'a IdedExpr, keep_optional: bool) -> Outcome<'a> {
        let target = call.target.as_deref().ok_or_else(Fail::overload)?;
        match self.eval(target)? {
            Val::Optional(None) => self.eval(other),
            Val::Optional(Some(inner)) if keep_optional => Ok(Val::Optional(Some(inner))),
            Val::Optional(Some(inner)) => Ok(*inner),
            _ => Err(Fail::overload()),
        }
    }

    fn comprehension(&mut self, c: &'a ComprehensionExpr) -> Outcome<'a> {
        let range = self.eval(&c.iter_range)?;
        let init = self.eval(&c.accu_init);
        if init == Err(Fail::Limit) {
            return init;
        }
        let depth = self.variables.len();
        self.variables.push((&c.accu_var, init));
        let outcome = self.iterate(c, range, depth).and_then(|()| {
            self.variables.truncate(depth + 1);
            self.eval(&c.result)
        });
        self.variables.truncate(depth);
        outcome
    }

    fn iterate(&mut self, c: &'a ComprehensionExpr, range: Val<'a>, accumulator: usize) -> Result<(), Fail> {
        let pairs: Vec<(Val<'a>, Val<'a>)> = match (range.items(), range.entries()) {
            (Some(items), _) => {
                items?.into_iter().enumerate().map(|(index, item)| (Val::Int(index as i64), item)).collect()
            }
            (None, Some(entries)) => entries?,
            (None, None) if c.iter_var2.is_some() => {
                let kind = go_type(&range);
                return Err(Fail::text(format!("unsupported comprehension range type: {kind}")));
            }
            (None, None) => return Err(Fail::text(format!("got '{}', expected iterable type", go_type(&range)))),
        };
        let is_list = matches!(range, Val::List(_) | Val::JsonList(..));
        self.charge(pairs.len() as u64)?;
        for (key, value) in pairs {
            match self.eval(&c.loop_cond) {
                Ok(Val::Bool(false)) => break,
                Err(Fail::Limit) => return Err(Fail::Limit),
                _ => {}
            }
            match &c.iter_var2 {
                Some(second) => {
                    self.variables.push((&c.iter_var, Ok(key)));
                    self.variables.push((second, Ok(value)));
                }
                None => self.variables.push((&c.iter_var, Ok(if is_list { value } else { key }))),
            }
            let stepped = self.step(&c.loop_step, &c.accu_var, accumulator);
            if stepped == Err(Fail::Limit) {
                return Err(Fail::Limit);
            }
            self.variables.truncate(accumulator + 1);
            self.variables[accumulator].1 = stepped;
        }
        Ok(())
    }

    /// One step of a loop. `accumulator + [x]` grows the list in place: loops stay linear.
    fn step(&mut self, step: &'a IdedExpr, name: &str, accumulator: usize) -> Outcome<'a> {
        let Expr::Call(call) = &step.expr else { return self.eval(step) };
        let is_accumulator = |e: &IdedExpr| matches!(&e.expr, Expr::Ident(n) if n == name);
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("_+_", [first, second]) if is_accumulator(first) && matches!(second.expr, Expr::List(_)) => {
                let added = self.eval(second)?;
                let taken = std::mem::replace(&mut self.variables[accumulator].1, Ok(Val::Null))?;
                match (taken, added) {
                    (Val::List(mut items), Val::List(added)) => {
                        Arc::make_mut(&mut items).extend(added.iter().cloned());
                        Ok(Val::List(items))
                    }
                    (taken, added) => arithmetic("_+_", &taken, &added),
                }
            }
            ("_?_:_", [condition, yes, no]) if is_accumulator(no) => match self.eval(condition)? {
                Val::Bool(true) => self.step(yes, name, accumulator),
                Val::Bool(false) => std::mem::replace(&mut self.variables[accumulator].1, Ok(Val::Null)),
                _ => Err(Fail::overload()),
            },
            ("@mapInsert", [first, rest @ ..]) if is_accumulator(first) => {
                let rest = rest.iter().map(|e| self.eval(e)).collect::<Result<Vec<_>, _>>()?;
                let taken = std::mem::replace(&mut self.variables[accumulator].1, Ok(Val::Null))?;
                functions::map_insert(taken, &rest)
            }
            _ => self.eval(step),
        }
    }
}

impl PartialEq for Val<'_> {
    fn eq(&self, other: &Self) -> bool {
        equal(self, other)
    }
}

fn optional_element<'a>(container: &Val<'a>, key: &Val<'a>) -> Outcome<'a> {
    let inner = match container {
        Val::Optional(None) => return Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => inner,
        other => other,
    };
    let found = match (inner, key) {
        (Val::Object(..), Val::Text(name)) => inner.field(name)?,
        _ => element(inner, key)?,
    };
    Ok(Val::Optional(found.map(Box::new)))
}

/// What upstream's own language calls the type of a value.
fn go_type(value: &Val<'_>) -> &'static str {
    match value {
        Val::Null => "types.Null",
        Val::Bool(_) => "types.Bool",
        Val::Int(_) => "types.Int",
        Val::Uint(_) => "types.Uint",
        Val::Double(_) => "types.Double",
        Val::Text(_) => "types.String",
        Val::Bytes(_) => "types.Bytes",
        Val::Duration(_) => "types.Duration",
        Val::Timestamp(_) => "types.Timestamp",
        other => other.type_name(),
    }
}

/// The type that `google.protobuf.Timestamp` and the like name.
fn type_path(select: &SelectExpr) -> Option<&'static str> {
    match &select.operand.expr {
        Expr::Ident(head) if head == "net" => functions::type_named(&format!("net.{}", select.field)),
        Expr::Select(inner) if matches!(&inner.operand.expr, Expr::Ident(head) if head == "google") => {
            functions::type_named(&format!("google.{}.{}", inner.field, select.field))
        }
        _ => None,
    }
}

fn literal_value(literal: &LiteralValue) -> Val<'_> {
    match literal {
        LiteralValue::Boolean(b) => Val::Bool(*b.inner()),
        LiteralValue::Bytes(bytes) => Val::Bytes(Arc::from(bytes.inner())),
        LiteralValue::Double(f) => Val::Double(*f.inner()),
        LiteralValue::Int(n) => Val::Int(*n.inner()),
        LiteralValue::Null => Val::Null,
        LiteralValue::String(text) => Val::Text(Text::Borrowed(text.inner())),
        LiteralValue::UInt(n) => Val::Uint(*n.inner()),
    }
}
