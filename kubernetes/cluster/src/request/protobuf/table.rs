//! Table of the built-in kinds' messages.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Format: `= version kind message`, then `# message` and its fields: number, JSON name, type, flags.
const TEXT: &str = include_str!("../../../data/protobuf.txt");

/// JSON form of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldLayout {
    /// Single value.
    One,
    /// List.
    List,
    /// Object with arbitrary keys.
    Map,
    /// The message's fields are inlined into the outer message.
    Inline,
}

/// Field of a message.
#[derive(Clone, Debug)]
pub(super) struct MessageField {
    /// JSON name.
    pub name: &'static str,
    /// Scalar type, special type (`time`, `quantity`, ...) or message.
    pub kind: &'static str,
    /// JSON form.
    pub shape: FieldLayout,
    /// Whether the field's zero value differs from its absence.
    pub pointer: bool,
}

/// Table of all messages.
#[derive(Debug, Default)]
pub(super) struct MessageTable {
    kinds: HashMap<(&'static str, &'static str), &'static str>,
    messages: HashMap<&'static str, HashMap<u64, MessageField>>,
}

impl MessageTable {
    /// Returns the table, parsed on first use.
    pub fn get() -> &'static Self {
        static TABLE: OnceLock<MessageTable> = OnceLock::new();
        TABLE.get_or_init(Self::parse)
    }

    /// Returns the message of a kind.
    pub fn kind(&self, version: &str, kind: &str) -> Option<&'static str> {
        // The options have the version of the object they are about.
        let version = if kind == "DeleteOptions" { "v1" } else { version };
        self.kinds.get(&(version, kind)).copied()
    }

    /// Returns a field of a message.
    pub fn field(&self, message: &str, number: u64) -> Option<&MessageField> {
        self.messages.get(message)?.get(&number)
    }

    fn parse() -> Self {
        let mut table = Self::default();
        let mut message = "";
        for line in TEXT.lines() {
            let mut words = line.split(' ');
            let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let (third, flags) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            match first {
                "=" => drop(table.kinds.insert((second, third), flags)),
                "#" => {
                    message = second;
                    table.messages.entry(message).or_default();
                }
                number => {
                    let shape = match flags {
                        f if f.contains('r') => FieldLayout::List,
                        f if f.contains('m') => FieldLayout::Map,
                        f if f.contains('i') => FieldLayout::Inline,
                        _ => FieldLayout::One,
                    };
                    let field = MessageField { name: second, kind: third, shape, pointer: flags.contains('p') };
                    let number = number.parse().expect("the table's fields have numbers");
                    table.messages.entry(message).or_default().insert(number, field);
                }
            }
        }
        table
    }
}
