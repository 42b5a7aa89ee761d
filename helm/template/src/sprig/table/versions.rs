//! Semantic versions.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::{Table, sig, text};
use crate::error::Error;
use crate::function::Signature;
use crate::sprig::semver::{Constraints, FirstConstraints, Generation, Version};
use crate::sprig::{SemverError, Sprig};
use crate::value::{Method, MethodBody, Named, Object, Shape, Str, Type, Value};

// Types and methods know each other. Statics may be named before they are made; constants made of them may not.
static THIRD_NAME: Named = Named { name: "semver.Version", underlying: Type(&Shape::Struct), methods: &THIRD_METHODS };
static FIRST_NAME: Named = Named { name: "semver.Version", underlying: Type(&Shape::Struct), methods: &FIRST_METHODS };
static THIRD_STRUCT: Shape = Shape::Named(&THIRD_NAME);
static FIRST_STRUCT: Shape = Shape::Named(&FIRST_NAME);
static THIRD_POINTER: Shape = Shape::Pointer(Type(&THIRD_STRUCT));
static FIRST_POINTER: Shape = Shape::Pointer(Type(&FIRST_STRUCT));

/// `*semver.Version`, whose numbers are unsigned in v3 and signed in v1.
const THIRD: Type = Type(&THIRD_POINTER);
const FIRST: Type = Type(&FIRST_POINTER);

/// A version as a value: of which generation, and whether it is behind a pointer.
#[derive(Debug, Clone)]
struct Semver {
    version: Version,
    generation: Generation,
    pointer: bool,
}

impl Semver {
    fn number(&self, number: u64) -> Value {
        match self.generation {
            Generation::First => Value::Int64(number as i64),
            Generation::Third => Value::Uint64(number),
        }
    }

    /// Whether it has a text of its own; v1 gives one to pointers only.
    fn tells(&self) -> bool {
        self.pointer || self.generation == Generation::Third
    }

    /// What `IncMajor` and its kin give is no pointer.
    fn plain(&self, version: Version) -> Value {
        Value::from_object(Semver { version, generation: self.generation, pointer: false })
    }
}

