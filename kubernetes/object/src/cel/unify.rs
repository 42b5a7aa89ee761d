//! Unification of types.

use std::sync::Arc;

use super::types::CelType;

/// Bindings of type variables.
#[derive(Default)]
pub(super) struct Unifier {
    known: Vec<Option<CelType>>,
    /// Variables in the order of their binding, for undoing bindings.
    trail: Vec<usize>,
}

impl Unifier {
    pub fn fresh(&mut self) -> CelType {
        self.known.push(None);
        CelType::Var(self.known.len() - 1)
    }

    /// Creates two consecutive variables; returns the first.
    pub fn new_variable_pair(&mut self) -> usize {
        self.known.extend([None, None]);
        self.known.len() - 2
    }

    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    pub fn rewind(&mut self, mark: usize) {
        for variable in self.trail.drain(mark..) {
            self.known[variable] = None;
        }
    }

    /// Returns a type with all bound variables replaced.
    pub fn resolved(&self, kind: &CelType) -> CelType {
        match kind {
            CelType::Var(variable) => match &self.known[*variable] {
                Some(known) => self.resolved(known),
                None => CelType::Var(*variable),
            },
            CelType::List(item) => CelType::List(Arc::new(self.resolved(item))),
            CelType::Map(key, value) => CelType::Map(Arc::new(self.resolved(key)), Arc::new(self.resolved(value))),
            CelType::Optional(inner) => CelType::Optional(Arc::new(self.resolved(inner))),
            CelType::Type(inner) => CelType::Type(Arc::new(self.resolved(inner))),
            other => other.clone(),
        }
    }

    /// Whether a value of type `found` is accepted as `wanted`. Binds variables on the way.
    pub fn unify(&mut self, wanted: &CelType, found: &CelType) -> bool {
        match (self.shallow(wanted), self.shallow(found)) {
            (CelType::Var(a), CelType::Var(b)) if a == b => true,
            (CelType::Var(a), other) | (other, CelType::Var(a)) => self.learn(a, other),
            (CelType::Dyn | CelType::Error, _) | (_, CelType::Dyn | CelType::Error) => true,
            (CelType::List(a), CelType::List(b)) | (CelType::Optional(a), CelType::Optional(b)) => self.unify(&a, &b),
            (CelType::Map(ak, av), CelType::Map(bk, bv)) => self.unify(&ak, &bk) && self.unify(&av, &bv),
            (CelType::Type(_), CelType::Type(_)) => true,
            (CelType::Object(a, _), CelType::Object(b, _)) => Arc::ptr_eq(&a, &b),
            (CelType::Object(..) | CelType::Named(_) | CelType::Duration | CelType::Timestamp, CelType::Null)
            | (CelType::Null, CelType::Object(..) | CelType::Named(_) | CelType::Duration | CelType::Timestamp) => true,
            (CelType::Named(a), CelType::Named(b)) => a == b,
            (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b) && is_plain(&a),
        }
    }

    fn shallow(&self, kind: &CelType) -> CelType {
        match kind {
            CelType::Var(variable) => match &self.known[*variable] {
                Some(known) => self.shallow(known),
                None => CelType::Var(*variable),
            },
            other => other.clone(),
        }
    }

    fn learn(&mut self, variable: usize, kind: CelType) -> bool {
        if self.occurs(variable, &kind) {
            return false;
        }
        self.known[variable] = Some(kind);
        self.trail.push(variable);
        true
    }

    /// Whether a type contains the variable. Binding it would create an infinite type.
    fn occurs(&self, variable: usize, kind: &CelType) -> bool {
        match self.shallow(kind) {
            CelType::Var(other) => other == variable,
            CelType::List(inner) | CelType::Optional(inner) | CelType::Type(inner) => self.occurs(variable, &inner),
            CelType::Map(key, value) => self.occurs(variable, &key) || self.occurs(variable, &value),
            _ => false,
        }
    }
}

fn is_plain(kind: &CelType) -> bool {
    matches!(
        kind,
        CelType::Null
            | CelType::Bool
            | CelType::Int
            | CelType::Uint
            | CelType::Double
            | CelType::Text
            | CelType::Bytes
            | CelType::Duration
            | CelType::Timestamp
    )
}
