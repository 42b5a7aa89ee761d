//! Key of the object name in the metadata files of a mutation directory.

use clap::ValueEnum;
use switchboard_gather::mutation::NameKey;

/// Key of the object name in metadata files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NameKeyArg {
    /// Current library-go
    #[default]
    Name,
    /// library-go of 2024, which multi-operator-manager uses
    Mame,
    /// Both keys, for any version
    Both,
}

impl From<NameKeyArg> for NameKey {
    fn from(key: NameKeyArg) -> Self {
        match key {
            NameKeyArg::Name => NameKey::Name,
            NameKeyArg::Mame => NameKey::Mame,
            NameKeyArg::Both => NameKey::Both,
        }
    }
}

impl NameKeyArg {
    /// Returns the value of the command-line flag.
    pub fn as_str(self) -> &'static str {
        match self {
            NameKeyArg::Name => "name",
            NameKeyArg::Mame => "mame",
            NameKeyArg::Both => "both",
        }
    }
}