impl Object for Semver {
    fn go_type(&self) -> Type {
        match (self.generation, self.pointer) {
            (Generation::First, true) => FIRST,
            (Generation::First, false) => Type(&FIRST_STRUCT),
            (Generation::Third, true) => THIRD,
            (Generation::Third, false) => Type(&THIRD_STRUCT),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let version = &self.version;
        vec![
            ("major", self.number(version.major)),
            ("minor", self.number(version.minor)),
            ("patch", self.number(version.patch)),
            ("pre", version.pre.clone().into()),
            ("metadata", version.metadata.clone().into()),
            ("original", version.original.clone().into()),
        ]
    }

    fn text(&self) -> Option<Str> {
        self.tells().then(|| self.version.to_string().into())
    }

    fn json(&self) -> Option<String> {
        Some(if self.tells() { format!("\"{}\"", self.version) } else { "{}".to_string() })
    }

    /// A copier cannot see into it.
    fn copied(&self) -> Option<Value> {
        Some(Value::from_object(Semver { version: Version::default(), ..*self }))
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Semver>().is_some_and(|other| other.version == self.version)
    }
}

const fn method(name: &'static str, params: &'static [Type], result: Type, body: MethodBody) -> Method {
    Method::new(name, Signature::new(params, result), body)
}

fn own(value: &Value) -> Result<&Semver, Error> {
    value.object::<Semver>().ok_or_else(|| Error::call("receiver is no semver.Version"))
}

/// The version another is compared with; there may be none.
fn other(args: &[Value]) -> Result<&Version, Error> {
    let missing = || Error::call("runtime error: invalid memory address or nil pointer dereference");
    args[0].object::<Semver>().map(|other| &other.version).ok_or_else(missing)
}

/// The version with another text behind its numbers, if it may stand there.
fn changed(receiver: &Value, args: &[Value], what: &str, set: fn(&mut Version, String)) -> Result<Value, Error> {
    let (own, text) = (own(receiver)?, text(args, 0));
    let part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !text.is_empty() && !text.split('.').all(part) {
        let invalid = match own.generation {
            Generation::First => format!("Invalid {what} string"),
            Generation::Third => format!("invalid {what} string"),
        };
        return Err(Error::call(invalid));
    }
    let mut version = own.version.clone();
    set(&mut version, text.into_owned());
    version.original = format!("{}{version}", if version.original.starts_with('v') { "v" } else { "" });
    Ok(own.plain(version))
}

/// For a method that the type has as well as a pointer to it.
const fn of_both(method: Method) -> Method {
    method
}

/// The methods of both generations. `$reads` says whether those that only read need a pointer.
macro_rules! methods {
    ($pointer:expr, $plain:expr, $number:expr, $reads:path, $($more:tt)*) => {
        [
            $reads(method("Major", &[], $number, |_, receiver, _| Ok(own(receiver)?.number(own(receiver)?.version.major)))),
            $reads(method("Minor", &[], $number, |_, receiver, _| Ok(own(receiver)?.number(own(receiver)?.version.minor)))),
            $reads(method("Patch", &[], $number, |_, receiver, _| Ok(own(receiver)?.number(own(receiver)?.version.patch)))),
            $reads(method("Prerelease", &[], Type::STRING, |_, receiver, _| Ok(own(receiver)?.version.pre.clone().into()))),
            $reads(method("Metadata", &[], Type::STRING, |_, receiver, _| Ok(own(receiver)?.version.metadata.clone().into()))),
            method("Original", &[], Type::STRING, |_, receiver, _| Ok(own(receiver)?.version.original.clone().into())).of_pointer(),
            $reads(method("String", &[], Type::STRING, |_, receiver, _| Ok(own(receiver)?.version.to_string().into()))),
            method("IncMajor", &[], $plain, |_, receiver, _| {
                Ok(own(receiver)?.plain(own(receiver)?.version.next_major()))
            }),
            method("IncMinor", &[], $plain, |_, receiver, _| {
                Ok(own(receiver)?.plain(own(receiver)?.version.next_minor()))
            }),
            method("IncPatch", &[], $plain, |_, receiver, _| {
                Ok(own(receiver)?.plain(own(receiver)?.version.next_patch()))
            }),
            method("Compare", &[$pointer], Type::INT, |_, receiver, args| {
                Ok(Value::Int(own(receiver)?.version.compare(other(args)?) as i64))
            }).of_pointer(),
            method("Equal", &[$pointer], Type::BOOL, |_, receiver, args| {
                Ok(Value::Bool(own(receiver)?.version.compare(other(args)?).is_eq()))
            }).of_pointer(),
            method("LessThan", &[$pointer], Type::BOOL, |_, receiver, args| {
                Ok(Value::Bool(own(receiver)?.version.compare(other(args)?).is_lt()))
            }).of_pointer(),
            method("GreaterThan", &[$pointer], Type::BOOL, |_, receiver, args| {
                Ok(Value::Bool(own(receiver)?.version.compare(other(args)?).is_gt()))
            }).of_pointer(),
            method("SetPrerelease", &[Type::STRING], $plain, |_, receiver, args| {
                changed(receiver, args, "prerelease", |version, text| version.pre = text)
            }),
            method("SetMetadata", &[Type::STRING], $plain, |_, receiver, args| {
                changed(receiver, args, "metadata", |version, text| version.metadata = text)
            }),
            $reads(method("MarshalJSON", &[], Type::BYTES, |_, receiver, _| {
                Ok(Value::Bytes(format!("\"{}\"", own(receiver)?.version).into_bytes().into()))
            })),
            $($more)*
        ]
    };
}

static FIRST_METHODS: [Method; 17] =
    methods!(Type(&FIRST_POINTER), Type(&FIRST_STRUCT), Type::INT64, Method::of_pointer,);
static THIRD_METHODS: [Method; 21] = methods!(
    Type(&THIRD_POINTER),
    Type(&THIRD_STRUCT),
    Type::UINT64,
    of_both,
    method("LessThanEqual", &[Type(&THIRD_POINTER)], Type::BOOL, |_, receiver, args| {
        Ok(Value::Bool(own(receiver)?.version.compare(other(args)?).is_le()))
    })
    .of_pointer(),
    method("GreaterThanEqual", &[Type(&THIRD_POINTER)], Type::BOOL, |_, receiver, args| {
        Ok(Value::Bool(own(receiver)?.version.compare(other(args)?).is_ge()))
    })
    .of_pointer(),
    method("MarshalText", &[], Type::BYTES, |_, receiver, _| {
        Ok(Value::Bytes(own(receiver)?.version.to_string().into_bytes().into()))
    }),
    method("Value", &[], Type::ANY, |_, receiver, _| Ok(own(receiver)?.version.to_string().into())),
);

/// How many parsed constraints a thread keeps.
const MAX_CACHED: usize = 64;

thread_local! {
    static CACHE: RefCell<HashMap<String, Rc<Constraints>>> = RefCell::default();
}

/// Parsed once: charts ask the same few questions about a cluster's version in every template.
fn constraints(text: &str) -> Result<Rc<Constraints>, SemverError> {
    if let Some(known) = CACHE.with_borrow(|cache| cache.get(text).cloned()) {
        return Ok(known);
    }
    let parsed = Rc::new(Constraints::parse(text)?);
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(text.to_string(), Rc::clone(&parsed));
    });
    Ok(parsed)
}

pub(super) fn add(table: &mut Table) {
    let failed = |error: SemverError| Error::call(error.to_string());
    match table.sprig {
        Sprig::V2 => {
            table.add(&["semver"], sig!(STRING => FIRST), move |_, args| {
                let version = Version::parse(&text(args, 0), Generation::First).map_err(failed)?;
                Ok(Value::from_object(Semver { version, generation: Generation::First, pointer: true }))
            });
            table.add(&["semverCompare"], sig!(STRING, STRING => BOOL), move |_, args| {
                let constraint = FirstConstraints::parse(&text(args, 0)).map_err(failed)?;
                let version = Version::parse(&text(args, 1), Generation::First).map_err(failed)?;
                Ok(Value::Bool(constraint.check(&version)))
            });
        }
        Sprig::V3 => {
            table.add(&["semver"], sig!(STRING => THIRD), move |_, args| {
                let version = Version::parse(&text(args, 0), Generation::Third).map_err(failed)?;
                Ok(Value::from_object(Semver { version, generation: Generation::Third, pointer: true }))
            });
            table.add(&["semverCompare"], sig!(STRING, STRING => BOOL), move |_, args| {
                let constraint = constraints(&text(args, 0)).map_err(failed)?;
                let version = Version::parse(&text(args, 1), Generation::Third).map_err(failed)?;
                Ok(Value::Bool(constraint.check(&version)))
            });
        }
    }
}
