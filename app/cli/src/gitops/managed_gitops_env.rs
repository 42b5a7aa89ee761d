//! Variables of managed-gitops that no flag replaces. docs/reference/managed-gitops.md lists all of them.

/// Variable that enables an AppProject per tenant.
const ISOLATION: &str = "ENABLE_APPPROJECT_ISOLATION";

/// Values for false and true, in any case; managed-gitops treats all but `true` as false.
const NO: [&str; 6] = ["false", "f", "0", "no", "n", "off"];
const YES: [&str; 6] = ["true", "t", "1", "yes", "y", "on"];

/// Variables of managed-gitops without effect here, with the reason.
const UNUSED_VARIABLES: [(&str, &str); 5] = [
    ("SELF_HEAL_INTERVAL", "nothing runs at intervals; changes and deletions are watched, and read when a role starts"),
    ("ENABLE_PROFILING", "there is no profiler; `switchboard top` and /metrics show runs and their durations"),
    (
        "DISABLE_APPSTUDIO_WEBHOOK",
        "there is no webhook; validation rules of the CRDs refuse the same input as the webhook of managed-gitops",
    ),
    ("ENABLE_UNRELIABLE_DB", "there is no fault injection"),
    ("ENABLE_UNRELIABLE_CLIENT", "there is no fault injection"),
];

/// Returns a variable of this process.
pub fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn is_one_of(words: &[&str], lookup: &str) -> bool {
    words.iter().any(|word| lookup.trim().eq_ignore_ascii_case(word))
}

/// Returns whether each tenant has an AppProject of its own: yes, unless the variable of managed-gitops is false. A
/// mistyped value does not remove the isolation.
pub fn isolated(variable: impl Fn(&str) -> Option<String>) -> bool {
    !variable(ISOLATION).is_some_and(|lookup| is_one_of(&NO, &lookup))
}

/// Returns notes about variables that are set but have no effect. A variable that disables an absent feature needs no
/// note.
pub fn ignored_variables(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let set = |name| variable(name).filter(|lookup| !lookup.trim().is_empty());
    let unused =
        UNUSED_VARIABLES.into_iter().filter(|(name, _)| set(name).is_some_and(|lookup| !is_one_of(&NO, &lookup)));
    let mut notes: Vec<String> = unused.map(|(name, why)| format!("{name} has no effect: {why}")).collect();
    if set(ISOLATION).is_some_and(|lookup| !is_one_of(&NO, &lookup) && !is_one_of(&YES, &lookup)) {
        notes.push(format!("{ISOLATION} is neither true nor false: every tenant has its own AppProject"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_are_isolated_unless_the_variable_is_false_in_any_case() {
        let lookup = |value: &'static str| move |name: &str| (name == ISOLATION).then(|| value.to_string());
        for no in ["false", "False", "FALSE", "0", "no", "Off", "f", " false "] {
            assert!(!isolated(lookup(no)), "{no}");
        }
        for yes in ["true", "TRUE", "1", "yes", "", "flase"] {
            assert!(isolated(lookup(yes)), "{yes}");
        }
        assert!(isolated(|_| None));
        assert_eq!(ignored_variables(lookup("False")), Vec::<String>::new());
        assert!(ignored_variables(lookup("flase"))[0].starts_with("ENABLE_APPPROJECT_ISOLATION is neither"));
    }

    #[test]
    fn variable_without_effect_is_reported() {
        let all = ignored_variables(|name| (name != ISOLATION).then(|| "5".to_string()));
        let names: Vec<&str> =
            all.iter().filter_map(|notes| notes.split_once(" has no effect: ")).map(|(n, _)| n).collect();
        assert_eq!(names, UNUSED_VARIABLES.map(|(name, _)| name));
        // Disabling an absent feature needs no note.
        assert_eq!(ignored_variables(|name| (name != ISOLATION).then(|| "0".to_string())), Vec::<String>::new());
        assert_eq!(ignored_variables(|_| None), Vec::<String>::new());
    }
}
