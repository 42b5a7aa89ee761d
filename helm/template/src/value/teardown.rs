//! Freeing nested values without recursion: a template can nest a list a million deep, and the stack cannot.

use std::rc::Rc;

use crate::value::{List, Map, Value};

impl Drop for List {
    fn drop(&mut self) {
        free(self.take());
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if !self.is_empty() {
            free(self.take());
        }
    }
}

fn free(mut waiting: Vec<Value>) {
    // Most lists hold no others; those are freed by the vector itself.
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
