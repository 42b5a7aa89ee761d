//! Variables of the original that no flag stands for: what is made of them. docs/GITOPS.md has all of them.

/// What keeps tenants apart, or not.
const ISOLATION: &str = "ENABLE_APPPROJECT_ISOLATION";

/// Words for no and for yes, in any case of letters; the original takes all but `true` for a no.
const NO: [&str; 6] = ["false", "f", "0", "no", "n", "off"];
const YES: [&str; 6] = ["true", "t", "1", "yes", "y", "on"];

/// What is set for the original, does nothing here, and why.
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

/// A variable of this process.
pub fn ambient(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn is_one_of(words: &[&str], said: &str) -> bool {
    words.iter().any(|word| said.trim().eq_ignore_ascii_case(word))
}

/// Whether each tenant has a project of its own, where nothing else says: unless the original's variable says no. A slip of the pen
/// does not bring tenants together.
pub fn isolated(variable: impl Fn(&str) -> Option<String>) -> bool {
    !variable(ISOLATION).is_some_and(|said| is_one_of(&NO, &said))
}

/// What is to be said of variables that are set and do nothing. What is switched off by them is not there, so that nothing is said.
pub fn unheard(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
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
        assert_eq!(unheard(said("False")), Vec::<String>::new());
        assert!(unheard(said("flase"))[0].starts_with("ENABLE_APPPROJECT_ISOLATION is neither"));
    }

    #[test]
    fn a_variable_that_does_nothing_is_told_when_it_is_set() {
        let all = unheard(|name| (name != ISOLATION).then(|| "5".to_string()));
        let names: Vec<&str> =
            all.iter().filter_map(|told| told.split_once(" does nothing here: ")).map(|(n, _)| n).collect();
        assert_eq!(names, UNHEARD.map(|(name, _)| name));
        // To switch off what is not there is no wish that is left out.
        assert_eq!(unheard(|name| (name != ISOLATION).then(|| "0".to_string())), Vec::<String>::new());
        assert_eq!(unheard(|_| None), Vec::<String>::new());
    }
}
