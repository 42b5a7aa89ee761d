//! Operators that the author of a binary adds to the built-in ones.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock, OnceLock};

use switchboard_kernel::config::KnownOperators;
use switchboard_kernel::operator::Operator;

use super::KNOWN;

/// Name of the binary without operators of its own.
const SWITCHBOARD: &str = "switchboard";

/// Set once, at the start of the process: names are also read where the command line is declared, which takes no
/// argument.
static OWN: OnceLock<Vec<Arc<dyn Operator>>> = OnceLock::new();

/// Two operators of the binary have the same name.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "could not add operator `{0}`: another operator has this name\nhint: return another name from `Operator::name`"
)]
pub struct NameInUse(String);

/// Adds the operators of this binary. Called once, before a command runs.
pub fn register(operators: Vec<Arc<dyn Operator>>) -> Result<(), NameInUse> {
    check(&operators)?;
    // A second call would change names that were already read.
    let _ = OWN.set(operators);
    Ok(())
}

fn check(operators: &[Arc<dyn Operator>]) -> Result<(), NameInUse> {
    let mut used: BTreeSet<&str> = KNOWN.operators.iter().chain(KNOWN.samples).copied().collect();
    for one in operators {
        if KNOWN.parent_of(one.name()).is_some() || !used.insert(one.name()) {
            return Err(NameInUse(one.name().to_string()));
        }
    }
    Ok(())
}

/// Returns the operators that the author added.
pub fn own() -> &'static [Arc<dyn Operator>] {
    OWN.get().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the names that `switchboard.yaml` may use in this binary.
pub fn known() -> KnownOperators<'static> {
    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let mut names: Vec<&str> = KNOWN.operators.to_vec();
        names.extend(own().iter().map(|one| one.name()));
        names.sort_unstable();
        names
    });
    KnownOperators { operators: &NAMES, ..KNOWN }
}

/// Returns a built-in configuration with the operators of this binary. They replace the sample operator.
pub fn with_own(configuration: &str, sample: &str) -> String {
    let entries: String = own().iter().map(|one| format!("  {:?}: {{}}\n", one.name())).collect();
    add_entries(configuration, sample, &entries)
}

fn add_entries(configuration: &str, sample: &str, entries: &str) -> String {
    let rest = configuration.strip_prefix("operators:\n").expect("a built-in configuration begins with its operators");
    if entries.is_empty() || configuration != sample {
        return format!("operators:\n{entries}{rest}");
    }
    format!("operators:\n{entries}")
}

/// Returns the name of the binary as users type it.
pub fn program(called: &str) -> String {
    let name = Path::new(called).file_name().map(|name| name.to_string_lossy().into_owned());
    name.filter(|_| !own().is_empty()).unwrap_or_else(|| SWITCHBOARD.to_string())
}

/// Replaces the name of the binary in the commands of a text, which are between backticks.
pub fn name_commands(text: &str) -> Cow<'_, str> {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| program(&std::env::args().next().unwrap_or_default()));
    rename_commands(text, &PROGRAM)
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
    use switchboard_greeter::Greeter;
    use switchboard_rogue::{Misbehavior, Rogue};

    #[test]
    fn a_name_belongs_to_one_operator() {
        let of = |name: &str| Arc::new(Rogue::new(name, Misbehavior::Floods)) as Arc<dyn Operator>;
        assert_eq!(check(&[of("mine"), of("another")]), Ok(()));
        assert_eq!(check(&[Arc::new(Greeter)]), Err(NameInUse("greeter".into())));
        assert_eq!(check(&[of("mine"), of("mine")]), Err(NameInUse("mine".into())));
        assert_eq!(check(&[of("engine@main")]), Err(NameInUse("engine@main".into())));
    }

    #[test]
    fn own_operators_replace_the_sample_and_are_added_to_examples() {
        let sample = "operators:\n  greeter: {}\n";
        let example = "operators:\n  greeter: {}\n  plugs: {}\n";
        let own = "  \"mine\": {}\n";
        assert_eq!(add_entries(sample, sample, own), "operators:\n  \"mine\": {}\n");
        assert_eq!(add_entries(sample, sample, ""), sample);
        assert_eq!(add_entries(example, sample, own), "operators:\n  \"mine\": {}\n  greeter: {}\n  plugs: {}\n");
    }

    #[test]
    fn hints_name_the_binary_that_prints_them() {
        let hint = "hint: run `switchboard top`, see switchboard.yaml";
        assert_eq!(rename_commands(hint, "switchboard"), hint);
        assert_eq!(rename_commands(hint, "dns"), "hint: run `dns top`, see switchboard.yaml");
    }
}
