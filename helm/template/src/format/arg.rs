//! Formatting of each kind of value for each verb.

use std::rc::Rc;

use super::{FloatWidth, MAX_DEPTH, PrintError, ValuePrinter};
use crate::stack;
use crate::value::{HostObject, ReflectKind, ReflectType, Str, Value};

impl ValuePrinter<'_> {
    /// Formats one argument.
    pub(super) fn arg(&mut self, value: &Value, verb: char) {
        match (value, verb) {
            (Value::Nil, 'T' | 'v') => self.pad(b"<nil>"),
            (Value::Nil, _) => self.bad_verb(value, verb),
            (_, 'T') => self.string(value.type_name().as_bytes()),
            (_, 'p') => self.pointer(value, verb),
            (Value::Bytes(bytes), _) => self.bytes(bytes, verb, "[]byte"),
            (Value::Object(object), _) if self.methods(object, verb) => {}
            _ => self.value(value, verb, 0),
        }
    }

    /// Reports a verb that does not fit the value.
    fn bad_verb(&mut self, value: &Value, verb: char) {
        self.erroring = true;
        self.push(b"%!");
        self.push_char(verb);
        self.push(b"(");
        match value {
            Value::Nil => self.push(b"<nil>"),
            value => {
                self.push_str(&value.type_name());
                self.push(b"=");
                self.value(value, 'v', 0);
            }
        }
        self.push(b")");
        self.erroring = false;
    }

    /// Formats objects that have their own text.
    fn methods(&mut self, object: &Rc<dyn HostObject>, verb: char) -> bool {
        if self.erroring {
            return false;
        }
        if verb == 'w' {
            self.bad_verb(&Value::Object(object.clone()), verb);
            return true;
        }
        if self.flags.sharp_v {
            let Some(text) = object.go_syntax() else { return false };
            self.string(&text);
            return true;
        }
        match object.text() {
            Some(text) if matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') => {
                self.text(&text, verb, &Value::String(text.clone()));
                true
            }
            _ => false,
        }
    }

    /// Formats a value at the top level or inside another one.
    fn value(&mut self, value: &Value, verb: char, depth: usize) {
        if self.problem.is_some() {
            return;
        }
        if depth > MAX_DEPTH {
            self.problem = Some(PrintError::TooDeep);
            return;
        }
        match value {
            Value::Nil if self.flags.sharp_v => self.push(b"interface {}(nil)"),
            Value::Nil => self.push(b"<nil>"),
            Value::Bool(bool) => match verb {
                't' | 'v' => self.pad(if *bool { b"true" } else { b"false" }),
                _ => self.bad_verb(value, verb),
            },
            Value::Float32(number) => self.number(f64::from(*number), FloatWidth::Single, verb, value),
            Value::Float64(number) => self.number(*number, FloatWidth::Double, verb, value),
            Value::Complex(real, imaginary) => self.complex(*real, *imaginary, verb, value),
            Value::String(text) => self.text(text, verb, value),
            Value::Bytes(bytes) => self.bytes(bytes, verb, "[]uint8"),
            Value::List(go_type, list) => self.list(*go_type, list, list.is_nil(), verb, depth),
            Value::Map(go_type, map) => {
                let entries = map.snapshot();
                self.map(*go_type, &entries, map.is_nil(), verb, depth);
            }
            Value::Object(object) => self.object(object, verb, depth),
            Value::Func(_) => self.pointer(value, verb),
            number => match (number.as_i64(), number.as_u64()) {
                (Some(signed), _) => self.whole(signed as u64, true, verb, value),
                (None, unsigned) => self.whole(unsigned.unwrap_or(0), false, verb, value),
            },
        }
    }

    fn whole(&mut self, number: u64, signed: bool, verb: char, value: &Value) {
        match verb {
            'v' if self.flags.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.integer(number, 16, false, 'v', false);
                self.flags.sharp = sharp;
            }
            'v' | 'd' => self.integer(number, 10, signed, verb, false),
            'b' => self.integer(number, 2, signed, verb, false),
            'o' | 'O' => self.integer(number, 8, signed, verb, false),
            'x' => self.integer(number, 16, signed, verb, false),
            'X' => self.integer(number, 16, signed, verb, true),
            'c' => self.character(number),
            'q' => self.quoted_character(number),
            'U' => self.unicode(number),
            _ => self.bad_verb(value, verb),
        }
    }

    fn number(&mut self, number: f64, width: FloatWidth, verb: char, value: &Value) {
        match verb {
            'v' => self.float(number, width, b'g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => self.float(number, width, verb as u8, None),
            'f' | 'e' | 'E' => self.float(number, width, verb as u8, Some(6)),
            'F' => self.float(number, width, b'f', Some(6)),
            _ => self.bad_verb(value, verb),
        }
    }

    fn complex(&mut self, real: f64, imaginary: f64, verb: char, value: &Value) {
        if !"vbgGxXfFeE".contains(verb) {
            return self.bad_verb(value, verb);
        }
        self.push(b"(");
        self.number(real, FloatWidth::Double, verb, value);
        let plus = std::mem::replace(&mut self.flags.plus, true);
        self.number(imaginary, FloatWidth::Double, verb, value);
        self.flags.plus = plus;
        self.push(b"i)");
    }

    fn text(&mut self, text: &Str, verb: char, value: &Value) {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(text),
            'v' | 's' => self.string(text),
            'x' => self.hex_bytes(text, false),
            'X' => self.hex_bytes(text, true),
            'q' => self.quoted(text),
            _ => self.bad_verb(value, verb),
        }
    }

    fn bytes(&mut self, bytes: &[u8], verb: char, type_name: &str) {
        match verb {
            'v' | 'd' => {
                let (open, between, close) = if self.flags.sharp_v { ("{", ", ", "}") } else { ("[", " ", "]") };
                if self.flags.sharp_v {
                    self.push_str(type_name);
                }
                self.push_str(open);
                for (index, byte) in bytes.iter().enumerate() {
                    if index > 0 {
                        self.push_str(between);
                    }
                    self.whole((*byte).into(), false, 'v', &Value::Uint8(*byte));
                }
                self.push_str(close);
            }
            's' => self.string(bytes),
            'x' => self.hex_bytes(bytes, false),
            'X' => self.hex_bytes(bytes, true),
            'q' => self.quoted(bytes),
            _ => {
                let items: Vec<Value> = bytes.iter().map(|byte| Value::Uint8(*byte)).collect();
                self.list(ReflectType::BYTES, &items, false, verb, 0);
            }
        }
    }

    fn list(&mut self, go_type: ReflectType, items: &[Value], nil: bool, verb: char, depth: usize) {
        if self.flags.sharp_v {
            self.push_str(&go_type.to_string());
            if nil {
                return self.push(b"(nil)");
            }
        }
        let (open, between, close) = if self.flags.sharp_v { ("{", ", ", "}") } else { ("[", " ", "]") };
        self.push_str(open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.push_str(between);
            }
            self.element(item, verb, depth + 1);
            if self.problem.is_some() {
                return;
            }
        }
        self.push_str(close);
    }

    fn map(&mut self, go_type: ReflectType, entries: &[(Str, Value)], nil: bool, verb: char, depth: usize) {
        let between = if self.flags.sharp_v { ", " } else { " " };
        if self.flags.sharp_v {
            self.push_str(&go_type.to_string());
            if nil {
                return self.push(b"(nil)");
            }
            self.push(b"{");
        } else {
            self.push(b"map[");
        }
        for (index, (key, value)) in entries.iter().enumerate() {
            if index > 0 {
                self.push_str(between);
            }
            self.text(key, verb, &Value::String(key.clone()));
            self.push(b":");
            self.element(value, verb, depth + 1);
            if self.problem.is_some() {
                return;
            }
        }
        self.push(if self.flags.sharp_v { b"}" } else { b"]" });
    }

    /// Formats a value inside another one. Objects use their own text there as well.
    fn element(&mut self, value: &Value, verb: char, depth: usize) {
        match value {
            Value::Object(object) if self.methods(object, verb) => {}
            value => stack::grow(|| self.value(value, verb, depth)),
        }
    }

    fn object(&mut self, object: &Rc<dyn HostObject>, verb: char, depth: usize) {
        let go_type = object.go_type();
        let value = Value::Object(object.clone());
        if let Some(scalar) = object.scalar() {
            return self.scalar(&scalar, verb, &value);
        }
        match go_type.kind() {
            ReflectKind::Pointer if depth == 0 => {
                self.push_str(if self.through_pointer { "" } else { "&" });
                self.fields(go_type.element(), object, verb, depth + 1);
            }
            ReflectKind::Pointer => self.pointer(&value, verb),
            _ => self.fields(go_type, object, verb, depth),
        }
    }

    /// Formats the number or string underlying a named type. A bad verb is reported with the name of that type.
    fn scalar(&mut self, scalar: &Value, verb: char, value: &Value) {
        match scalar {
            Value::Float64(number) => self.number(*number, FloatWidth::Double, verb, value),
            Value::String(text) => self.text(text, verb, value),
            Value::Bool(_) if matches!(verb, 't' | 'v') => self.value(scalar, verb, 0),
            Value::Bool(_) => self.bad_verb(value, verb),
            scalar => match scalar.as_i64() {
                Some(signed) => self.whole(signed as u64, true, verb, value),
                None => self.whole(scalar.as_u64().unwrap_or(0), false, verb, value),
            },
        }
    }

    fn fields(&mut self, go_type: ReflectType, object: &Rc<dyn HostObject>, verb: char, depth: usize) {
        if self.flags.sharp_v {
            self.push_str(&go_type.to_string());
        }
        self.push(b"{");
        for (index, (name, value)) in object.fields().iter().enumerate() {
            if index > 0 {
                self.push_str(if self.flags.sharp_v { ", " } else { " " });
            }
            if self.flags.plus_v || self.flags.sharp_v {
                self.push_str(name);
                self.push(b":");
            }
            self.element(value, verb, depth + 1);
        }
        self.push(b"}");
    }

    /// Formats `%p` and values that are only an address. Go's addresses differ between runs; this one is constant.
    fn pointer(&mut self, value: &Value, verb: char) {
        const ADDRESS: u64 = 0xc000_0102_0000;
        if !matches!(value.kind(), ReflectKind::Func | ReflectKind::Map | ReflectKind::Pointer | ReflectKind::Slice) {
            return self.bad_verb(value, verb);
        }
        let address = if value.is_nil() { 0 } else { ADDRESS };
        match verb {
            'v' if self.flags.sharp_v => {
                self.push_str(&format!("({})(0x{address:x})", value.type_name()));
            }
            'v' | 'p' => {
                let sharp = self.flags.sharp;
                self.flags.sharp = !sharp;
                self.integer(address, 16, false, 'v', false);
                self.flags.sharp = sharp;
            }
            'b' | 'o' | 'd' | 'x' | 'X' => self.whole(address, false, verb, value),
            _ => self.bad_verb(value, verb),
        }
    }
}
