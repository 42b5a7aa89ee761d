//! Selection of controllers by `--controllers`.

/// Selected names: `name` enables, `-name` disables, and `*` enables all other controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerSelection(Vec<String>);

/// Error for an unknown controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown controller `{name}`\nhint: known controllers: {}", known.join(", "))]
pub struct UnknownController {
    /// Requested name.
    pub name: String,
    /// Known names.
    pub known: Vec<String>,
}

impl ControllerSelection {
    /// Creates a selection from names; without names, all controllers run.
    pub fn named(names: impl IntoIterator<Item = String>) -> Self {
        let names: Vec<String> = names.into_iter().collect();
        if names.is_empty() { Self::default() } else { Self(names) }
    }

    /// Returns the enabled controllers among the known ones.
    ///
    /// # Errors
    /// If a selected name is unknown.
    pub fn enabled<'a>(&self, known: &[&'a str]) -> Result<Vec<&'a str>, UnknownController> {
        let bare = |name: &String| name.strip_prefix('-').unwrap_or(name).to_string();
        let unknown = self.0.iter().map(bare).find(|name| name != "*" && !known.contains(&name.as_str()));
        if let Some(name) = unknown {
            return Err(UnknownController { name, known: known.iter().map(ToString::to_string).collect() });
        }
        Ok(known.iter().copied().filter(|name| self.is_enabled(name)).collect())
    }

    /// Whether a controller is enabled. The first entry about it wins, regardless of the position of `*`.
    fn is_enabled(&self, name: &str) -> bool {
        let said = self.0.iter().find_map(|word| match word.strip_prefix('-') {
            Some(off) if off == name => Some(false),
            _ if word == name => Some(true),
            _ => None,
        });
        said.unwrap_or_else(|| self.0.iter().any(|word| word == "*"))
    }
}

impl Default for ControllerSelection {
    fn default() -> Self {
        Self(vec!["*".to_string()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enabled(flag: &str) -> Result<Vec<&'static str>, UnknownController> {
        let words = flag.split(',').filter(|word| !word.is_empty()).map(str::to_string);
        ControllerSelection::named(words).enabled(&["a", "b"])
    }

    #[test]
    fn the_first_word_about_a_controller_counts() {
        let cases: [(&str, &[&str]); 8] = [
            ("", &["a", "b"]),
            ("*", &["a", "b"]),
            ("a", &["a"]),
            ("-a", &[]),
            ("*,-a", &["b"]),
            ("-a,*", &["b"]),
            ("a,-a", &["a"]),
            ("-a,a,*", &["b"]),
        ];
        for (flag, expected) in cases {
            assert_eq!(enabled(flag).as_deref(), Ok(expected), "{flag}");
        }
        for wrong in ["c", "-c", "*,c"] {
            let error = enabled(wrong).map_err(|error| error.to_string());
            assert_eq!(error, Err("unknown controller `c`\nhint: known controllers: a, b".to_string()));
        }
    }
}
