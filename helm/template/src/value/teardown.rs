//! Destructors of nested values without recursion. A template can nest a list a million levels deep, which would
//! overflow the stack.

use std::rc::Rc;

use crate::value::{GoMap, GoSlice, Value};

impl Drop for GoSlice {
    fn drop(&mut self) {
        free(self.take());
    }
}

impl Drop for GoMap {
    fn drop(&mut self) {
        if !self.is_empty() {
            free(self.take());
        }
    }
}

fn free(mut waiting: Vec<Value>) {
    // Most lists contain no other lists. The vector itself drops their elements.
    if !waiting.iter().any(|value| matches!(value, Value::List(..) | Value::Map(..))) {
        return;
    }
    while let Some(value) = waiting.pop() {
        match value {
            Value::List(_, list) => {
                if let Some(mut list) = Rc::into_inner(list) {
                    waiting.append(&mut list.take());
                }
            }
            Value::Map(_, map) => {
                if let Some(mut map) = Rc::into_inner(map) {
                    waiting.append(&mut map.take());
                }
            }
            _ => {}
        }
    }
}
