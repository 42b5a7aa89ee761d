//! Registration of the integrations manager.

use std::sync::Arc;

use switchboard_kernel::config::{ParentSection, SectionReader};
use switchboard_kernel::family::{OperatorFamily, PartOperator};
use switchboard_kernel::operator::Operator;

use crate::config;
use crate::operator::{IntegrationsOperator, NAME};

/// Operators of the manager, one for each cluster. Their host follows the source and adds them.
pub struct IntegrationsFamily;

impl OperatorFamily for IntegrationsFamily {
    fn parts(&self) -> &[PartOperator] {
        &[PartOperator { name: "integrations@", parent: ParentSection::Section("integrations") }]
    }

    fn section(&self) -> Option<SectionReader> {
        Some(SectionReader { name: "integrations", read: config::read })
    }

    fn operator(&self, name: &str) -> Option<Arc<dyn Operator>> {
        // Repeating a recorded decision does not need the data.
        let cluster = name.strip_prefix(NAME)?.strip_prefix('@')?;
        Some(Arc::new(IntegrationsOperator::new(cluster, Arc::default())))
    }
}
