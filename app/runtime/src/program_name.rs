//! Name of the running binary in messages and reports.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Name that texts contain, and of the binary without operators of its own.
pub const SWITCHBOARD: &str = "switchboard";

static NAME: OnceLock<String> = OnceLock::new();

/// Sets the name of a binary with operators of its own. Called once, before anything is printed.
pub fn set(name: &str) {
    // A second call would let one process have two names.
    let _ = NAME.set(name.to_string());
}

/// Returns the name as users type it.
pub fn get() -> &'static str {
    NAME.get().map_or(SWITCHBOARD, String::as_str)
}

/// Replaces the name of the binary in the commands of a text, which are between backticks.
pub fn name_commands(text: &str) -> Cow<'_, str> {
    rename_commands(text, get())
}

fn rename_commands<'t>(text: &'t str, program: &str) -> Cow<'t, str> {
    match program {
        SWITCHBOARD => Cow::Borrowed(text),
        own => Cow::Owned(text.replace("`switchboard ", &format!("`{own} "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_binary_that_prints_them() {
        let hint = "hint: run `switchboard top`, see switchboard.yaml";
        assert_eq!(rename_commands(hint, "switchboard"), hint);
        assert_eq!(rename_commands(hint, "dns"), "hint: run `dns top`, see switchboard.yaml");
    }
}
