//! Semantic version functions.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::{FunctionTable, sig, text};
use crate::error::Error;
use crate::function::Signature;
use crate::sprig::semver::{
    ConstraintsV1, ConstraintsV3, SemVersion, SemverGeneration, next_major, next_minor, next_patch, parse_version,
};
use crate::sprig::{SemverError, SprigVersion};
use crate::value::{HostObject, Method, MethodBody, NamedType, ReflectType, Str, TypeShape, Value};

// Types and their methods refer to each other. Statics can be referenced before their definition; constants made of
// them cannot.
static V3_NAME: NamedType =
    NamedType { name: "semver.Version", underlying: ReflectType(&TypeShape::Struct), methods: &V3_METHODS };
static V1_NAME: NamedType =
    NamedType { name: "semver.Version", underlying: ReflectType(&TypeShape::Struct), methods: &V1_METHODS };
static V3_STRUCT: TypeShape = TypeShape::Named(&V3_NAME);
static V1_STRUCT: TypeShape = TypeShape::Named(&V1_NAME);
static V3_POINTER: TypeShape = TypeShape::Pointer(ReflectType(&V3_STRUCT));
static V1_POINTER: TypeShape = TypeShape::Pointer(ReflectType(&V1_STRUCT));

/// `*semver.Version`, whose numbers are unsigned in v3 and signed in v1.
const V3: ReflectType = ReflectType(&V3_POINTER);
const V1: ReflectType = ReflectType(&V1_POINTER);

/// A version as a value, with the text it was parsed from, the major version of its Go package and whether it is a
/// pointer.
#[derive(Debug, Clone)]
struct VersionValue {
    version: SemVersion,
    original: String,
    generation: SemverGeneration,
    pointer: bool,
}

impl VersionValue {
    fn parse(text: &str, generation: SemverGeneration) -> Result<Value, SemverError> {
        let (version, original) = (parse_version(text, generation)?, text.to_string());
        Ok(Value::from_object(VersionValue { version, original, generation, pointer: true }))
    }

    fn number(&self, number: u64) -> Value {
        match self.generation {
            SemverGeneration::V1 => Value::Int64(number as i64),
            SemverGeneration::V3 => Value::Uint64(number),
        }
    }

    /// Whether the value has a `String` method. In v1, only pointers have one.
    fn is_stringer(&self) -> bool {
        self.pointer || self.generation == SemverGeneration::V3
    }

    /// Creates a result of `IncMajor` or a similar method, which is not a pointer.
    fn plain(&self, version: SemVersion) -> Value {
        let original = format!("{}{version}", if self.original.starts_with('v') { "v" } else { "" });
        Value::from_object(VersionValue { version, original, generation: self.generation, pointer: false })
    }
}

impl HostObject for VersionValue {
    fn go_type(&self) -> ReflectType {
        match (self.generation, self.pointer) {
            (SemverGeneration::V1, true) => V1,
            (SemverGeneration::V1, false) => ReflectType(&V1_STRUCT),
            (SemverGeneration::V3, true) => V3,
            (SemverGeneration::V3, false) => ReflectType(&V3_STRUCT),
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
            ("original", self.original.clone().into()),
        ]
    }

    fn text(&self) -> Option<Str> {
        self.is_stringer().then(|| self.version.to_string().into())
    }

    fn json(&self) -> Option<String> {
        Some(if self.is_stringer() { format!("\"{}\"", self.version) } else { "{}".to_string() })
    }

    /// The fields are not exported, so a copy does not get them.
    fn deep_copy(&self) -> Option<Value> {
        Some(Value::from_object(VersionValue { version: SemVersion::default(), original: String::new(), ..*self }))
    }

    fn equals(&self, other: &dyn HostObject) -> bool {
        let same = |other: &VersionValue| other.version == self.version && other.original == self.original;
        other.as_any().downcast_ref::<VersionValue>().is_some_and(same)
    }
}

const fn method(name: &'static str, params: &'static [ReflectType], result: ReflectType, body: MethodBody) -> Method {
    Method::new(name, Signature::new(params, result), body)
}

