//! The host objects of the oracle, in Rust: structs behind pointers, maps, lists and numbers with methods.

use std::any::Any;
use std::rc::Rc;

use switchboard_template::{Error, Functions, List, Method, Named, Object, Shape, Signature, Str, Type, Value};

static THING_NAME: Named = Named {
    name: "main.Thing",
    underlying: Type(&Shape::Struct),
    methods: &[
        Method::new("Greet", Signature::new(&[Type::STRING], Type::STRING), |_, receiver, args| {
            let name = &receiver.object::<Thing>().unwrap().name;
            Ok(Value::string(format!("{name} greets {}", args[0].as_str().unwrap())))
        }),
        Method::new("Fail", Signature::new(&[Type::STRING], Type::STRING), |_, _, args| {
            Err(Error::call(format!("no {}", args[0].as_str().unwrap())))
        }),
        Method::new("Sum", Signature::variadic(&[Type::INT], Type::INT), |_, receiver, args| {
            Ok(Value::Int(args.len() as i64 + receiver.object::<Thing>().unwrap().count))
        }),
        Method::new("Self", Signature::new(&[], Type(&THING_POINTER_SHAPE)), |_, it, _| Ok(it.clone())),
    ],
};
static THING_SHAPE: Shape = Shape::Named(&THING_NAME);
static THING_POINTER_SHAPE: Shape = Shape::Pointer(Type(&THING_SHAPE));
const THING: Type = Type(&THING_SHAPE);
const THING_POINTER: Type = Type(&THING_POINTER_SHAPE);

struct Thing {
    name: String,
    count: i64,
    pointer: bool,
}

impl Object for Thing {
    fn go_type(&self) -> Type {
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
            true => (Value::strings(["x"]), Value::from_object(Inner)),
            false => (Value::List(Type::STRINGS, Rc::new(List::nil())), Value::Nil),
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

static INNER_NAME: Named = Named { name: "main.Inner", underlying: Type(&Shape::Struct), methods: &[] };
const INNER: Type = Type(&Shape::Named(&INNER_NAME));

struct Inner;

impl Object for Inner {
    fn go_type(&self) -> Type {
        Type(&Shape::Pointer(INNER))
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

static DURATION: Named = Named { name: "time.Duration", underlying: Type::INT64, methods: &[] };

const SPAN: Type = Type(&Shape::Named(&DURATION));

/// Whole seconds only.
struct Span(i64);

impl Object for Span {
    fn go_type(&self) -> Type {
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

static BAG_NAME: Named = Named {
    name: "main.Bag",
    underlying: Type::MAP,
    methods: &[
        Method::new("Size", Signature::new(&[], Type::INT), |_, receiver, _| {
            Ok(Value::Int(receiver.as_map().unwrap().len() as i64))
        }),
        Method::new("Has", Signature::new(&[Type::STRING], Type::BOOL), |_, receiver, args| {
            Ok(Value::Bool(receiver.as_map().unwrap().contains(args[0].as_str().unwrap())))
        }),
    ],
};
const BAG: Type = Type(&Shape::Named(&BAG_NAME));

static SET_NAME: Named = Named {
    name: "main.Set",
    underlying: Type::STRINGS,
    methods: &[Method::new("Has", Signature::new(&[Type::STRING], Type::BOOL), |_, receiver, args| {
        let mut items = receiver.as_list().unwrap().iter();
        Ok(Value::Bool(items.any(|item| item.as_str() == args[0].as_str())))
    })],
};
const SET: Type = Type(&Shape::Named(&SET_NAME));

pub fn add(table: &mut Functions) {
    table.add("thing", Signature::new(&[Type::STRING], THING_POINTER), |_, args| {
        Ok(Value::from_object(Thing { name: args[0].as_str().unwrap().to_string(), count: 2, pointer: true }))
    });
    table.add("flat", Signature::new(&[Type::STRING], THING), |_, args| {
        Ok(Value::from_object(Thing { name: args[0].as_str().unwrap().to_string(), count: 0, pointer: false }))
    });
    table.add("bag", Signature::new(&[], BAG), |_, _| {
        let entries = [("a", Value::Int(1)), ("Size", Value::string("hidden"))];
        Ok(Value::typed_map(BAG, entries.into_iter().map(|(key, value)| (Str::new(key), value)).collect()))
    });
    table.add("tags", Signature::variadic(&[Type::STRING], SET), |_, args| Ok(Value::typed_list(SET, args.to_vec())));
    table.add("span", Signature::new(&[Type::INT64], SPAN), |_, args| {
        Ok(Value::from_object(Span(args[0].as_i64().unwrap())))
    });
}
