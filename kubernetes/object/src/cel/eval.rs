//! Evaluation with a cost limit.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::cost::{charge_size, is_shallow};
use super::functions;
use super::operators::{arithmetic, compare, element, equal, is_in};
use super::value::{CelText, CelValue, EvalError, EvalResult};

/// Cost limit of one evaluation, in steps.
pub(super) const PER_CALL_LIMIT: u64 = 1_000_000;

/// Evaluator of one expression.
pub(super) struct Evaluator<'a> {
    variables: Vec<(&'a str, EvalResult<'a>)>,
    cost: u64,
    limit: u64,
}

impl<'a> Evaluator<'a> {
    pub fn new(limit: u64) -> Self {
        Self { variables: Vec::new(), cost: 0, limit }
    }

    pub fn bind(&mut self, name: &'a str, value: CelValue<'a>) {
        self.variables.push((name, Ok(value)));
    }

    /// Returns the steps taken so far.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    pub fn eval(&mut self, expression: &'a IdedExpr) -> EvalResult<'a> {
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
                        CelValue::Optional(inner) if list.optional_indices.contains(&index) => {
                            items.extend(inner.map(|inner| *inner));
                        }
                        value => items.push(value),
                    }
                }
                Ok(CelValue::list(items))
            }
            Expr::Map(map) => self.map_literal(&map.entries),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) | Expr::Unspecified => Err(EvalError::overload()),
        }
    }

    fn charge(&mut self, steps: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(steps);
        if self.cost > self.limit { Err(EvalError::Limit) } else { Ok(()) }
    }

    fn variable(&self, name: &str) -> EvalResult<'a> {
        if let Some((_, value)) = self.variables.iter().rev().find(|(n, _)| *n == name) {
            return value.clone();
        }
        match functions::type_named(name) {
            Some(kind) => Ok(CelValue::Type(Arc::from(kind))),
            None => Err(EvalError::text(format!("no such attribute(s): {name}"))),
        }
    }

    fn is_variable(&self, name: &str) -> bool {
        self.variables.iter().any(|(n, _)| *n == name)
    }

    fn select(&mut self, select: &'a SelectExpr) -> EvalResult<'a> {
        if let Some(kind) = type_path(select).filter(|_| !select.test) {
            return Ok(CelValue::Type(Arc::from(kind)));
        }
        let operand = self.eval(&select.operand)?;
        let optional = matches!(operand, CelValue::Optional(_));
        let inside = match operand {
            CelValue::Optional(None) if select.test => return Ok(CelValue::Bool(false)),
            CelValue::Optional(None) => return Ok(CelValue::Optional(None)),
            CelValue::Optional(Some(inner)) => *inner,
            other => other,
        };
        let found = inside.field(&select.field)?;
        match (select.test, optional, found) {
            (true, _, found) => Ok(CelValue::Bool(found.is_some())),
            (false, true, found) => Ok(CelValue::Optional(found.map(Box::new))),
            (false, false, Some(value)) => Ok(value),
            (false, false, None) => Err(EvalError::text(format!("no such key: {}", select.field))),
        }
    }

    fn map_literal(&mut self, entries: &'a [::cel::common::ast::IdedEntryExpr]) -> EvalResult<'a> {
        self.charge(30)?;
        let mut map = BTreeMap::new();
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(EvalError::overload()) };
            let key = self.eval(&entry.key)?;
            let key = key.key().ok_or_else(|| EvalError::text("unsupported key type"))?;
            let value = match (entry.optional, self.eval(&entry.value)?) {
                (true, CelValue::Optional(None)) => continue,
                (true, CelValue::Optional(Some(inner))) => *inner,
                (_, value) => value,
            };
            map.insert(key, value);
        }
        Ok(CelValue::Map(Arc::new(map)))
    }

    fn call(&mut self, call: &'a CallExpr) -> EvalResult<'a> {
        let name = call.func_name.as_str();
        match (name, call.args.as_slice()) {
            ("_&&_", [a, b]) => return self.eval_logic(a, b, false),
            ("_||_", [a, b]) => return self.eval_logic(a, b, true),
            ("_?_:_", [condition, yes, no]) => {
                return match self.eval(condition)? {
                    CelValue::Bool(true) => self.eval(yes),
                    CelValue::Bool(false) => self.eval(no),
                    _ => Err(EvalError::overload()),
                };
            }
            ("@not_strictly_false" | "__not_strictly_false__", [value]) => {
                return match self.eval(value) {
                    Ok(CelValue::Bool(false)) => Ok(CelValue::Bool(false)),
                    Err(EvalError::Limit) => Err(EvalError::Limit),
                    _ => Ok(CelValue::Bool(true)),
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
            arguments.iter().for_each(|argument| charge_size(argument, &mut left));
            self.charge(most - left)?;
        }
        self.apply(name, &arguments, member)
    }

    fn apply(&mut self, name: &str, arguments: &[CelValue<'a>], member: bool) -> EvalResult<'a> {
        match (name, arguments) {
            ("_==_", [a, b]) => Ok(CelValue::Bool(equal(a, b))),
            ("_!=_", [a, b]) => Ok(CelValue::Bool(!equal(a, b))),
            ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
                let nan = |v: &CelValue<'_>| matches!(v, CelValue::Double(f) if f.is_nan());
                if nan(a) || nan(b) {
                    return Ok(CelValue::Bool(false));
                }
                let order = compare(a, b).ok_or_else(EvalError::overload)?;
                Ok(CelValue::Bool(match name {
                    "_<_" => order.is_lt(),
                    "_<=_" => order.is_le(),
                    "_>_" => order.is_gt(),
                    _ => order.is_ge(),
                }))
            }
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [a, b]) => arithmetic(name, a, b),
            ("@in" | "_in_", [value, container]) => is_in(value, container),
            ("!_", [CelValue::Bool(b)]) => Ok(CelValue::Bool(!b)),
            ("-_", [CelValue::Int(n)]) => {
                n.checked_neg().map(CelValue::Int).ok_or_else(|| EvalError::text("integer overflow"))
            }
            ("-_", [CelValue::Double(f)]) => Ok(CelValue::Double(-f)),
            ("_[_]", [container, key]) => self.index(container, key),
            ("_[?_]" | "_?._", [container, key]) => optional_element(container, key),
            _ => functions::call(name, arguments, member),
        }
    }

    fn index(&self, container: &CelValue<'a>, key: &CelValue<'a>) -> EvalResult<'a> {
        if let CelValue::Optional(inner) = container {
            let Some(inner) = inner else { return Ok(CelValue::Optional(None)) };
            return Ok(CelValue::Optional(element(inner, key)?.map(Box::new)));
        }
        element(container, key)?.ok_or_else(|| match container {
            CelValue::List(_) | CelValue::JsonList(..) => {
                EvalError::text(format!("index out of bounds: {}", functions::display_text(key)))
            }
            _ => EvalError::text(format!("no such key: {}", functions::display_text(key))),
        })
    }

    /// Evaluates `&&` (`decides` false) or `||` (`decides` true). One deciding side is enough, even if the other side
    /// fails.
    fn eval_logic(&mut self, a: &'a IdedExpr, b: &'a IdedExpr, decides: bool) -> EvalResult<'a> {
        let left = self.eval(a);
        if matches!(left, Ok(CelValue::Bool(value)) if value == decides) {
            return left;
        }
        if left == Err(EvalError::Limit) {
            return left;
        }
        let right = self.eval(b);
        match (left, right) {
            (_, Err(EvalError::Limit)) => Err(EvalError::Limit),
            (_, Ok(CelValue::Bool(value))) if value == decides => Ok(CelValue::Bool(decides)),
            (Ok(CelValue::Bool(_)), Ok(CelValue::Bool(value))) => Ok(CelValue::Bool(value)),
            (Err(error), _) | (_, Err(error)) => Err(error),
            _ => Err(EvalError::overload()),
        }
    }

    fn or(&mut self, call: &'a CallExpr, other: &'a IdedExpr, keep_optional: bool) -> EvalResult<'a> {
        let target = call.target.as_deref().ok_or_else(EvalError::overload)?;
        match self.eval(target)? {
            CelValue::Optional(None) => self.eval(other),
            CelValue::Optional(Some(inner)) if keep_optional => Ok(CelValue::Optional(Some(inner))),
            CelValue::Optional(Some(inner)) => Ok(*inner),
            _ => Err(EvalError::overload()),
        }
    }

    fn comprehension(&mut self, c: &'a ComprehensionExpr) -> EvalResult<'a> {
        let range = self.eval(&c.iter_range)?;
        let init = self.eval(&c.accu_init);
        if init == Err(EvalError::Limit) {
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

    fn iterate(&mut self, c: &'a ComprehensionExpr, range: CelValue<'a>, accumulator: usize) -> Result<(), EvalError> {
        let pairs: Vec<(CelValue<'a>, CelValue<'a>)> = match (range.items(), range.entries()) {
            (Some(items), _) => {
                items?.into_iter().enumerate().map(|(index, item)| (CelValue::Int(index as i64), item)).collect()
            }
            (None, Some(entries)) => entries?,
            (None, None) if c.iter_var2.is_some() => {
                let kind = go_type(&range);
                return Err(EvalError::text(format!("unsupported comprehension range type: {kind}")));
            }
            (None, None) => return Err(EvalError::text(format!("got '{}', expected iterable type", go_type(&range)))),
        };
        let is_list = matches!(range, CelValue::List(_) | CelValue::JsonList(..));
        self.charge(pairs.len() as u64)?;
        for (key, value) in pairs {
            match self.eval(&c.loop_cond) {
                Ok(CelValue::Bool(false)) => break,
                Err(EvalError::Limit) => return Err(EvalError::Limit),
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
            if stepped == Err(EvalError::Limit) {
                return Err(EvalError::Limit);
            }
            self.variables.truncate(accumulator + 1);
            self.variables[accumulator].1 = stepped;
        }
        Ok(())
    }

    /// Runs one step of a loop. `accumulator + [x]` appends to the list in place, so that loops stay linear.
    fn step(&mut self, step: &'a IdedExpr, name: &str, accumulator: usize) -> EvalResult<'a> {
        let Expr::Call(call) = &step.expr else { return self.eval(step) };
        let is_accumulator = |e: &IdedExpr| matches!(&e.expr, Expr::Ident(n) if n == name);
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("_+_", [first, second]) if is_accumulator(first) && matches!(second.expr, Expr::List(_)) => {
                let added = self.eval(second)?;
                let taken = std::mem::replace(&mut self.variables[accumulator].1, Ok(CelValue::Null))?;
                match (taken, added) {
                    (CelValue::List(mut items), CelValue::List(added)) => {
                        Arc::make_mut(&mut items).extend(added.iter().cloned());
                        Ok(CelValue::List(items))
                    }
                    (taken, added) => arithmetic("_+_", &taken, &added),
                }
            }
            ("_?_:_", [condition, yes, no]) if is_accumulator(no) => match self.eval(condition)? {
                CelValue::Bool(true) => self.step(yes, name, accumulator),
                CelValue::Bool(false) => std::mem::replace(&mut self.variables[accumulator].1, Ok(CelValue::Null)),
                _ => Err(EvalError::overload()),
            },
            ("@mapInsert", [first, rest @ ..]) if is_accumulator(first) => {
                let rest = rest.iter().map(|e| self.eval(e)).collect::<Result<Vec<_>, _>>()?;
                let taken = std::mem::replace(&mut self.variables[accumulator].1, Ok(CelValue::Null))?;
                functions::map_insert(taken, &rest)
            }
            _ => self.eval(step),
        }
    }
}

impl PartialEq for CelValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        equal(self, other)
    }
}

fn optional_element<'a>(container: &CelValue<'a>, key: &CelValue<'a>) -> EvalResult<'a> {
    let inner = match container {
        CelValue::Optional(None) => return Ok(CelValue::Optional(None)),
        CelValue::Optional(Some(inner)) => inner,
        other => other,
    };
    let found = match (inner, key) {
        (CelValue::Object(..), CelValue::Text(name)) => inner.field(name)?,
        _ => element(inner, key)?,
    };
    Ok(CelValue::Optional(found.map(Box::new)))
}

/// Returns cel-go's name for the type of a value.
fn go_type(value: &CelValue<'_>) -> &'static str {
    match value {
        CelValue::Null => "types.Null",
        CelValue::Bool(_) => "types.Bool",
        CelValue::Int(_) => "types.Int",
        CelValue::Uint(_) => "types.Uint",
        CelValue::Double(_) => "types.Double",
        CelValue::Text(_) => "types.String",
        CelValue::Bytes(_) => "types.Bytes",
        CelValue::Duration(_) => "types.Duration",
        CelValue::Timestamp(_) => "types.Timestamp",
        other => other.type_name(),
    }
}

/// Returns the type for a qualified name such as `google.protobuf.Timestamp`.
fn type_path(select: &SelectExpr) -> Option<&'static str> {
    match &select.operand.expr {
        Expr::Ident(head) if head == "net" => functions::type_named(&format!("net.{}", select.field)),
        Expr::Select(inner) if matches!(&inner.operand.expr, Expr::Ident(head) if head == "google") => {
            functions::type_named(&format!("google.{}.{}", inner.field, select.field))
        }
        _ => None,
    }
}

fn literal_value(literal: &LiteralValue) -> CelValue<'_> {
    match literal {
        LiteralValue::Boolean(b) => CelValue::Bool(*b.inner()),
        LiteralValue::Bytes(bytes) => CelValue::Bytes(Arc::from(bytes.inner())),
        LiteralValue::Double(f) => CelValue::Double(*f.inner()),
        LiteralValue::Int(n) => CelValue::Int(*n.inner()),
        LiteralValue::Null => CelValue::Null,
        LiteralValue::String(text) => CelValue::Text(CelText::Borrowed(text.inner())),
        LiteralValue::UInt(n) => CelValue::Uint(*n.inner()),
    }
}
