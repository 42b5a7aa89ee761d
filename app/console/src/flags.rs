//! Flags of the commands that pages show.

/// Flags that the shown commands need to reach this kernel and database. Each flag starts with a space and is quoted
/// for a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandFlags {
    /// Flags of commands that reach the kernel.
    kernel: String,
    /// Flags of commands that use the database of the GitOps Service.
    fleet: String,
}

impl CommandFlags {
    /// Creates an empty set of flags.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a flag for commands that reach the kernel.
    #[must_use]
    pub fn kernel(self, flag: &str, value: &str) -> Self {
        Self { kernel: format!("{}{}", self.kernel, flag_text(flag, value)), ..self }
    }

    /// Adds a flag for commands that use the database; an empty value adds a flag without a value.
    #[must_use]
    pub fn fleet(self, flag: &str, value: &str) -> Self {
        Self { fleet: format!("{}{}", self.fleet, flag_text(flag, value)), ..self }
    }

    pub(crate) fn kernel_flags(&self) -> &str {
        &self.kernel
    }

    pub(crate) fn fleet_flags(&self) -> &str {
        &self.fleet
    }
}

fn flag_text(flag: &str, value: &str) -> String {
    if value.is_empty() { format!(" {flag}") } else { format!(" {flag} {}", quoted(value)) }
}

/// Quotes a text for a shell.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if text.chars().all(plain) { text.to_string() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_flags_can_be_pasted() {
        let flags = CommandFlags::new().kernel("--state-dir", "/var/lib/my board").fleet("--plaintext-credentials", "");
        assert_eq!(flags.kernel_flags(), " --state-dir '/var/lib/my board'");
        assert_eq!(flags.fleet_flags(), " --plaintext-credentials");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
