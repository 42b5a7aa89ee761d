//! Ringing for the agent: an Operation resource for each row that is open.

use std::collections::BTreeMap;

use switchboard_gitops::flow::{Write, operation::DEADLINE_MS};
use switchboard_gitops::kinds;
use switchboard_kernel::operator::Stop;
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Act, Mutation, Plan};
use switchboard_kernel::view::View;
use switchboard_ledger::ids::OperationId;
use switchboard_ledger::rows::Operation;
use switchboard_ledger::{Change, Moment, Row};

use crate::error::ServiceError;
use crate::resources::OPERATIONS;
use crate::rows::{self, is_open};
use crate::writes::mutation;

/// The Operations that are open once these changes are made.
pub fn open_after(before: &[Operation], changes: &[Change]) -> Vec<Operation> {
    let mut rows: BTreeMap<OperationId, Operation> = before.iter().map(|row| (row.id.clone(), row.clone())).collect();
    for change in changes.iter().filter(|change| change.table() == Operation::TABLE) {
        match change {
            Change::Insert { values, .. } | Change::Put { values, .. } | Change::Update { values, .. } => {
                if let Ok(row) = Operation::from_values(values.clone()) {
                    rows.insert(row.id.clone(), row);
                }
            }
            Change::Delete { key, .. } => drop(rows.remove(&OperationId::from(key.to_string()))),
            Change::Ensure { .. } | Change::Hold { .. } | Change::Room { .. } => {}
        }
    }
    rows.into_values().filter(is_open).collect()
}

/// The objects that ring for these, each in the namespace of its Argo CD.
///
/// # Errors
/// As reading.
pub async fn rings(
    view: &mut switchboard_ledger::View,
    open: &[Operation],
    is_cleanup: bool,
) -> Result<Vec<Mutation>, ServiceError> {
    let mut made = Vec::new();
    for row in open {
        let Some(instance) = rows::instance(view, &row.instance).await? else { continue };
        let object = kinds::operation::object(&row.id, &instance.namespace, is_cleanup);
        made.extend(mutation(Write::Create(object), None, Place::Management));
    }
    Ok(made)
}

/// The plan without the rings that are there already. What rings is read, so that the unit looks again when it falls silent.
///
/// # Errors
/// As reading.
pub fn unless_rung(mut plan: Plan, view: &View) -> Result<Plan, Stop> {
    let mut kept = Vec::new();
    for write in plan.mutations {
        let rings = write.resource == OPERATIONS && matches!(write.act, Act::Create(_));
        if !rings || view.at(write.place).get(&OPERATIONS, &write.namespace, &write.name)?.is_none() {
            kept.push(write);
        }
    }
    plan.mutations = kept;
    Ok(plan)
}

/// In how many milliseconds the first of these has taken too long.
pub fn until_overdue_ms(open: &[Operation], now: Moment) -> Option<u64> {
    let left = |row: &Operation| u64::try_from(DEADLINE_MS - now.since_ms(row.created_on) + 1).ok();
    open.iter().filter_map(left).min()
}
