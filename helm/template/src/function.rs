//! Functions that templates can call, and the table of them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::exec::Execution;
use crate::value::{ReflectType, Value};

/// Parameters and result of a function, as declared in Go. The engine checks arguments against the signature before the
/// call, with Go's error texts, so the body can rely on it.
#[derive(Clone, Copy)]
pub struct Signature {
    /// Types of the parameters. For a variadic parameter, the type of one argument.
    pub params: &'static [ReflectType],
    /// Whether the last parameter takes any number of arguments.
    pub variadic: bool,
    /// Type of the result.
    pub result: ReflectType,
    /// Reason why templates cannot call the function: a method whose results Go's templates do not support.
    pub uncallable_reason: Option<&'static str>,
}

impl Signature {
    /// Creates a signature with a fixed number of parameters.
    pub const fn new(params: &'static [ReflectType], result: ReflectType) -> Signature {
        Signature { params, variadic: false, result, uncallable_reason: None }
    }

    /// Creates a signature whose last parameter takes any number of arguments.
    pub const fn variadic(params: &'static [ReflectType], result: ReflectType) -> Signature {
        Signature { params, variadic: true, result, uncallable_reason: None }
    }

    /// Creates the signature of a method without parameters that templates cannot call.
    pub const fn uncallable(fault: &'static str) -> Signature {
        Signature { params: &[], variadic: false, result: ReflectType::ANY, uncallable_reason: Some(fault) }
    }

    /// Returns the type that argument `index` must have.
    pub(crate) fn param(&self, index: usize) -> ReflectType {
        let last = self.params.len().saturating_sub(1);
        self.params.get(index.min(last)).copied().unwrap_or(ReflectType::ANY)
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

/// Body of a function. It receives the running execution and arguments that fit the signature. A missing or nil
/// argument is
/// [`Value::Nil`], or the nil of its type if the parameter is a list or a map.
pub type FunctionBody = dyn Fn(&mut Execution<'_>, &[Value]) -> Result<Value, Error> + Send + Sync;

/// A function that templates can call.
#[derive(Clone)]
pub struct Function {
    pub(crate) signature: Signature,
    pub(crate) body: Arc<FunctionBody>,
}

impl Function {
    /// Creates a function with this signature and body.
    pub fn new(
        signature: impl Into<Signature>,
        body: impl Fn(&mut Execution<'_>, &[Value]) -> Result<Value, Error> + Send + Sync + 'static,
    ) -> Function {
        Function { signature: signature.into(), body: Arc::new(body) }
    }

    /// Returns the signature. Its text is the name of the Go type.
    pub fn signature(&self) -> Signature {
        self.signature
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.signature)
    }
}

/// A table of functions by name. Parsed templates refer to functions by their index in the table. Go's built-in
/// functions (`and`, `index`, `printf`, ...) need not be in it.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    places: HashMap<String, u32>,
    functions: Vec<Function>,
}

impl Functions {
    /// Creates a table with only Go's built-in functions.
    pub fn new() -> Functions {
        Functions::default()
    }

    /// Adds a function, or replaces the function of that name.
    pub fn insert(&mut self, name: &str, function: Function) {
        match self.places.get(name) {
            Some(place) => self.functions[*place as usize] = function,
            None => {
                self.places.insert(name.to_string(), self.functions.len() as u32);
                self.functions.push(function);
            }
        }
    }

    /// Adds a function with this signature and body.
    pub fn add(
        &mut self,
        name: &str,
        signature: impl Into<Signature>,
        body: impl Fn(&mut Execution<'_>, &[Value]) -> Result<Value, Error> + Send + Sync + 'static,
    ) {
        self.insert(name, Function::new(signature, body));
    }

    /// Removes a function.
    pub fn remove(&mut self, name: &str) {
        self.places.remove(name);
    }

    /// Returns the function of that name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.places.get(name).map(|place| &self.functions[*place as usize])
    }

    /// Whether the table has a function of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.places.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn index_of(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    pub(crate) fn get_at(&self, place: u32) -> &Function {
        &self.functions[place as usize]
    }
}
