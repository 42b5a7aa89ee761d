//! `range` over lists, maps, whole numbers and iterators.

use super::Slot;
use super::frame::{Flow, Frame};
use crate::error::Error;
use crate::format;
use crate::parse::Branch;
use crate::value::{Sequence, Type, Value};

impl<'t> Frame<'_, '_, 't> {
    pub(super) fn range(&mut self, dot: &Slot, branch: &'t Branch) -> Result<Flow, Error> {
        self.step()?;
        let outer = self.mark();
        let value = self.pipeline(dot, &branch.pipe)?.value;
        let ran = self.iterate(&value, branch)?;
        let mut flow = Flow::Next;
        if let (false, Some(otherwise)) = (ran, &branch.otherwise) {
            flow = self.walk(dot, otherwise)?;
        }
        self.pop(outer);
        // Both belong to a range around this one; Go's engine ends this one with a break, and goes on behind it.
        Ok(if flow == Flow::Continue { flow } else { Flow::Next })
    }

    /// Goes over the value; answers whether there was anything.
    fn iterate(&mut self, value: &Value, branch: &'t Branch) -> Result<bool, Error> {
        let mut loops = Loop { branch, mark: self.mark(), ran: false };
        match value {
            Value::List(go_type, list) => {
                let Slot { is_interface, .. } = Slot::element(*go_type, Value::Nil);
                for (index, item) in list.iter().enumerate() {
                    let item = Slot { value: item.clone(), is_interface };
                    if !loops.turn(self, Slot::concrete(Value::Int(index as i64)), item)? {
                        break;
                    }
                }
            }
            Value::Bytes(bytes) => {
                for (index, byte) in bytes.iter().enumerate() {
                    let item = Slot::concrete(Value::Uint8(*byte));
                    if !loops.turn(self, Slot::concrete(Value::Int(index as i64)), item)? {
                        break;
                    }
                }
            }
            Value::Map(go_type, map) => {
                // The entries as they are now: the body may change the map. A copy is made of all, whatever is used.
                self.execution.charge(map.len() as u64).map_err(|error| self.fail(error.to_string()))?;
                for (key, item) in map.snapshot() {
                    let item = Slot::element(*go_type, item);
                    if !loops.turn(self, Slot::concrete(Value::String(key)), item)? {
                        break;
                    }
                }
            }
            Value::Nil => {}
            Value::Object(object) => match object.sequence() {
                Some(sequence) => self.sequence(sequence, value, &mut loops)?,
                None => self.count(value, &mut loops)?,
            },
            value => self.count(value, &mut loops)?,
        }
        Ok(loops.ran)
    }

    /// From 0 up to a whole number, in its own type.
    fn count(&mut self, value: &Value, loops: &mut Loop<'t>) -> Result<(), Error> {
        let end = match (value.as_i64(), value.as_u64()) {
            (Some(end), _) => u64::try_from(end).unwrap_or(0),
            (None, Some(end)) => end,
            (None, None) => {
                let shown = format::text_of(value);
                return Err(self.fail(format!("range can't iterate over {shown}")));
            }
        };
        if loops.branch.pipe.declared.len() > 1 {
            let shown = format::text_of(value);
            return Err(self.fail(format!("can't use {shown} to iterate over more than one variable")));
        }
        let go_type = value.type_of().unwrap_or(Type::INT);
        for number in 0..end {
            if !loops.turn(self, Slot::INVALID, Slot::concrete(whole(go_type, number)))? {
                break;
            }
        }
        Ok(())
    }

    fn sequence(&mut self, sequence: Sequence, value: &Value, loops: &mut Loop<'t>) -> Result<(), Error> {
        let variables = loops.branch.pipe.declared.len();
        match sequence {
            Sequence::One(_) if variables > 1 => {
                let shown = format::text_of(value);
                return Err(self.fail(format!("can't use {shown} iterate over more than one variable")));
            }
            Sequence::One(items) => {
                for item in items {
                    if !loops.turn(self, Slot::INVALID, Slot::concrete(item))? {
                        break;
                    }
                }
            }
            Sequence::Two(items) => {
                for (key, item) in items {
                    let (key, item) = if variables > 1 { (key, item) } else { (Value::Nil, key) };
                    if !loops.turn(self, Slot::concrete(key), Slot::concrete(item))? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A running `range`.
struct Loop<'t> {
    branch: &'t Branch,
    /// The variables to keep between turns: those of the range itself.
    mark: usize,
    ran: bool,
}

impl<'t> Loop<'t> {
    /// One turn; answers whether to go on.
    fn turn(&mut self, frame: &mut Frame<'_, '_, 't>, index: Slot, item: Slot) -> Result<bool, Error> {
        self.ran = true;
        frame.step()?;
        let pipe = &self.branch.pipe;
        match (pipe.declared.as_slice(), pipe.assigns) {
            ([], _) => {}
            ([name], true) => *frame.variable(*name)? = item.clone(),
            ([first, second, ..], true) => {
                *frame.variable(*first)? = index;
                *frame.variable(*second)? = item.clone();
            }
            ([_], false) => frame.set_top(1, item.clone()),
            (_, false) => {
                frame.set_top(1, item.clone());
                frame.set_top(2, index);
            }
        }
        let flow = frame.walk(&item, &self.branch.list)?;
        frame.pop(self.mark);
        Ok(flow != Flow::Break)
    }
}

impl Frame<'_, '_, '_> {
    /// Sets the variable that is `from_top`th on the stack.
    fn set_top(&mut self, from_top: usize, value: Slot) {
        let variables = &mut self.execution.variables;
        let at = variables.len() - from_top;
        variables[at].1 = value;
    }
}

/// A whole number of a type.
fn whole(go_type: Type, number: u64) -> Value {
    let zero = Value::zero(go_type);
    match zero {
        Value::Int8(_) => Value::Int8(number as i8),
        Value::Int16(_) => Value::Int16(number as i16),
        Value::Int32(_) => Value::Int32(number as i32),
        Value::Int64(_) => Value::Int64(number as i64),
        Value::Uint(_) => Value::Uint(number),
        Value::Uint8(_) => Value::Uint8(number as u8),
        Value::Uint16(_) => Value::Uint16(number as u16),
        Value::Uint32(_) => Value::Uint32(number as u32),
        Value::Uint64(_) => Value::Uint64(number),
        _ => Value::Int(number as i64),
    }
}
