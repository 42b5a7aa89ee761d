//! Registration of the operators of plugs.

use std::sync::Arc;

use serde_json::Value;
use switchboard_kernel::family::OperatorFamily;
use switchboard_kernel::operator::Operator;

use crate::plug::PlugOptions;

/// Operator that brings the other two along: plugs, sockets and deferred resources are useless alone.
const PLUGS: &str = "plugs";
const NAMES: [&str; 3] = ["deferredresources", PLUGS, "sockets"];

/// Operators of Plug, Socket and DeferredResource.
pub struct PlugsFamily;

impl OperatorFamily for PlugsFamily {
    fn operators(&self) -> &[&'static str] {
        &NAMES
    }

    fn head_of(&self, name: &str) -> Option<&'static str> {
        (NAMES.contains(&name) && name != PLUGS).then_some(PLUGS)
    }

    fn operator(&self, name: &str) -> Option<Arc<dyn Operator>> {
        crate::operators(PlugOptions::default()).into_iter().find(|one| one.name() == name)
    }

    fn hosted(&self, name: &str, settings: &Value) -> Vec<Arc<dyn Operator>> {
        match name {
            PLUGS => crate::operators(PlugOptions::of(settings)),
            _ => self.operator(name).into_iter().collect(),
        }
    }

    fn definitions(&self, name: &str) -> Vec<Value> {
        if name == PLUGS { crate::crds::crds() } else { Vec::new() }
    }
}
