//! The messages of the built-in kinds.

use std::collections::HashMap;
use std::sync::OnceLock;

/// `= version kind message`, then `# message` and its fields: number, JSON name, type, flags.
const TEXT: &str = include_str!("../../../data/protobuf.txt");

/// How a field's values stand in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A value.
    One,
    /// A list.
    List,
    /// An object with any keys.
    Map,
    /// The fields of the message stand among those of the outer one.
    Inline,
}

/// One field of a message.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// The name in JSON.
    pub name: &'static str,
    /// A scalar type, a type of its own (`time`, `quantity`, ...) or a message.
    pub kind: &'static str,
    /// How it stands in JSON.
    pub shape: Shape,
    /// Its zero is not the same as its absence.
    pub pointer: bool,
}

/// All messages.
#[derive(Debug, Default)]
pub(super) struct Table {
    kinds: HashMap<(&'static str, &'static str), &'static str>,
    messages: HashMap<&'static str, HashMap<u64, Field>>,
}

impl Table {
    /// The table, read when it is first asked for.
    pub fn get() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(Self::parse)
    }

    /// The message of a kind.
    pub fn kind(&self, version: &str, kind: &str) -> Option<&'static str> {
        // Options come in the version of the object they are about.
        let version = if kind == "DeleteOptions" { "v1" } else { version };
        self.kinds.get(&(version, kind)).copied()
    }

    /// A field of a message.
    pub fn field(&self, message: &str, number: u64) -> Option<&Field> {
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
                        f if f.contains('r') => Shape::List,
                        f if f.contains('m') => Shape::Map,
                        f if f.contains('i') => Shape::Inline,
                        _ => Shape::One,
                    };
                    let field = Field { name: second, kind: third, shape, pointer: flags.contains('p') };
                    let number = number.parse().expect("the table's fields have numbers");
                    table.messages.entry(message).or_default().insert(number, field);
                }
            }
        }
        table
    }
}