fn receiver_version(value: &Value) -> Result<&VersionValue, Error> {
    value.object::<VersionValue>().ok_or_else(|| Error::call("receiver is not a semver.Version"))
}

/// Returns the argument to compare with, or Go's error for nil.
fn argument_version(args: &[Value]) -> Result<&SemVersion, Error> {
    let missing = || Error::call("runtime error: invalid memory address or nil pointer dereference");
    args[0].object::<VersionValue>().map(|other| &other.version).ok_or_else(missing)
}

/// Returns the version with another prerelease or metadata, if the text is valid there.
fn with_text(receiver: &Value, args: &[Value], what: &str, set: fn(&mut SemVersion, String)) -> Result<Value, Error> {
    let (own, text) = (receiver_version(receiver)?, text(args, 0));
    let part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !text.is_empty() && !text.split('.').all(part) {
        let invalid = match own.generation {
            SemverGeneration::V1 => format!("Invalid {what} string"),
            SemverGeneration::V3 => format!("invalid {what} string"),
        };
        return Err(Error::call(invalid));
    }
    let mut version = own.version.clone();
    set(&mut version, text.into_owned());
    Ok(own.plain(version))
}

/// Declares a method for the type and the pointer to it.
const fn on_value_and_pointer(method: Method) -> Method {
    method
}

/// Defines the methods of both versions of the package. `$reads` decides whether methods that only read need a pointer.
macro_rules! methods {
    ($pointer:expr, $plain:expr, $number:expr, $reads:path, $($more:tt)*) => {
        [
            $reads(method("Major", &[], $number, |_, receiver, _| Ok(receiver_version(receiver)?.number(receiver_version(receiver)?.version.major)))),
            $reads(method("Minor", &[], $number, |_, receiver, _| Ok(receiver_version(receiver)?.number(receiver_version(receiver)?.version.minor)))),
            $reads(method("Patch", &[], $number, |_, receiver, _| Ok(receiver_version(receiver)?.number(receiver_version(receiver)?.version.patch)))),
            $reads(method("Prerelease", &[], ReflectType::STRING, |_, receiver, _| Ok(receiver_version(receiver)?.version.pre.clone().into()))),
            $reads(method("Metadata", &[], ReflectType::STRING, |_, receiver, _| Ok(receiver_version(receiver)?.version.metadata.clone().into()))),
            method("Original", &[], ReflectType::STRING, |_, receiver, _| Ok(receiver_version(receiver)?.original.clone().into())).of_pointer(),
            $reads(method("String", &[], ReflectType::STRING, |_, receiver, _| Ok(receiver_version(receiver)?.version.to_string().into()))),
            method("IncMajor", &[], $plain, |_, receiver, _| {
                Ok(receiver_version(receiver)?.plain(next_major(&receiver_version(receiver)?.version)))
            }),
            method("IncMinor", &[], $plain, |_, receiver, _| {
                Ok(receiver_version(receiver)?.plain(next_minor(&receiver_version(receiver)?.version)))
            }),
            method("IncPatch", &[], $plain, |_, receiver, _| {
                Ok(receiver_version(receiver)?.plain(next_patch(&receiver_version(receiver)?.version)))
            }),
            method("Compare", &[$pointer], ReflectType::INT, |_, receiver, args| {
                Ok(Value::Int(receiver_version(receiver)?.version.compare(argument_version(args)?) as i64))
            }).of_pointer(),
            method("Equal", &[$pointer], ReflectType::BOOL, |_, receiver, args| {
                Ok(Value::Bool(receiver_version(receiver)?.version.compare(argument_version(args)?).is_eq()))
            }).of_pointer(),
            method("LessThan", &[$pointer], ReflectType::BOOL, |_, receiver, args| {
                Ok(Value::Bool(receiver_version(receiver)?.version.compare(argument_version(args)?).is_lt()))
            }).of_pointer(),
            method("GreaterThan", &[$pointer], ReflectType::BOOL, |_, receiver, args| {
                Ok(Value::Bool(receiver_version(receiver)?.version.compare(argument_version(args)?).is_gt()))
            }).of_pointer(),
            method("SetPrerelease", &[ReflectType::STRING], $plain, |_, receiver, args| {
                with_text(receiver, args, "prerelease", |version, text| version.pre = text)
            }),
            method("SetMetadata", &[ReflectType::STRING], $plain, |_, receiver, args| {
                with_text(receiver, args, "metadata", |version, text| version.metadata = text)
            }),
            $reads(method("MarshalJSON", &[], ReflectType::BYTES, |_, receiver, _| {
                Ok(Value::Bytes(format!("\"{}\"", receiver_version(receiver)?.version).into_bytes().into()))
            })),
            $($more)*
        ]
    };
}

