//! What the commands that are shown must say beside themselves.

/// Flags of commands that are shown, where these would not find by themselves what this console is about. Each begins with a
/// blank, and may be pasted into a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Of commands that ask this kernel.
    kernel: String,
    /// Of commands over the GitOps Service's database.
    fleet: String,
}

impl Flags {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a flag for commands that ask this kernel.
    #[must_use]
    pub fn kernel(self, flag: &str, value: &str) -> Self {
        Self { kernel: format!("{}{}", self.kernel, said(flag, value)), ..self }
    }

    /// With a flag for commands over the database; one without a value stands alone.
    #[must_use]
    pub fn fleet(self, flag: &str, value: &str) -> Self {
        Self { fleet: format!("{}{}", self.fleet, said(flag, value)), ..self }
    }

    pub(crate) fn of_kernel(&self) -> &str {
        &self.kernel
    }

    pub(crate) fn of_fleet(&self) -> &str {
        &self.fleet
    }
}

fn said(flag: &str, value: &str) -> String {
    if value.is_empty() { format!(" {flag}") } else { format!(" {flag} {}", quoted(value)) }
}

/// As a shell reads it back.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if text.chars().all(plain) { text.to_string() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_pasted() {
        let flags = Flags::new().kernel("--state-dir", "/var/lib/my board").fleet("--plaintext-credentials", "");
        assert_eq!(flags.of_kernel(), " --state-dir '/var/lib/my board'");
        assert_eq!(flags.of_fleet(), " --plaintext-credentials");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
