//! The functions by name, with the signatures they have in Go.

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
mod versions;
mod world;

use std::sync::LazyLock;

use super::Sprig;
use super::ambient::Ambient;
use crate::error::Error;
use crate::exec::Execution;
use crate::function::{Function, Functions, Signature};
use crate::value::Value;

/// Declares what a function takes and gives: `sig!(INT, STRING => STRING)`, `sig!(... ANY => ANY)`.
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

/// Go's types by short names, for signatures.
pub(super) mod types {
    use crate::value::{Shape, Type};

    pub const ANY: Type = Type::ANY;
    pub const BOOL: Type = Type::BOOL;
    pub const INT: Type = Type::INT;
    pub const INT64: Type = Type::INT64;
    pub const UINT32: Type = Type::UINT32;
    pub const FLOAT64: Type = Type::FLOAT64;
    pub const STRING: Type = Type::STRING;
    pub const LIST: Type = Type::LIST;
    pub const STRINGS: Type = Type::STRINGS;
    pub const INTS: Type = Type::INTS;
    pub const MAP: Type = Type::MAP;
    pub const STRING_MAP: Type = Type::STRING_MAP;
    pub const LISTS: Type = Type(&Shape::Slice(Type::LIST));
}

/// A table being filled for one version of sprig.
pub(super) struct Table {
    pub functions: Functions,
    pub sprig: Sprig,
}

pub(super) type Answer = Result<Value, Error>;

impl Table {
    /// All functions of a version.
    pub(super) fn new(sprig: Sprig) -> Table {
        let mut table = Table { functions: Functions::new(), sprig };
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
        world::add(&mut table);
        table
    }

    /// A function under one or more names.
    pub(super) fn add(
        &mut self,
        names: &[&str],
        signature: &'static Signature,
        body: impl Fn(&mut Execution<'_>, &[Value]) -> Answer + Send + Sync + 'static,
    ) {
        let function = Function::new(signature, body);
        for name in names {
            self.functions.insert(name, function.clone());
        }
    }

    /// A function that sprig v2 does not have.
    pub(super) fn add_v3(
        &mut self,
        names: &[&str],
        signature: &'static Signature,
        body: impl Fn(&mut Execution<'_>, &[Value]) -> Answer + Send + Sync + 'static,
    ) {
        if self.sprig == Sprig::V3 {
            self.add(names, signature, body);
        }
    }
}

static NOTHING: LazyLock<Ambient> = LazyLock::new(Ambient::default);

/// What the execution was given of the world; nothing, if nothing was.
pub(super) fn ambient<'a>(execution: &Execution<'a>) -> &'a Ambient {
    execution.host::<Ambient>().unwrap_or(&NOTHING)
}

/// A string argument. Signatures are checked before a call, so it is one.
pub(super) fn bytes(args: &[Value], index: usize) -> &[u8] {
    args.get(index).and_then(Value::as_str).map_or(&[], |text| text.as_bytes())
}

/// A string argument as text.
pub(super) fn text(args: &[Value], index: usize) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes(args, index))
}

/// An integer argument.
pub(super) fn int(args: &[Value], index: usize) -> i64 {
    args.get(index).and_then(Value::as_i64).unwrap_or(0)
}

/// What Go says of a nil that is used.
pub(super) fn nil_dereference() -> Error {
    Error::call("runtime error: invalid memory address or nil pointer dereference")
}
