//! Notification of the agent: an Operation resource for each open row.

use std::collections::BTreeMap;

use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, Plan, WriteOp};
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;
use switchboard_sql::{DbTimestamp, Row, RowChange};

use crate::error::ServiceError;
use crate::flow::KubernetesWrite;
use crate::ids::OperationId;
use crate::operation::DEADLINE_MS;
use crate::related_rows::{self, is_open};
use crate::resources::OPERATIONS;
use crate::rows::Operation;
use crate::writes::mutation;

/// Returns the Operations that are open after these changes.
pub fn open_after(before: &[Operation], changes: &[RowChange]) -> Vec<Operation> {
    let mut rows: BTreeMap<OperationId, Operation> = before.iter().map(|row| (row.id.clone(), row.clone())).collect();
    for change in changes.iter().filter(|change| change.table() == Operation::TABLE) {
        match change {
            RowChange::Insert { values, .. } | RowChange::Put { values, .. } | RowChange::Update { values, .. } => {
                if let Ok(row) = Operation::from_values(values.clone()) {
                    rows.insert(row.id.clone(), row);
                }
            }
            RowChange::Delete { key, .. } => drop(rows.remove(&OperationId::from(key.to_string()))),
            RowChange::Ensure { .. } | RowChange::RequireUnchanged { .. } | RowChange::RequireLimits { .. } => {}
        }
    }
    rows.into_values().filter(is_open).collect()
}

/// Returns the writes that create the Operation resources, each in the namespace of its instance.
///
/// # Errors
/// When the database fails.
pub async fn operation_objects(
    view: &mut switchboard_sql::LedgerView,
    open: &[Operation],
    is_cleanup: bool,
) -> Result<Vec<Mutation>, ServiceError> {
    let mut made = Vec::new();
    for row in open {
        let Some(instance) = related_rows::instance(view, &row.instance).await? else { continue };
        let object = crate::operation::kind::object(&row.id, &instance.namespace, is_cleanup);
        made.extend(mutation(KubernetesWrite::Create(object), None, ClusterType::Management));
    }
    Ok(made)
}

/// Removes the creation of existing Operation resources from a plan. Reading them registers a dependency, so the unit
/// is triggered when one is deleted.
///
/// # Errors
/// When the view lacks the kind.
pub fn unless_exists(mut plan: Plan, view: &View) -> Result<Plan, DecideError> {
    let mut kept = Vec::new();
    for write in plan.mutations {
        let creates_operation = write.resource == OPERATIONS && matches!(write.operation, WriteOp::Create(_));
        if !creates_operation || view.on(write.cluster_type).get(&OPERATIONS, &write.namespace, &write.name)?.is_none()
        {
            kept.push(write);
        }
    }
    plan.mutations = kept;
    Ok(plan)
}

/// Returns the milliseconds until the first of these is overdue.
pub fn until_overdue_ms(open: &[Operation], now: DbTimestamp) -> Option<u64> {
    let left = |row: &Operation| u64::try_from(DEADLINE_MS - now.since_ms(row.created_on) + 1).ok();
    open.iter().filter_map(left).min()
}
