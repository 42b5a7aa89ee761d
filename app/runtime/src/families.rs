//! Operator families of the `switchboard` binary.

use std::sync::Arc;

use switchboard_engine::family::EngineFamily;
use switchboard_gitops::family::GitopsFamily;
use switchboard_greeter::Greeter;
use switchboard_integrations::family::IntegrationsFamily;
use switchboard_kernel::family::{Families, SingleOperator};
use switchboard_plugs::family::PlugsFamily;
use switchboard_rogue::family::RogueFamily;

/// Families that `switchboard.yaml` may name. A new operator adds its line here.
pub const FAMILIES: Families = Families(&[
    &SingleOperator { name: &["greeter"], create: || Arc::new(Greeter) },
    &PlugsFamily,
    &EngineFamily,
    &IntegrationsFamily,
    &GitopsFamily,
    &RogueFamily,
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_an_operator_of_that_name() {
        for name in FAMILIES.operators().into_iter().chain(FAMILIES.samples()) {
            assert_eq!(FAMILIES.operator(name).map(|operator| operator.name().to_string()).as_deref(), Some(name));
        }
    }
}
