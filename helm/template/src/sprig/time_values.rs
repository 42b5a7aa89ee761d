//! Times and durations as values of templates: the results of `now`, `toDate` and their methods.

mod methods;

use std::any::Any;

use super::time::{GoDuration, GoTime, LONG_DAYS, LONG_MONTHS, Zone};
use crate::value::{HostObject, NamedType, ReflectType, Str, TypeShape, Value};

// Types and their methods refer to each other. Statics can be referenced before their definition; constants made of
// them cannot.
static TIME_NAME: NamedType =
    NamedType { name: "time.Time", underlying: ReflectType(&TypeShape::Struct), methods: &methods::TIME_METHODS };
static DURATION_NAME: NamedType =
    NamedType { name: "time.Duration", underlying: ReflectType::INT64, methods: &methods::DURATION_METHODS };
static MONTH_NAME: NamedType =
    NamedType { name: "time.Month", underlying: ReflectType::INT, methods: &methods::NAME_METHODS };
static LOCATION_NAME: NamedType = NamedType {
    name: "time.Location",
    underlying: ReflectType(&TypeShape::Struct),
    methods: &methods::LOCATION_METHODS,
};
static WEEKDAY_NAME: NamedType =
    NamedType { name: "time.Weekday", underlying: ReflectType::INT, methods: &methods::NAME_METHODS };

static TIME_SHAPE: TypeShape = TypeShape::Named(&TIME_NAME);
static DURATION_SHAPE: TypeShape = TypeShape::Named(&DURATION_NAME);
static MONTH_SHAPE: TypeShape = TypeShape::Named(&MONTH_NAME);
static WEEKDAY_SHAPE: TypeShape = TypeShape::Named(&WEEKDAY_NAME);
static LOCATION_STRUCT: TypeShape = TypeShape::Named(&LOCATION_NAME);
static LOCATION_SHAPE: TypeShape = TypeShape::Pointer(ReflectType(&LOCATION_STRUCT));

/// `time.Time`.
pub const TIME: ReflectType = ReflectType(&TIME_SHAPE);
/// `time.Duration`.
pub const DURATION: ReflectType = ReflectType(&DURATION_SHAPE);
/// `time.Month`.
pub const MONTH: ReflectType = ReflectType(&MONTH_SHAPE);
/// `time.Weekday`.
pub const WEEKDAY: ReflectType = ReflectType(&WEEKDAY_SHAPE);

/// A time as a value.
#[derive(Debug, Clone)]
pub struct TimeValue(pub GoTime);

/// A duration as a value.
#[derive(Debug, Clone, Copy)]
pub struct DurationValue(pub GoDuration);

/// A month, from 1 to 12.
#[derive(Debug, Clone, Copy)]
pub struct Month(pub i64);

/// A day of the week, from 0 for Sunday.
#[derive(Debug, Clone, Copy)]
pub struct Weekday(pub i64);

/// A time zone, returned by `.Location` and accepted by `.In`.
#[derive(Debug, Clone)]
pub struct Location(pub Zone);

/// RFC 3339, as JSON and TOML use it.
const WIRE: &[u8] = b"2006-01-02T15:04:05.999999999Z07:00";

impl HostObject for TimeValue {
    fn go_type(&self) -> ReflectType {
        TIME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.to_string().into())
    }

    fn go_syntax(&self) -> Option<Str> {
        Some(self.0.go_syntax().into())
    }

    fn json(&self) -> Option<String> {
        Some(format!("\"{}\"", String::from_utf8_lossy(&self.0.format(WIRE))))
    }

    /// Compares the local time and the zone, like Go's `==` on the struct.
    fn equals(&self, other: &dyn HostObject) -> bool {
        let Some(TimeValue(other)) = other.as_any().downcast_ref::<TimeValue>() else { return false };
        (self.0.seconds, self.0.nanos) == (other.seconds, other.nanos) && self.0.zone == other.zone
    }
}

impl HostObject for DurationValue {
    fn go_type(&self) -> ReflectType {
        DURATION
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.to_string().into())
    }

    fn scalar(&self) -> Option<Value> {
        Some(Value::Int64(self.0.0))
    }

    fn equals(&self, other: &dyn HostObject) -> bool {
        other.as_any().downcast_ref::<DurationValue>().is_some_and(|other| other.0 == self.0)
    }
}

impl HostObject for Month {
    fn go_type(&self) -> ReflectType {
        MONTH
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        let name = usize::try_from(self.0 - 1).ok().and_then(|index| LONG_MONTHS.get(index));
        Some(name.map_or_else(|| format!("%!Month({})", self.0), ToString::to_string).into())
    }

    fn scalar(&self) -> Option<Value> {
        Some(Value::Int(self.0))
    }

    fn equals(&self, other: &dyn HostObject) -> bool {
        other.as_any().downcast_ref::<Month>().is_some_and(|other| other.0 == self.0)
    }
}

impl HostObject for Weekday {
    fn go_type(&self) -> ReflectType {
        WEEKDAY
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        let name = usize::try_from(self.0).ok().and_then(|index| LONG_DAYS.get(index));
        Some(name.map_or_else(|| format!("%!Weekday({})", self.0), ToString::to_string).into())
    }

    fn scalar(&self) -> Option<Value> {
        Some(Value::Int(self.0))
    }

    fn equals(&self, other: &dyn HostObject) -> bool {
        other.as_any().downcast_ref::<Weekday>().is_some_and(|other| other.0 == self.0)
    }
}

impl HostObject for Location {
    fn go_type(&self) -> ReflectType {
        ReflectType(&LOCATION_SHAPE)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.name().into())
    }

    /// The struct has no exported fields.
    fn json(&self) -> Option<String> {
        Some("{}".to_string())
    }

    fn equals(&self, other: &dyn HostObject) -> bool {
        other.as_any().downcast_ref::<Location>().is_some_and(|other| other.0 == self.0)
    }
}