static V1_METHODS: [Method; 17] =
    methods!(ReflectType(&V1_POINTER), ReflectType(&V1_STRUCT), ReflectType::INT64, Method::of_pointer,);
static V3_METHODS: [Method; 21] = methods!(
    ReflectType(&V3_POINTER),
    ReflectType(&V3_STRUCT),
    ReflectType::UINT64,
    on_value_and_pointer,
    method("LessThanEqual", &[ReflectType(&V3_POINTER)], ReflectType::BOOL, |_, receiver, args| {
        Ok(Value::Bool(receiver_version(receiver)?.version.compare(argument_version(args)?).is_le()))
    })
    .of_pointer(),
    method("GreaterThanEqual", &[ReflectType(&V3_POINTER)], ReflectType::BOOL, |_, receiver, args| {
        Ok(Value::Bool(receiver_version(receiver)?.version.compare(argument_version(args)?).is_ge()))
    })
    .of_pointer(),
    method("MarshalText", &[], ReflectType::BYTES, |_, receiver, _| {
        Ok(Value::Bytes(receiver_version(receiver)?.version.to_string().into_bytes().into()))
    }),
    method("Value", &[], ReflectType::ANY, |_, receiver, _| Ok(receiver_version(receiver)?.version.to_string().into())),
);

/// Number of parsed constraints that a thread caches.
const MAX_CACHED: usize = 64;

thread_local! {
    static CACHE: RefCell<HashMap<String, Rc<ConstraintsV3>>> = RefCell::default();
}

/// Parses a constraint and caches it: charts test the same few constraints against the cluster's version in every
/// template.
fn constraints(text: &str) -> Result<Rc<ConstraintsV3>, SemverError> {
    if let Some(known) = CACHE.with_borrow(|cache| cache.get(text).cloned()) {
        return Ok(known);
    }
    let parsed = Rc::new(ConstraintsV3::parse(text)?);
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(text.to_string(), Rc::clone(&parsed));
    });
    Ok(parsed)
}

pub(super) fn add(table: &mut FunctionTable) {
    let failed = |error: SemverError| Error::call(error.to_string());
    match table.sprig {
        SprigVersion::V2 => {
            table.add(&["semver"], sig!(STRING => V1), move |_, args| {
                VersionValue::parse(&text(args, 0), SemverGeneration::V1).map_err(failed)
            });
            table.add(&["semverCompare"], sig!(STRING, STRING => BOOL), move |_, args| {
                let constraint = ConstraintsV1::parse(&text(args, 0)).map_err(failed)?;
                let version = parse_version(&text(args, 1), SemverGeneration::V1).map_err(failed)?;
                Ok(Value::Bool(constraint.check(&version)))
            });
        }
        SprigVersion::V3 => {
            table.add(&["semver"], sig!(STRING => V3), move |_, args| {
                VersionValue::parse(&text(args, 0), SemverGeneration::V3).map_err(failed)
            });
            table.add(&["semverCompare"], sig!(STRING, STRING => BOOL), move |_, args| {
                let constraint = constraints(&text(args, 0)).map_err(failed)?;
                let version = parse_version(&text(args, 1), SemverGeneration::V3).map_err(failed)?;
                Ok(Value::Bool(constraint.check(&version)))
            });
        }
    }
}
