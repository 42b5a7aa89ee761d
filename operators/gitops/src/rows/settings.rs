//! Switchboard's own rows for settings of a backend, for commands that only have the database.

switchboard_sql::rows! {
    since 5;

    /// Setting of the backend.
    Setting = "switchboard_setting" {
        /// Name of the setting.
        name: String = "setting_name" max 64 key true,
        /// Value of the setting.
        value: String = "setting_value" max 1024,
    }
}
