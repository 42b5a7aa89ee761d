//! Names that an operator needs, for one import.

pub use crate::fake_view::FakeView;
pub use crate::object::Object;
pub use crate::operator::{AccessRule, DecideError, Declaration, Operator, ServiceAccount, Unit, Units};
pub use crate::plan::{Mutation, PatchType, Plan, UnitStatus};
pub use crate::resource::{Resource, Selection};
pub use crate::topology::ClusterType;
pub use crate::typed::{TypedKind, TypedView};
pub use crate::view::{ExternalState, Question, View};
