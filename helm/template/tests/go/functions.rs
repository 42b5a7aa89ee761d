//! The functions that the Go oracle calls `test`, in Rust.

use std::any::Any;
use std::rc::Rc;

use switchboard_template::{
    Error, Function, Functions, HostObject, NamedType, ReflectType, Sequence, Signature, TypeShape, Value, format,
};

pub fn table() -> Functions {
    let mut table = Functions::new();
    numbers(&mut table);
    collections(&mut table);
    crate::objects::add(&mut table);
    table.add("fail", Signature::new(&[ReflectType::STRING], ReflectType::STRING), |_, args| {
        Err(Error::call(args[0].as_str().unwrap().to_string()))
    });
    table.add("same", Signature::new(&[ReflectType::ANY], ReflectType::ANY), |_, args| Ok(args[0].clone()));
    table.add("nothing", Signature::new(&[], ReflectType::ANY), |_, _| Ok(Value::Nil));
    table.add("two", Signature::variadic(&[ReflectType::STRING, ReflectType::INT], ReflectType::STRING), |_, args| {
        let rest = Value::typed_list(ReflectType::INTS, args[1..].to_vec());
        Ok(Value::string(format::sprint(&[args[0].clone(), rest])))
    });
    table.add("adder", Signature::new(&[], ReflectType::FUNC), |_, _| {
        const ADD: Signature = Signature::new(&[ReflectType::INT, ReflectType::INT], ReflectType::INT);
        Ok(Value::Func(Rc::new(Function::new(ADD, |_, args| add(&args[0], &args[1])))))
    });
    table.add("joiner", Signature::new(&[], ReflectType::FUNC), |_, _| {
        const JOIN: Signature = Signature::variadic(&[ReflectType::STRING, ReflectType::STRING], ReflectType::STRING);
        Ok(Value::Func(Rc::new(Function::new(JOIN, |_, args| {
            let texts: Vec<&[u8]> = args.iter().map(|arg| arg.as_str().unwrap().as_bytes()).collect();
            Ok(Value::string([texts[0], &texts[1..].join(texts[0])].concat()))
        }))))
    });
    table.add("seq", Signature::new(&[ReflectType::INT], SEQ), |_, args| {
        Ok(Value::from_object(IteratorFunction { count: args[0].as_i64().unwrap(), pairs: false }))
    });
    table.add("pairs", Signature::new(&[ReflectType::INT], PAIRS), |_, args| {
        Ok(Value::from_object(IteratorFunction { count: args[0].as_i64().unwrap(), pairs: true }))
    });
    table
}

fn add(a: &Value, b: &Value) -> Result<Value, Error> {
    Ok(Value::Int(a.as_i64().unwrap() + b.as_i64().unwrap()))
}

fn numbers(table: &mut Functions) {
    table.add("add", Signature::new(&[ReflectType::INT, ReflectType::INT], ReflectType::INT), |_, args| {
        add(&args[0], &args[1])
    });
    table.add("dec", Signature::new(&[ReflectType::INT], ReflectType::INT), |_, args| add(&args[0], &Value::Int(-1)));
    macro_rules! identity {
        ($($name:literal $go_type:ident),*) => {
            $(table.add($name, Signature::new(&[ReflectType::$go_type], ReflectType::$go_type), |_, args| Ok(args[0].clone()));)*
        };
    }
    identity!(
        "bool" BOOL, "i8" INT8, "i32" INT32, "i64" INT64, "u8" UINT8, "u" UINT, "u64" UINT64, "f32" FLOAT32,
        "f64" FLOAT64, "c128" COMPLEX128, "str" STRING
    );
}

fn collections(table: &mut Functions) {
    table.add("dict", Signature::new(&[], ReflectType::MAP), |_, _| Ok(Value::map::<&str>([])));
    table.add(
        "set",
        Signature::new(&[ReflectType::MAP, ReflectType::STRING, ReflectType::ANY], ReflectType::MAP),
        |_, args| {
            let map = args[0].as_map().unwrap();
            if map.is_nil() {
                return Err(Error::call("assignment to entry in nil map"));
            }
            map.insert(args[1].as_str().unwrap().clone(), args[2].clone());
            Ok(args[0].clone())
        },
    );
    table.add("list", Signature::variadic(&[ReflectType::ANY], ReflectType::LIST), |_, args| {
        Ok(Value::list(args.to_vec()))
    });
    table.add("strs", Signature::variadic(&[ReflectType::STRING], ReflectType::STRINGS), |_, args| {
        Ok(Value::typed_list(ReflectType::STRINGS, args.to_vec()))
    });
    table.add("raw", Signature::new(&[ReflectType::STRING], ReflectType::BYTES), |_, args| {
        Ok(Value::bytes(args[0].as_str().unwrap()))
    });
    table.add("keys", Signature::new(&[ReflectType::MAP], ReflectType::INT), |_, args| {
        Ok(Value::Int(args[0].as_map().unwrap().len() as i64))
    });
    table.add("slen", Signature::new(&[ReflectType::STRINGS], ReflectType::INT), |_, args| {
        Ok(Value::Int(args[0].as_list().unwrap().len() as i64))
    });
    table.add("nilmap", Signature::new(&[], ReflectType::MAP), |_, _| Ok(Value::zero(ReflectType::MAP)));
    table.add("nillist", Signature::new(&[], ReflectType::LIST), |_, _| Ok(Value::zero(ReflectType::LIST)));
}

static SEQ_NAME: NamedType = NamedType { name: "iter.Seq[int]", underlying: ReflectType::FUNC, methods: &[] };
static PAIRS_NAME: NamedType = NamedType { name: "iter.Seq2[int,string]", underlying: ReflectType::FUNC, methods: &[] };
const SEQ: ReflectType = ReflectType(&TypeShape::Named(&SEQ_NAME));
const PAIRS: ReflectType = ReflectType(&TypeShape::Named(&PAIRS_NAME));

struct IteratorFunction {
    count: i64,
    pairs: bool,
}

impl HostObject for IteratorFunction {
    fn go_type(&self) -> ReflectType {
        if self.pairs { PAIRS } else { SEQ }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn sequence(&self) -> Option<Sequence> {
        let numbers = 0..self.count;
        Some(match self.pairs {
            false => Sequence::One(Box::new(numbers.map(|number| Value::Int(number * 10)))),
            true => Sequence::Two(Box::new(
                numbers.map(|number| (Value::Int(number), Value::string("x".repeat(number as usize)))),
            )),
        })
    }
}
