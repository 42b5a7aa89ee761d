//! `range` over lists, maps, integers and iterators.

use super::ReflectValue;
use super::frame::{ExecFrame, Flow};
use crate::error::Error;
use crate::format;
use crate::parse::BranchNode;
use crate::value::{ReflectType, Sequence, Value};

impl<'t> ExecFrame<'_, '_, 't> {
    pub(super) fn range(&mut self, dot: &ReflectValue, branch: &'t BranchNode) -> Result<Flow, Error> {
        self.step()?;
        let outer = self.mark();
        let value = self.pipeline(dot, &branch.pipe)?.value;
        let ran = self.iterate(&value, branch)?;
        let mut flow = Flow::Next;
        if let (false, Some(else_list)) = (ran, &branch.else_list) {
            flow = self.walk(dot, else_list)?;
        }
        self.pop(outer);
        // `break` and `continue` inside `else` belong to the surrounding range. Go's engine ends this range on a break
        // and then continues after it.
        Ok(if flow == Flow::Continue { flow } else { Flow::Next })
    }

    /// Iterates over the value. Returns whether there was any element.
    fn iterate(&mut self, value: &Value, branch: &'t BranchNode) -> Result<bool, Error> {
        let mut loops = RangeLoop { branch, mark: self.mark(), ran: false };
        match value {
            Value::List(go_type, list) => {
                let ReflectValue { is_interface, .. } = ReflectValue::element(*go_type, Value::Nil);
                for (index, item) in list.iter().enumerate() {
                    let item = ReflectValue { value: item.clone(), is_interface };
                    if !loops.iteration(self, ReflectValue::concrete(Value::Int(index as i64)), item)? {
                        break;
                    }
                }
            }
            Value::Bytes(bytes) => {
                for (index, byte) in bytes.iter().enumerate() {
                    let item = ReflectValue::concrete(Value::Uint8(*byte));
                    if !loops.iteration(self, ReflectValue::concrete(Value::Int(index as i64)), item)? {
                        break;
                    }
                }
            }
            Value::Map(go_type, map) => {
                // Iterate over a copy of the entries, because the body may change the map. The whole map is copied,
                // however little is used.
                self.execution.charge(map.len() as u64).map_err(|error| self.fail(error.to_string()))?;
                for (key, item) in map.snapshot() {
                    let item = ReflectValue::element(*go_type, item);
                    if !loops.iteration(self, ReflectValue::concrete(Value::String(key)), item)? {
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

    /// Iterates from 0 to an integer, exclusive, in its own type.
    fn count(&mut self, value: &Value, loops: &mut RangeLoop<'t>) -> Result<(), Error> {
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
        let go_type = value.type_of().unwrap_or(ReflectType::INT);
        for number in 0..end {
            if !loops.iteration(self, ReflectValue::INVALID, ReflectValue::concrete(integer(go_type, number)))? {
                break;
            }
        }
        Ok(())
    }

    fn sequence(&mut self, sequence: Sequence, value: &Value, loops: &mut RangeLoop<'t>) -> Result<(), Error> {
        let variables = loops.branch.pipe.declared.len();
        match sequence {
            Sequence::One(_) if variables > 1 => {
                let shown = format::text_of(value);
                return Err(self.fail(format!("can't use {shown} iterate over more than one variable")));
            }
            Sequence::One(items) => {
                for item in items {
                    if !loops.iteration(self, ReflectValue::INVALID, ReflectValue::concrete(item))? {
                        break;
                    }
                }
            }
            Sequence::Two(items) => {
                for (key, item) in items {
                    let (key, item) = if variables > 1 { (key, item) } else { (Value::Nil, key) };
                    if !loops.iteration(self, ReflectValue::concrete(key), ReflectValue::concrete(item))? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A running `range`.
struct RangeLoop<'t> {
    branch: &'t BranchNode,
    /// Variable stack height to keep between iterations: the range's own variables.
    mark: usize,
    ran: bool,
}

impl<'t> RangeLoop<'t> {
    /// Runs one iteration. Returns whether to continue.
    fn iteration(
        &mut self,
        frame: &mut ExecFrame<'_, '_, 't>,
        index: ReflectValue,
        item: ReflectValue,
    ) -> Result<bool, Error> {
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

impl ExecFrame<'_, '_, '_> {
    /// Sets the variable at `from_top` from the top of the stack.
    fn set_top(&mut self, from_top: usize, value: ReflectValue) {
        let variables = &mut self.execution.variables;
        let at = variables.len() - from_top;
        variables[at].1 = value;
    }
}

/// Creates an integer of a type.
fn integer(go_type: ReflectType, number: u64) -> Value {
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
