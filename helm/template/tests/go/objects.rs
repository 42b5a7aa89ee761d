//! Host objects of the Go oracle, in Rust: structs behind pointers, and maps, lists and numbers with methods.

use std::any::Any;
use std::rc::Rc;

use switchboard_template::{
    Error, Functions, GoSlice, HostObject, Method, NamedType, ReflectType, Signature, Str, TypeShape, Value,
};

static THING_NAME: NamedType = NamedType {
    name: "main.Thing",
    underlying: ReflectType(&TypeShape::Struct),
    methods: &[
        Method::new("Greet", Signature::new(&[ReflectType::STRING], ReflectType::STRING), |_, receiver, args| {
            let name = &receiver.object::<SampleStruct>().unwrap().name;
            Ok(Value::string(format!("{name} greets {}", args[0].as_str().unwrap())))
        }),
        Method::new("Fail", Signature::new(&[ReflectType::STRING], ReflectType::STRING), |_, _, args| {
            Err(Error::call(format!("no {}", args[0].as_str().unwrap())))
        }),
        Method::new("Sum", Signature::variadic(&[ReflectType::INT], ReflectType::INT), |_, receiver, args| {
            Ok(Value::Int(args.len() as i64 + receiver.object::<SampleStruct>().unwrap().count))
        }),
        Method::new("Self", Signature::new(&[], ReflectType(&THING_POINTER_SHAPE)), |_, it, _| Ok(it.clone())),
    ],
};
static THING_SHAPE: TypeShape = TypeShape::Named(&THING_NAME);
static THING_POINTER_SHAPE: TypeShape = TypeShape::Pointer(ReflectType(&THING_SHAPE));
const THING: ReflectType = ReflectType(&THING_SHAPE);
const THING_POINTER: ReflectType = ReflectType(&THING_POINTER_SHAPE);

struct SampleStruct {
    name: String,
    count: i64,
    pointer: bool,
}

impl HostObject for SampleStruct {
    fn go_type(&self) -> ReflectType {
        if self.pointer { THING_POINTER } else { THING }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        let fields = self.fields();
        fields.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let (tags, inner) = match self.pointer {
            true => (Value::strings(["x"]), Value::from_object(EmbeddedStruct)),
            false => (Value::List(ReflectType::STRINGS, Rc::new(GoSlice::nil())), Value::Nil),
        };
        vec![
            ("Name", Value::string(&self.name)),
            ("Count", Value::Int(self.count)),
            ("Tags", tags),
            ("Inner", inner),
            ("Any", Value::Nil),
        ]
    }
}

static INNER_NAME: NamedType =
    NamedType { name: "main.Inner", underlying: ReflectType(&TypeShape::Struct), methods: &[] };
const INNER: ReflectType = ReflectType(&TypeShape::Named(&INNER_NAME));

struct EmbeddedStruct;

impl HostObject for EmbeddedStruct {
    fn go_type(&self) -> ReflectType {
        ReflectType(&TypeShape::Pointer(INNER))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        (name == "Deep").then(|| Value::string("d"))
    }

    fn text(&self) -> Option<Str> {
        Some(Str::new("inner d"))
    }
}

static DURATION: NamedType = NamedType { name: "time.Duration", underlying: ReflectType::INT64, methods: &[] };

const SPAN: ReflectType = ReflectType(&TypeShape::Named(&DURATION));

/// A duration of whole seconds.
struct WholeSeconds(i64);

impl HostObject for WholeSeconds {
    fn go_type(&self) -> ReflectType {
        SPAN
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        Some(Str::new(format!("{}s", self.0 / 1_000_000_000)))
    }

    fn scalar(&self) -> Option<Value> {
        Some(Value::Int64(self.0))
    }
}

static BAG_NAME: NamedType = NamedType {
    name: "main.Bag",
    underlying: ReflectType::MAP,
    methods: &[
        Method::new("Size", Signature::new(&[], ReflectType::INT), |_, receiver, _| {
            Ok(Value::Int(receiver.as_map().unwrap().len() as i64))
        }),
        Method::new("Has", Signature::new(&[ReflectType::STRING], ReflectType::BOOL), |_, receiver, args| {
            Ok(Value::Bool(receiver.as_map().unwrap().contains(args[0].as_str().unwrap())))
        }),
    ],
};
const BAG: ReflectType = ReflectType(&TypeShape::Named(&BAG_NAME));

static SET_NAME: NamedType = NamedType {
    name: "main.Set",
    underlying: ReflectType::STRINGS,
    methods: &[Method::new("Has", Signature::new(&[ReflectType::STRING], ReflectType::BOOL), |_, receiver, args| {
        let mut items = receiver.as_list().unwrap().iter();
        Ok(Value::Bool(items.any(|item| item.as_str() == args[0].as_str())))
    })],
};
const SET: ReflectType = ReflectType(&TypeShape::Named(&SET_NAME));

pub fn add(table: &mut Functions) {
    table.add("thing", Signature::new(&[ReflectType::STRING], THING_POINTER), |_, args| {
        Ok(Value::from_object(SampleStruct { name: args[0].as_str().unwrap().to_string(), count: 2, pointer: true }))
    });
    table.add("flat", Signature::new(&[ReflectType::STRING], THING), |_, args| {
        Ok(Value::from_object(SampleStruct { name: args[0].as_str().unwrap().to_string(), count: 0, pointer: false }))
    });
    table.add("bag", Signature::new(&[], BAG), |_, _| {
        let entries = [("a", Value::Int(1)), ("Size", Value::string("hidden"))];
        Ok(Value::typed_map(BAG, entries.into_iter().map(|(key, value)| (Str::new(key), value)).collect()))
    });
    table.add("tags", Signature::variadic(&[ReflectType::STRING], SET), |_, args| {
        Ok(Value::typed_list(SET, args.to_vec()))
    });
    table.add("span", Signature::new(&[ReflectType::INT64], SPAN), |_, args| {
        Ok(Value::from_object(WholeSeconds(args[0].as_i64().unwrap())))
    });
}
