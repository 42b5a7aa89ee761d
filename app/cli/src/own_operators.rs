//! Operators that the author of a binary adds to the built-in ones.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use switchboard_kernel::family::{Families, OperatorFamily};
use switchboard_kernel::operator::Operator;
use switchboard_runtime::families::FAMILIES;
use switchboard_runtime::program_name;

/// Operators of the author, with all families. Set once, at the start of the process: clap reads names where the
/// command line is declared, which takes no argument.
static OWN: OnceLock<(&'static OwnOperators, Families)> = OnceLock::new();

/// Two operators of the binary have the same name.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "could not add operator `{0}`: another operator has this name\nhint: return another name from `Operator::name`"
)]
pub struct NameInUse(&'static str);

/// Operators of the author of a binary.
struct OwnOperators {
    names: Vec<&'static str>,
    operators: Vec<Arc<dyn Operator>>,
}

impl OperatorFamily for OwnOperators {
    fn operators(&self) -> &[&'static str] {
        &self.names
    }

    fn operator(&self, name: &str) -> Option<Arc<dyn Operator>> {
        self.operators.iter().find(|one| one.name() == name).cloned()
    }
}

/// Returns all operators of this binary.
pub fn families() -> Families {
    OWN.get().map_or(FAMILIES, |(_, all)| *all)
}

/// Adds the operators of the author. Called once, before a command runs.
pub fn register(operators: Vec<Arc<dyn Operator>>, called: &OsStr) -> Result<(), NameInUse> {
    if operators.is_empty() {
        return Ok(());
    }
    // A second call would change names that were already read.
    let _ = OWN.set(with(operators)?);
    program_name::set(&Path::new(called).file_name().unwrap_or_default().to_string_lossy());
    Ok(())
}

/// Returns a family of these operators, which live as long as the process, and all families.
fn with(operators: Vec<Arc<dyn Operator>>) -> Result<(&'static OwnOperators, Families), NameInUse> {
    let mut names: Vec<&'static str> = Vec::new();
    for name in operators.iter().map(|one| &*String::leak(one.name().to_string())) {
        if FAMILIES.family_of(name).is_some() || names.contains(&name) {
            return Err(NameInUse(name));
        }
        names.push(name);
    }
    let own: &'static OwnOperators = Box::leak(Box::new(OwnOperators { names, operators }));
    let mut all: Vec<&'static dyn OperatorFamily> = vec![own];
    all.extend(FAMILIES.0);
    Ok((own, Families(all.leak())))
}

/// Returns a built-in configuration with the operators of the author. They replace the sample operator.
pub fn with_own(configuration: &str, sample: &str) -> String {
    add_entries(configuration, sample, OWN.get().map(|(own, _)| &own.names[..]).unwrap_or_default())
}

fn add_entries(configuration: &str, sample: &str, names: &[&str]) -> String {
    let entries: String = names.iter().map(|name| format!("  {name:?}: {{}}\n")).collect();
    let rest = configuration.strip_prefix("operators:\n").expect("a built-in configuration begins with its operators");
    let rest = if names.is_empty() || configuration != sample { rest } else { "" };
    format!("operators:\n{entries}{rest}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use switchboard_kernel::operator::{DecideError, Declaration, Unit};
    use switchboard_kernel::plan::Plan;
    use switchboard_kernel::view::View;

    struct IdleOperator(&'static str);

    impl Operator for IdleOperator {
        fn name(&self) -> &str {
            self.0
        }

        fn declaration(&self) -> Declaration {
            Declaration::whole()
        }

        fn decide(&self, _unit: &Unit, _view: &View) -> Result<Plan, DecideError> {
            Ok(Plan::nothing())
        }
    }

    fn named(names: &[&'static str]) -> Result<Families, NameInUse> {
        with(names.iter().map(|name| Arc::new(IdleOperator(name)) as Arc<dyn Operator>).collect()).map(|(_, all)| all)
    }

    #[test]
    fn own_operators_are_known_beside_the_built_in_ones() {
        let families = named(&["mine", "another"]).unwrap();
        assert!(families.operators().contains(&"mine") && families.operators().contains(&"greeter"));
        assert_eq!(families.operator("another").unwrap().name(), "another");
    }

    #[test]
    fn a_name_belongs_to_one_operator() {
        for names in [&["greeter"][..], &["mine", "mine"], &["rogue-loops"], &["engine@main"]] {
            assert_eq!(named(names), Err(NameInUse(names[names.len() - 1])));
        }
    }

    #[test]
    fn own_operators_replace_the_sample_and_are_added_to_examples() {
        let sample = "operators:\n  greeter: {}\n";
        let example = "operators:\n  greeter: {}\n  plugs: {}\n";
        assert_eq!(add_entries(sample, sample, &["mine"]), "operators:\n  \"mine\": {}\n");
        assert_eq!(add_entries(sample, sample, &[]), sample);
        assert_eq!(add_entries(example, sample, &["mine"]), "operators:\n  \"mine\": {}\n  greeter: {}\n  plugs: {}\n");
    }
}
