//! Under which key the metadata files of a mutation directory have an object's name.

use clap::ValueEnum;
use switchboard_gather::mutation::NameKey;

/// A key of metadata files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Key {
    /// As today's library-go writes and reads it
    #[default]
    Name,
    /// As library-go did in 2024, which multi-operator-manager is built with
    Mame,
    /// Both, which any version reads
    Both,
}

impl From<Key> for NameKey {
    fn from(key: Key) -> Self {
        match key {
            Key::Name => NameKey::Name,
            Key::Mame => NameKey::Mame,
            Key::Both => NameKey::Both,
        }
    }
}

impl Key {
    /// As it is said on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Key::Name => "name",
            Key::Mame => "mame",
            Key::Both => "both",
        }
    }
}
