//! Type checking. A rule that names an unknown field or compares incompatible types is refused when the CRD is written,
//! not when an object is.

use std::sync::Arc;

use ::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::functions;
use super::parse::{ParsedRule, issue};
use super::signatures::{self, FunctionSignature};
use super::types::{self, CelType};
use super::unify::Unifier;
use crate::duration;
use crate::schema::pattern;

/// Result of type checking.
pub(super) struct CheckedRule {
    pub kind: CelType,
    pub uses_old_self: bool,
    /// Error of an invalid pattern in a literal. kube-apiserver reports it when it instantiates the program.
    pub bad_pattern: Option<String>,
}

/// Checks an expression with the given variables. The error is cel-go's list of issues.
pub(super) fn check(parsed: &ParsedRule, text: &str, variables: &[(&str, CelType)]) -> Result<CheckedRule, String> {
    let scopes = variables.iter().map(|(name, kind)| ((*name).to_string(), kind.clone())).collect();
    let mut checker = RuleChecker {
        parsed,
        scopes,
        unifier: Unifier::default(),
        issues: Vec::new(),
        uses_old_self: false,
        bad_pattern: None,
        mixed: false,
    };
    let kind = checker.visit(&parsed.expression);
    if checker.issues.is_empty() {
        let kind = checker.unifier.resolved(&kind);
        return Ok(CheckedRule { kind, uses_old_self: checker.uses_old_self, bad_pattern: checker.bad_pattern });
    }
    checker.issues.sort_by_key(|(at, _)| *at);
    let shown = checker.issues.iter().map(|(at, message)| {
        let before = text.get(..*at as usize).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        issue(text, line as isize, column as isize, message)
    });
    Err(shown.collect::<Vec<_>>().join("\n"))
}

const STRING_CLAUSE: &str = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";

struct RuleChecker<'p> {
    parsed: &'p ParsedRule,
    scopes: Vec<(String, CelType)>,
    unifier: Unifier,
    issues: Vec<(u32, String)>,
    uses_old_self: bool,
    bad_pattern: Option<String>,
    /// Whether literals may hold several types.
    mixed: bool,
}

