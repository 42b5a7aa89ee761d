//! Functions a template can call, and the table of them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::exec::Execution;
use crate::value::{Type, Value};

/// What a function takes and gives, as Go would declare it. Arguments are checked against it before the call, with Go's
/// error texts, so a body may rely on it.
#[derive(Clone, Copy)]
pub struct Signature {
    /// The types of the parameters; of the last one, if it is variadic, the type of one argument.
    pub params: &'static [Type],
    /// Whether the last parameter takes any number of arguments.
    pub variadic: bool,
    /// The type of the result.
    pub result: Type,
    /// Why no template can call it, for a method whose results Go's templates have no use for.
    pub fault: Option<&'static str>,
}

impl Signature {
    /// A fixed number of parameters.
    pub const fn new(params: &'static [Type], result: Type) -> Signature {
        Signature { params, variadic: false, result, fault: None }
    }

    /// Any number of arguments for the last parameter.
    pub const fn variadic(params: &'static [Type], result: Type) -> Signature {
        Signature { params, variadic: true, result, fault: None }
    }

    /// A method without parameters that no template can call.
    pub const fn faulty(fault: &'static str) -> Signature {
        Signature { params: &[], variadic: false, result: Type::ANY, fault: Some(fault) }
    }

    /// The type argument `index` must have.
    pub(crate) fn param(&self, index: usize) -> Type {
        let last = self.params.len().saturating_sub(1);
        self.params.get(index.min(last)).copied().unwrap_or(Type::ANY)
    }
}

impl From<&Signature> for Signature {
    fn from(signature: &Signature) -> Signature {
        *signature
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("func(")?;
        for (index, param) in self.params.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let dots = if self.variadic && index + 1 == self.params.len() { "..." } else { "" };
            write!(f, "{comma}{dots}{param}")?;
        }
        write!(f, ") {}", self.result)
    }
}

/// What a function does: it gets the running execution, and arguments that fit its signature. A missing or nil argument
/// is [`Value::Nil`], or the nil of its type where the parameter is a list or a map.
pub type Body = dyn Fn(&mut Execution<'_>, &[Value]) -> Result<Value, Error> + Send + Sync;

/// A function of a template.
#[derive(Clone)]
pub struct Function {
    pub(crate) signature: Signature,
    pub(crate) body: Arc<Body>,
}

impl Function {
    /// A function with this signature and body.
    pub fn new(
        signature: impl Into<Signature>,
        body: impl Fn(&mut Execution<'_>, &[Value]) -> Result<Value, Error> + Send + Sync + 'static,
    ) -> Function {
        Function { signature: signature.into(), body: Arc::new(body) }
    }

    /// What it takes and gives; printed, it is the name of its Go type.
    pub fn signature(&self) -> Signature {
        self.signature
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.signature)
    }
}

/// A table of functions by name. Templates are parsed with one and keep the places of its functions; Go's own (`and`,
/// `index`, `printf`, ...) need not be in it.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    places: HashMap<String, u32>,
    functions: Vec<Function>,
}

impl Functions {
    /// A table with Go's own functions only.
    pub fn new() -> Functions {
        Functions::default()
    }

    /// Adds a function, or replaces the one of that name.
    pub fn insert(&mut self, name: &str, function: Function) {
        match self.places.get(name) {
            Some(place) => self.functions[*place as usize] = function,
            None => {
                self.places.insert(name.to_string(), self.functions.len() as u32);
                self.functions.push(function);
            }
        }
    }

    /// Adds a function whose signature and body are at hand.
    pub fn add(
        &mut self,
        name: &str,
        signature: impl Into<Signature>,
        body: impl Fn(&mut Execution<'_>, &[Value]) -> Result<Value, Error> + Send + Sync + 'static,
    ) {
        self.insert(name, Function::new(signature, body));
    }

    /// Takes a function away.
    pub fn remove(&mut self, name: &str) {
        self.places.remove(name);
    }

    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.places.get(name).map(|place| &self.functions[*place as usize])
    }

    /// Whether there is a function of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.places.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn place(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    pub(crate) fn at(&self, place: u32) -> &Function {
        &self.functions[place as usize]
    }
}
