//! Sections of operator families: each family reads its own section, the kernel reads the limits in it.

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::report::ErrorCollector;
use super::section::Section;
use super::{Config, LimitsConfig};

/// Settings of a section, as its family reads them.
pub trait SectionSettings: Any + fmt::Debug + Send + Sync {
    /// Whether the settings equal those of another section.
    fn equals(&self, other: &dyn SectionSettings) -> bool;
}

impl<T: Any + fmt::Debug + PartialEq + Send + Sync> SectionSettings for T {
    fn equals(&self, other: &dyn SectionSettings) -> bool {
        (other as &dyn Any).downcast_ref::<T>() == Some(self)
    }
}

/// Section of a family.
#[derive(Clone, Debug)]
pub struct SectionConfig {
    /// Limits of each operator of the section.
    pub limits: LimitsConfig,
    pub(super) settings: Arc<dyn SectionSettings>,
}

impl SectionConfig {
    /// Creates a section without limits.
    pub fn new(settings: impl SectionSettings) -> Self {
        Self { limits: LimitsConfig::default(), settings: Arc::new(settings) }
    }

    /// Whether the settings differ; changed limits are applied without a restart.
    pub(super) fn needs_restart(&self, new: &Self) -> bool {
        !self.settings.equals(&*new.settings)
    }
}

impl PartialEq for SectionConfig {
    fn eq(&self, other: &Self) -> bool {
        self.limits == other.limits && !self.needs_restart(other)
    }
}

/// Reader of a family's section.
#[derive(Clone, Copy)]
pub struct SectionReader {
    /// Name of the section.
    pub name: &'static str,
    /// Function that reads the fields, except `limits`, and reports errors. Paths are relative to the folder.
    pub read: fn(&mut Section<'_>, Option<&Path>, &mut ErrorCollector) -> Option<SectionConfig>,
}

impl Config {
    /// Returns the settings of a section by their type; `None` if the file does not have the section.
    pub fn section<T: Any>(&self) -> Option<&T> {
        self.sections.values().find_map(|section| (&*section.settings as &dyn Any).downcast_ref())
    }
}
