//! Rows of ours alone: what a backend was told, for commands that have nothing but the database.

use crate::row::rows;

rows! {
    /// Something that a backend was told when it started.
    Setting = "switchboard_setting" {
        /// What.
        name: String = "setting_name" max 64 key true,
        /// As it was told.
        value: String = "setting_value" max 1024,
    }
}
