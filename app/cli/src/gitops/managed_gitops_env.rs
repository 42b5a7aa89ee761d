//! Variables of managed-gitops that no flag replaces. docs/GITOPS.md lists all of them.

/// Variable that enables an AppProject per tenant.
const ISOLATION: &str = "ENABLE_APPPROJECT_ISOLATION";

/// Values for false and true, in any case; managed-gitops treats all but `true` as false.
const NO: [&str; 6] = ["false", "f", "0", "no", "n", "off"];
const YES: [&str; 6] = ["true", "t", "1", "yes", "y", "on"];

/// Variables of managed-gitops without effect here, with the reason.
const UNHEARD: [(&str, &str); 5] = [
    (
        "SELF_HEAL_INTERVAL",
        "nothing runs at intervals; what is edited or deleted is seen when it happens, or when a role starts",
    ),
    ("ENABLE_PROFILING", "no profiler is served; `switchboard top` and /metrics say what runs, and how long"),
    ("DISABLE_APPSTUDIO_WEBHOOK", "there is no webhook; rules in the definitions refuse what the original's would"),
    ("ENABLE_UNRELIABLE_DB", "the service cannot be told to fail"),
    ("ENABLE_UNRELIABLE_CLIENT", "the service cannot be told to fail"),
];

/// Returns a variable of this process.
pub fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn is_one_of(words: &[&str], said: &str) -> bool {
    words.iter().any(|word| said.trim().eq_ignore_ascii_case(word))
}

/// Returns whether each tenant has an AppProject of its own: yes, unless the variable of managed-gitops is false. A
/// mistyped value does not remove the isolation.
pub fn isolated(variable: impl Fn(&str) -> Option<String>) -> bool {
    !variable(ISOLATION).is_some_and(|said| is_one_of(&NO, &said))
}

/// Returns notes about variables that are set but have no effect. A variable that disables an absent feature needs no
/// note.
pub fn ignored_variables(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let set = |name| variable(name).filter(|said| !said.trim().is_empty());
    let unheard = UNHEARD.into_iter().filter(|(name, _)| set(name).is_some_and(|said| !is_one_of(&NO, &said)));
    let mut told: Vec<String> = unheard.map(|(name, why)| format!("{name} does nothing here: {why}")).collect();
    if set(ISOLATION).is_some_and(|said| !is_one_of(&NO, &said) && !is_one_of(&YES, &said)) {
        told.push(format!("{ISOLATION} is neither true nor false: every tenant has a project of its own"));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_are_apart_unless_a_variable_says_no_in_any_letters() {
        let said = |value: &'static str| move |name: &str| (name == ISOLATION).then(|| value.to_string());
        for no in ["false", "False", "FALSE", "0", "no", "Off", "f", " false "] {
            assert!(!isolated(said(no)), "{no}");
        }
        for yes in ["true", "TRUE", "1", "yes", "", "flase"] {
            assert!(isolated(said(yes)), "{yes}");
        }
        assert!(isolated(|_| None));
        assert_eq!(ignored_variables(said("False")), Vec::<String>::new());
        assert!(ignored_variables(said("flase"))[0].starts_with("ENABLE_APPPROJECT_ISOLATION is neither"));
    }

    #[test]
    fn a_variable_that_does_nothing_is_told_when_it_is_set() {
        let all = ignored_variables(|name| (name != ISOLATION).then(|| "5".to_string()));
        let names: Vec<&str> =
            all.iter().filter_map(|told| told.split_once(" does nothing here: ")).map(|(n, _)| n).collect();
        assert_eq!(names, UNHEARD.map(|(name, _)| name));
        // Disabling an absent feature needs no note.
        assert_eq!(ignored_variables(|name| (name != ISOLATION).then(|| "0".to_string())), Vec::<String>::new());
        assert_eq!(ignored_variables(|_| None), Vec::<String>::new());
    }
}