impl RuleChecker<'_> {
    fn report(&mut self, id: u64, message: String) -> CelType {
        let at = self.parsed.source.offset_for(id).map_or(0, |(start, _)| start);
        if !self.issues.iter().any(|(place, text)| *place == at && *text == message) {
            self.issues.push((at, message));
        }
        CelType::Error
    }

    fn undeclared(&mut self, id: u64, name: &str) -> CelType {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn visit(&mut self, expression: &IdedExpr) -> CelType {
        let id = expression.id;
        match &expression.expr {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.ident(id, name),
            Expr::Select(select) => self.select(id, select),
            Expr::Call(call) => self.call(id, call),
            Expr::List(list) => {
                let mut item = self.unifier.fresh();
                for (index, element) in list.elements.iter().enumerate() {
                    let mut found = self.visit(element);
                    if list.optional_indices.contains(&index) {
                        found = self.inside_optional(found);
                    }
                    item = self.join_types(element.id, item, found);
                }
                CelType::List(Arc::new(item))
            }
            Expr::Map(map) => self.map(map),
            Expr::Struct(message) => {
                for entry in &message.entries {
                    if let EntryExpr::StructField(field) = &entry.expr {
                        self.visit(&field.value);
                    }
                }
                self.undeclared(id, &message.type_name)
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Unspecified => CelType::Error,
        }
    }

    fn ident(&mut self, id: u64, name: &str) -> CelType {
        if let Some((_, kind)) = self.scopes.iter().rev().find(|(n, _)| n == name) {
            let kind = kind.clone();
            self.uses_old_self |= name == super::rules::OLD_SELF;
            return kind;
        }
        match functions::type_named(name) {
            Some(kind) => CelType::Type(Arc::new(CelType::parse(kind, 0))),
            None => self.undeclared(id, name),
        }
    }

    fn select(&mut self, id: u64, select: &SelectExpr) -> CelType {
        if let (Expr::Select(inner), false) = (&select.operand.expr, select.test) {
            // The only qualified names are names of types.
            if let Expr::Ident(head) = &inner.operand.expr {
                let name = format!("{head}.{}.{}", inner.field, select.field);
                if functions::type_named(&name).is_some() {
                    return CelType::Type(Arc::new(CelType::Dyn));
                }
            }
        }
        let operand = self.visit(&select.operand);
        let found = self.field(id, &operand, &select.field);
        if select.test { CelType::Bool } else { found }
    }

    fn field(&mut self, id: u64, operand: &CelType, name: &str) -> CelType {
        match self.unifier.resolved(operand) {
            CelType::Optional(inner) => {
                let found = self.field(id, &inner, name);
                CelType::Optional(Arc::new(found))
            }
            CelType::Map(_, value) => (*value).clone(),
            CelType::Object(schema, own) => types::field(&schema, &own, name)
                .unwrap_or_else(|| self.report(id, format!("undefined field '{name}'"))),
            CelType::Dyn | CelType::Var(_) => CelType::Dyn,
            CelType::Error => CelType::Error,
            other => self.report(id, format!("type '{other}' does not support field selection")),
        }
    }

    fn inside_optional(&self, kind: CelType) -> CelType {
        match self.unifier.resolved(&kind) {
            CelType::Optional(inner) => (*inner).clone(),
            other => other,
        }
    }

    /// Joins the element types of a literal into one type.
    fn join_types(&mut self, id: u64, so_far: CelType, found: CelType) -> CelType {
        if self.unifier.unify(&so_far, &found) {
            let known = self.unifier.resolved(&so_far);
            return if matches!(known, CelType::Dyn) { known } else { self.unifier.resolved(&found) };
        }
        if self.mixed {
            return CelType::Dyn;
        }
        let expected = self.unifier.resolved(&so_far);
        let found = self.unifier.resolved(&found);
        self.report(id, format!("expected type '{expected}' but found '{found}'"))
    }

    fn map(&mut self, map: &::cel::common::ast::MapExpr) -> CelType {
        let (mut key, mut value) = (self.unifier.fresh(), self.unifier.fresh());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
            let found = self.visit(&entry.key);
            // Other keys fail at run time. Tracking their types here would make the map's type grow without bound.
            let plain = matches!(
                self.unifier.resolved(&found),
                CelType::Bool | CelType::Int | CelType::Uint | CelType::Text | CelType::Error
            );
            key = self.join_types(entry.key.id, key, if plain { found } else { CelType::Dyn });
            let mut found = self.visit(&entry.value);
            if entry.optional {
                found = self.inside_optional(found);
            }
            value = self.join_types(entry.value.id, value, found);
        }
        CelType::Map(Arc::new(key), Arc::new(value))
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> CelType {
        let name = call.func_name.as_str();
        if name == "_?._" {
            return self.optional_select(id, call);
        }
        if matches!(name, "_&&_" | "_||_") {
            return self.logic(call);
        }
        let qualified = match call.target.as_deref().map(|target| &target.expr) {
            Some(Expr::Ident(space)) if !self.scopes.iter().any(|(n, _)| n == space) => {
                Some(format!("{space}.{name}")).filter(|full| signatures::signatures_of(full).is_some())
            }
            _ => None,
        };
        let mut arguments = Vec::with_capacity(call.args.len() + 1);
        let member = call.target.is_some() && qualified.is_none();
        if let Some(target) = call.target.as_deref().filter(|_| member) {
            arguments.push(self.visit(target));
        }
        // Only the arguments of a format may be of several types.
        let mixed = self.mixed;
        self.mixed |= name == "format" && member;
        for argument in &call.args {
            arguments.push(self.visit(argument));
        }
        self.mixed = mixed;
        let full = qualified.as_deref().unwrap_or(name);
        self.literal_arguments(full, call);
        if name == "format" && member {
            self.format_clauses(id, call);
        }
        let Some(signatures) = signatures::signatures_of(full) else { return self.undeclared(id, full) };
        self.resolve(id, full, signatures, member, &arguments)
    }

    fn resolve(
        &mut self,
        id: u64,
        name: &str,
        signatures: &[FunctionSignature],
        member: bool,
        arguments: &[CelType],
    ) -> CelType {
        if arguments.iter().any(|argument| matches!(self.unifier.resolved(argument), CelType::Error)) {
            return CelType::Error;
        }
        let mut result: Option<CelType> = None;
        let fitting = signatures.iter().filter(|s| s.member == member && s.parameters.len() == arguments.len());
        for signature in fitting {
            let mark = self.unifier.mark();
            let variables = self.unifier.new_variable_pair();
            let fits = signature.parameters.iter().zip(arguments).all(|(parameter, argument)| {
                let parameter = CelType::parse(parameter, variables);
                self.unifier.unify(&parameter, argument)
            });
            if !fits {
                self.unifier.rewind(mark);
                continue;
            }
            let found = self.unifier.resolved(&CelType::parse(signature.result, variables));
            result = Some(match result {
                None => found,
                Some(before) if before.to_string() == found.to_string() => before,
                Some(_) => CelType::Dyn,
            });
        }
        result.unwrap_or_else(|| {
            let shown: Vec<String> = arguments.iter().map(|a| self.unifier.resolved(a).to_string()).collect();
            let applied = match (member, shown.split_first()) {
                (true, Some((target, rest))) => format!("{target}.({})", rest.join(", ")),
                _ => format!("({})", shown.join(", ")),
            };
            self.report(id, format!("found no matching overload for '{name}' applied to '{applied}'"))
        })
    }

    /// Checks each side of `&&` and `||` on its own.
    fn logic(&mut self, call: &CallExpr) -> CelType {
        for argument in &call.args {
            let found = self.visit(argument);
            if !self.unifier.unify(&CelType::Bool, &found) {
                let found = self.unifier.resolved(&found);
                self.report(argument.id, format!("expected type 'bool' but found '{found}'"));
            }
        }
        CelType::Bool
    }

    fn optional_select(&mut self, id: u64, call: &CallExpr) -> CelType {
        let [target, field] = call.args.as_slice() else { return CelType::Error };
        let operand = self.visit(target);
        let Expr::Literal(LiteralValue::String(name)) = &field.expr else { return CelType::Error };
        let operand = self.inside_optional(operand);
        let found = self.field(id, &operand, name.inner());
        CelType::Optional(Arc::new(found))
    }

    /// Validates durations, times and patterns that are literals.
    fn literal_arguments(&mut self, name: &str, call: &CallExpr) {
        let Some(argument) = call.args.last() else { return };
        let Expr::Literal(LiteralValue::String(text)) = &argument.expr else { return };
        let good = match name {
            "duration" => duration::parse(text.inner()).is_ok(),
            "timestamp" => super::value::timestamp(text.inner()).is_some(),
            "matches" => pattern::compiled(text.inner()).is_ok(),
            "find" | "findAll" => {
                self.bad_pattern = self.bad_pattern.take().or(pattern::compiled(text.inner()).err());
                true
            }
            _ => true,
        };
        if !good {
            self.report(argument.id, format!("invalid {name} argument"));
        }
    }

    /// Validates a literal format against its literal values.
    fn format_clauses(&mut self, id: u64, call: &CallExpr) {
        let Some(Expr::Literal(LiteralValue::String(template))) = call.target.as_deref().map(|t| &t.expr) else {
            return;
        };
        let [argument] = call.args.as_slice() else { return };
        let Expr::List(list) = &argument.expr else { return };
        for (index, clause) in super::libraries::strings::clauses(template.inner()).into_iter().enumerate() {
            let verb = match clause {
                Ok(verb) => verb,
                Err(why) => {
                    self.report(id, why);
                    return;
                }
            };
            let Some(element) = list.elements.get(index) else {
                self.report(id, format!("index {index} out of range"));
                return;
            };
            let mark = self.issues.len();
            let kind = self.visit(element);
            // The issues of the element were already reported with the list.
            self.issues.truncate(mark);
            let kind = self.unifier.resolved(&kind);
            let (what, fits, only) = match verb {
                'd' => ("decimal", matches!(kind, CelType::Int | CelType::Uint), "integers"),
                'f' => ("fixed-point", matches!(kind, CelType::Double), "doubles"),
                'e' => ("scientific", matches!(kind, CelType::Double), "doubles"),
                's' => ("string", !matches!(kind, CelType::Named(_) | CelType::Optional(_)), STRING_CLAUSE),
                _ => continue,
            };
            if !fits && !matches!(kind, CelType::Dyn | CelType::Var(_) | CelType::Error) {
                let message =
                    format!("error during formatting: {what} clause can only be used on {only}, was given {kind}");
                self.report(element.id, message);
            }
        }
    }

    fn comprehension(&mut self, c: &ComprehensionExpr) -> CelType {
        let range = self.visit(&c.iter_range);
        let (first, second) = match self.unifier.resolved(&range) {
            CelType::List(item) if c.iter_var2.is_some() => (CelType::Int, (*item).clone()),
            CelType::List(item) => ((*item).clone(), CelType::Dyn),
            CelType::Map(key, value) => ((*key).clone(), (*value).clone()),
            CelType::Dyn | CelType::Var(_) => (CelType::Dyn, CelType::Dyn),
            CelType::Error => (CelType::Error, CelType::Error),
            other => {
                let words = "cannot be range of a comprehension (must be list, map, or dynamic)";
                let wrong = self.report(c.iter_range.id, format!("expression of type '{other}' {words}"));
                (wrong.clone(), wrong)
            }
        };
        let accumulator = self.visit(&c.accu_init);
        let depth = self.scopes.len();
        self.scopes.push((c.accu_var.clone(), accumulator.clone()));
        self.scopes.push((c.iter_var.clone(), first));
        if let Some(name) = &c.iter_var2 {
            self.scopes.push((name.clone(), second));
        }
        self.visit(&c.loop_cond);
        let step = self.visit(&c.loop_step);
        if !self.unifier.unify(&accumulator, &step) && !matches!(step, CelType::Error) {
            let (wanted, found) = (self.unifier.resolved(&accumulator), self.unifier.resolved(&step));
            self.report(c.loop_step.id, format!("expected type '{wanted}' but found '{found}'"));
        }
        self.scopes.truncate(depth + 1);
        let result = self.visit(&c.result);
        self.scopes.truncate(depth);
        result
    }
}

fn literal_type(literal: &LiteralValue) -> CelType {
    match literal {
        LiteralValue::Boolean(_) => CelType::Bool,
        LiteralValue::Bytes(_) => CelType::Bytes,
        LiteralValue::Double(_) => CelType::Double,
        LiteralValue::Int(_) => CelType::Int,
        LiteralValue::Null => CelType::Null,
        LiteralValue::String(_) => CelType::Text,
        LiteralValue::UInt(_) => CelType::Uint,
    }
}
