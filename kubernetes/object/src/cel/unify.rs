//! Finding out types that are not known yet.

use std::sync::Arc;

use super::types::Ty;

/// What is known about each variable.
#[derive(Default)]
pub(super) struct Unifier {
    known: Vec<Option<Ty>>,
    /// Variables in the order they became known, for taking it back.
    trail: Vec<usize>,
}

impl Unifier {
    pub fn fresh(&mut self) -> Ty {
        self.known.push(None);
        Ty::Var(self.known.len() - 1)
    }

    /// Two variables in a row; returns the first.
    pub fn two_fresh(&mut self) -> usize {
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

    /// A type with everything put in that is known.
    pub fn resolved(&self, kind: &Ty) -> Ty {
        match kind {
            Ty::Var(variable) => match &self.known[*variable] {
                Some(known) => self.resolved(known),
                None => Ty::Var(*variable),
            },
            Ty::List(item) => Ty::List(Arc::new(self.resolved(item))),
            Ty::Map(key, value) => Ty::Map(Arc::new(self.resolved(key)), Arc::new(self.resolved(value))),
            Ty::Optional(inner) => Ty::Optional(Arc::new(self.resolved(inner))),
            Ty::Type(inner) => Ty::Type(Arc::new(self.resolved(inner))),
            other => other.clone(),
        }
    }

    /// Whether a value of the type `found` may stand where `wanted` is wanted; learns variables on the way.
    pub fn unify(&mut self, wanted: &Ty, found: &Ty) -> bool {
        match (self.shallow(wanted), self.shallow(found)) {
            (Ty::Var(a), Ty::Var(b)) if a == b => true,
            (Ty::Var(a), other) | (other, Ty::Var(a)) => self.learn(a, other),
            (Ty::Dyn | Ty::Error, _) | (_, Ty::Dyn | Ty::Error) => true,
            (Ty::List(a), Ty::List(b)) | (Ty::Optional(a), Ty::Optional(b)) => self.unify(&a, &b),
            (Ty::Map(ak, av), Ty::Map(bk, bv)) => self.unify(&ak, &bk) && self.unify(&av, &bv),
            (Ty::Type(_), Ty::Type(_)) => true,
            (Ty::Object(a, _), Ty::Object(b, _)) => Arc::ptr_eq(&a, &b),
            (Ty::Object(..) | Ty::Named(_) | Ty::Duration | Ty::Timestamp, Ty::Null)
            | (Ty::Null, Ty::Object(..) | Ty::Named(_) | Ty::Duration | Ty::Timestamp) => true,
            (Ty::Named(a), Ty::Named(b)) => a == b,
            (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b) && is_plain(&a),
        }
    }

    fn shallow(&self, kind: &Ty) -> Ty {
        match kind {
            Ty::Var(variable) => match &self.known[*variable] {
                Some(known) => self.shallow(known),
                None => Ty::Var(*variable),
            },
            other => other.clone(),
        }
    }

    fn learn(&mut self, variable: usize, kind: Ty) -> bool {
        if self.occurs(variable, &kind) {
            return false;
        }
        self.known[variable] = Some(kind);
        self.trail.push(variable);
        true
    }

    /// A type that holds itself would have no end.
    fn occurs(&self, variable: usize, kind: &Ty) -> bool {
        match self.shallow(kind) {
            Ty::Var(other) => other == variable,
            Ty::List(inner) | Ty::Optional(inner) | Ty::Type(inner) => self.occurs(variable, &inner),
            Ty::Map(key, value) => self.occurs(variable, &key) || self.occurs(variable, &value),
            _ => false,
        }
    }
}

fn is_plain(kind: &Ty) -> bool {
    matches!(
        kind,
        Ty::Null | Ty::Bool | Ty::Int | Ty::Uint | Ty::Double | Ty::Text | Ty::Bytes | Ty::Duration | Ty::Timestamp
    )
}
