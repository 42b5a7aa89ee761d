//! The functions the oracle calls `test`, in Rust.

use std::any::Any;
use std::rc::Rc;

use switchboard_template::{
    Error, Function, Functions, Named, Object, Sequence, Shape, Signature, Type, Value, format,
};

pub fn table() -> Functions {
    let mut table = Functions::new();
    numbers(&mut table);
    collections(&mut table);
    crate::objects::add(&mut table);
    table.add("fail", Signature::new(&[Type::STRING], Type::STRING), |_, args| {
        Err(Error::call(args[0].as_str().unwrap().to_string()))
    });
    table.add("same", Signature::new(&[Type::ANY], Type::ANY), |_, args| Ok(args[0].clone()));
    table.add("nothing", Signature::new(&[], Type::ANY), |_, _| Ok(Value::Nil));
    table.add("two", Signature::variadic(&[Type::STRING, Type::INT], Type::STRING), |_, args| {
        let rest = Value::typed_list(Type::INTS, args[1..].to_vec());
        Ok(Value::string(format::sprint(&[args[0].clone(), rest])))
    });
    table.add("adder", Signature::new(&[], Type::FUNC), |_, _| {
        const ADD: Signature = Signature::new(&[Type::INT, Type::INT], Type::INT);
        Ok(Value::Func(Rc::new(Function::new(ADD, |_, args| add(&args[0], &args[1])))))
    });
    table.add("joiner", Signature::new(&[], Type::FUNC), |_, _| {
        const JOIN: Signature = Signature::variadic(&[Type::STRING, Type::STRING], Type::STRING);
        Ok(Value::Func(Rc::new(Function::new(JOIN, |_, args| {
            let texts: Vec<&[u8]> = args.iter().map(|arg| arg.as_str().unwrap().as_bytes()).collect();
            Ok(Value::string([texts[0], &texts[1..].join(texts[0])].concat()))
        }))))
    });
    table.add("seq", Signature::new(&[Type::INT], SEQ), |_, args| {
        Ok(Value::from_object(Iterator { count: args[0].as_i64().unwrap(), pairs: false }))
    });
    table.add("pairs", Signature::new(&[Type::INT], PAIRS), |_, args| {
        Ok(Value::from_object(Iterator { count: args[0].as_i64().unwrap(), pairs: true }))
    });
    table
}

fn add(a: &Value, b: &Value) -> Result<Value, Error> {
    Ok(Value::Int(a.as_i64().unwrap() + b.as_i64().unwrap()))
}

fn numbers(table: &mut Functions) {
    table.add("add", Signature::new(&[Type::INT, Type::INT], Type::INT), |_, args| add(&args[0], &args[1]));
    table.add("dec", Signature::new(&[Type::INT], Type::INT), |_, args| add(&args[0], &Value::Int(-1)));
    macro_rules! identity {
        ($($name:literal $go_type:ident),*) => {
            $(table.add($name, Signature::new(&[Type::$go_type], Type::$go_type), |_, args| Ok(args[0].clone()));)*
        };
    }
    identity!(
        "bool" BOOL, "i8" INT8, "i32" INT32, "i64" INT64, "u8" UINT8, "u" UINT, "u64" UINT64, "f32" FLOAT32,
        "f64" FLOAT64, "c128" COMPLEX128, "str" STRING
    );
}

fn collections(table: &mut Functions) {
    table.add("dict", Signature::new(&[], Type::MAP), |_, _| Ok(Value::map::<&str>([])));
    table.add("set", Signature::new(&[Type::MAP, Type::STRING, Type::ANY], Type::MAP), |_, args| {
        let map = args[0].as_map().unwrap();
        if map.is_nil() {
            return Err(Error::call("assignment to entry in nil map"));
        }
        map.insert(args[1].as_str().unwrap().clone(), args[2].clone());
        Ok(args[0].clone())
    });
    table.add("list", Signature::variadic(&[Type::ANY], Type::LIST), |_, args| Ok(Value::list(args.to_vec())));
    table.add("strs", Signature::variadic(&[Type::STRING], Type::STRINGS), |_, args| {
        Ok(Value::typed_list(Type::STRINGS, args.to_vec()))
    });
    table.add("raw", Signature::new(&[Type::STRING], Type::BYTES), |_, args| {
        Ok(Value::bytes(args[0].as_str().unwrap()))
    });
    table.add("keys", Signature::new(&[Type::MAP], Type::INT), |_, args| {
        Ok(Value::Int(args[0].as_map().unwrap().len() as i64))
    });
    table.add("slen", Signature::new(&[Type::STRINGS], Type::INT), |_, args| {
        Ok(Value::Int(args[0].as_list().unwrap().len() as i64))
    });
    table.add("nilmap", Signature::new(&[], Type::MAP), |_, _| Ok(Value::zero(Type::MAP)));
    table.add("nillist", Signature::new(&[], Type::LIST), |_, _| Ok(Value::zero(Type::LIST)));
}

static SEQ_NAME: Named = Named { name: "iter.Seq[int]", underlying: Type::FUNC, methods: &[] };
static PAIRS_NAME: Named = Named { name: "iter.Seq2[int,string]", underlying: Type::FUNC, methods: &[] };
const SEQ: Type = Type(&Shape::Named(&SEQ_NAME));
const PAIRS: Type = Type(&Shape::Named(&PAIRS_NAME));

struct Iterator {
    count: i64,
    pairs: bool,
}

impl Object for Iterator {
    fn go_type(&self) -> Type {
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
