//! Table of sprig's functions by name, with their Go signatures.

mod crypto;
mod dates;
mod defaults;
mod dicts;
mod lists;
mod merge;
mod numbers;
mod paths;
mod regexes;
mod strings;
mod structure;
mod system;
mod versions;

use std::sync::LazyLock;

use super::SprigVersion;
use super::system_inputs::SystemInputs;
use crate::error::Error;
use crate::exec::Execution;
use crate::function::{Function, Functions, Signature};
use crate::value::Value;

/// Declares a signature: `sig!(INT, STRING => STRING)`, `sig!(... ANY => ANY)`.
macro_rules! sig {
    (... $last:expr => $result:expr) => {
        sig!(@variadic [$last] => $result)
    };
    ($($param:expr),* ; ... $last:expr => $result:expr) => {
        sig!(@variadic [$($param,)* $last] => $result)
    };
    (@variadic [$($param:expr),*] => $result:expr) => {{
        #[allow(unused_imports)]
        use $crate::sprig::table::types::*;
        const { &$crate::function::Signature::variadic(&[$($param),*], $result) }
    }};
    ($($param:expr),* => $result:expr) => {{
        #[allow(unused_imports)]
        use $crate::sprig::table::types::*;
        const { &$crate::function::Signature::new(&[$($param),*], $result) }
    }};
}
pub(crate) use sig;

/// Short names of Go's types, for signatures.
pub(super) mod types {
    use crate::value::{ReflectType, TypeShape};

    pub const ANY: ReflectType = ReflectType::ANY;
    pub const BOOL: ReflectType = ReflectType::BOOL;
    pub const INT: ReflectType = ReflectType::INT;
    pub const INT64: ReflectType = ReflectType::INT64;
    pub const UINT32: ReflectType = ReflectType::UINT32;
    pub const FLOAT64: ReflectType = ReflectType::FLOAT64;
    pub const STRING: ReflectType = ReflectType::STRING;
    pub const LIST: ReflectType = ReflectType::LIST;
    pub const STRINGS: ReflectType = ReflectType::STRINGS;
    pub const INTS: ReflectType = ReflectType::INTS;
    pub const MAP: ReflectType = ReflectType::MAP;
    pub const STRING_MAP: ReflectType = ReflectType::STRING_MAP;
    pub const LISTS: ReflectType = ReflectType(&TypeShape::Slice(ReflectType::LIST));
}

/// A table under construction, for one version of sprig.
pub(super) struct FunctionTable {
    pub functions: Functions,
    pub sprig: SprigVersion,
}

pub(super) type FunctionResult = Result<Value, Error>;

impl FunctionTable {
    /// Creates the table with all functions of a version.
    pub(super) fn new(sprig: SprigVersion) -> FunctionTable {
        let mut table = FunctionTable { functions: Functions::new(), sprig };
        strings::add(&mut table);
        numbers::add(&mut table);
        lists::add(&mut table);
        dicts::add(&mut table);
        defaults::add(&mut table);
        structure::add(&mut table);
        paths::add(&mut table);
        regexes::add(&mut table);
        versions::add(&mut table);
        dates::add(&mut table);
        crypto::add(&mut table);
        system::add(&mut table);
        table
    }

    /// Adds a function under one or more names.
    pub(super) fn add(
        &mut self,
        names: &[&str],
        signature: &'static Signature,
        body: impl Fn(&mut Execution<'_>, &[Value]) -> FunctionResult + Send + Sync + 'static,
    ) {
        let function = Function::new(signature, body);
        for name in names {
            self.functions.insert(name, function.clone());
        }
    }

    /// Adds a function that sprig v2 does not have.
    pub(super) fn add_v3(
        &mut self,
        names: &[&str],
        signature: &'static Signature,
        body: impl Fn(&mut Execution<'_>, &[Value]) -> FunctionResult + Send + Sync + 'static,
    ) {
        if self.sprig == SprigVersion::V3 {
            self.add(names, signature, body);
        }
    }
}

static NOTHING: LazyLock<SystemInputs> = LazyLock::new(SystemInputs::default);

/// Returns the system inputs of the execution, or empty ones if it has none.
pub(super) fn system_inputs<'a>(execution: &Execution<'a>) -> &'a SystemInputs {
    execution.host::<SystemInputs>().unwrap_or(&NOTHING)
}

/// Returns a string argument. The engine has checked the signature, so the argument is a string.
pub(super) fn bytes(args: &[Value], index: usize) -> &[u8] {
    args.get(index).and_then(Value::as_str).map_or(&[], |text| text.as_bytes())
}

/// Returns a string argument as text.
pub(super) fn text(args: &[Value], index: usize) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes(args, index))
}

/// Returns an integer argument.
pub(super) fn int(args: &[Value], index: usize) -> i64 {
    args.get(index).and_then(Value::as_i64).unwrap_or(0)
}

/// Creates Go's error for dereferencing nil.
pub(super) fn nil_dereference() -> Error {
    Error::call("runtime error: invalid memory address or nil pointer dereference")
}
