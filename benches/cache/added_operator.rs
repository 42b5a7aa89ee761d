//! Cost of one more operator in a process that hosts ten over 100,000 cached objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use switchboard_kernel::cache::TableEvent;
use switchboard_kernel::core::{Core, CoreCommand, DecideResult};
use switchboard_kernel::decision::DecisionId;
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::{Selection, TableKey};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::{ClusterType, Topology};
use switchboard_kernel::view::View;

use crate::process::{self, BoxError, resident};
use crate::sample::{CONFIG_MAPS, PER_NAMESPACE, SECRETS, cluster, config_map, name, namespace};

/// Number of added operators, whose mean is reported: a single one uses less memory than the allocator requests at a
/// time.
const ADDED_OPERATORS: usize = 20;

/// Cost of an added operator.
pub struct OperatorCost {
    pub bytes: f64,
    pub watches: u64,
    pub all_watches: u64,
}

impl OperatorCost {
    /// Measures an operator with the given numbers of units and objects.
    pub fn with_units(units: usize, objects: usize) -> Result<Self, BoxError> {
        match process::numbers(&["eleventh", &units.to_string(), &objects.to_string()])?.as_slice() {
            &[bytes, watches, all_watches] => {
                Ok(Self { bytes: bytes as f64 / ADDED_OPERATORS as f64, watches, all_watches })
            }
            other => Err(format!("unexpected figures {other:?}").into()),
        }
    }
}

/// Reads ConfigMaps and Secrets, as one unit or as one unit for each ConfigMap of a namespace.
struct ReadingOperator {
    name: String,
    units: Units,
}

impl ReadingOperator {
    fn numbered(number: usize, units: usize) -> Arc<dyn Operator> {
        let each = || Units::Each {
            cluster_type: ClusterType::default(),
            resource: CONFIG_MAPS,
            selection: Selection::namespace(&namespace(number * PER_NAMESPACE)),
        };
        let units = if units == 1 { Units::Whole } else { each() };
        Arc::new(Self { name: format!("operator-{number}"), units })
    }
}

impl Operator for ReadingOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        let inputs = [&CONFIG_MAPS, &SECRETS].into_iter().map(AccessRule::every).collect();
        Declaration { inputs, outputs: BTreeSet::new(), service_account: None, units: self.units.clone() }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        match unit {
            Unit::Whole => view.get(&CONFIG_MAPS, &namespace(0), &name(0))?,
            Unit::Object { namespace, name } => view.get(&CONFIG_MAPS, namespace, name)?,
        };
        view.list(&SECRETS, &Selection::namespace(unit.namespace()).with_labels("app=shop"))?;
        Ok(Plan::nothing())
    }
}

/// Prints the values that [`OperatorCost::with_units`] reads.
pub fn measure(units: usize, objects: usize) -> Result<(), BoxError> {
    let (topology, mut now) = (Topology::standalone(&cluster()), Timestamp(0));
    let mut core = Core::new(now, 1, topology, GlobalLimits::default(), DecisionId(1));
    for number in 0..10 {
        core.add(now, ReadingOperator::numbered(number, units), Limits::none());
    }
    let all_watches = settle(&mut core, &mut now, objects)?;
    let (before, mut watches) = (resident()?, 0);
    for number in 10..10 + ADDED_OPERATORS {
        core.add(now, ReadingOperator::numbered(number, units), Limits::none());
        watches += settle(&mut core, &mut now, objects)?;
    }
    println!("{} {watches} {all_watches}", resident()?.saturating_sub(before));
    Ok(())
}

/// Performs the requests of the core until it has none, and returns the number of requested watches.
fn settle(core: &mut Core, now: &mut Timestamp, objects: usize) -> Result<u64, BoxError> {
    let mut watches = 0;
    loop {
        let orders = core.poll(*now);
        if orders.is_empty() {
            if core.is_quiet() {
                return Ok(watches);
            }
            // Remaining units wait for the rate limits across all operators.
            *now = core.next().filter(|next| next > now).ok_or_else(|| core.unsettled_reasons().join("; "))?;
        }
        for order in orders {
            match order {
                CoreCommand::Watch(table) => {
                    watches += 1;
                    fill(core, *now, &table, objects)?;
                }
                CoreCommand::Unwatch(table) => return Err(format!("{} is read", table.resource).into()),
                CoreCommand::Rows(..) => return Err("the cores of this benchmark have no store of rows".into()),
                CoreCommand::Run(run) => {
                    let (plan, reads) = run.decide();
                    core.finish_decide(*now, &run.unit, run.id, DecideResult { plan, reads, decide_us: 1 });
                }
            }
        }
    }
}

fn fill(core: &mut Core, now: Timestamp, table: &TableKey, objects: usize) -> Result<(), BoxError> {
    let objects = if *table.resource == CONFIG_MAPS { objects } else { 0 };
    core.observe(now, table, TableEvent::Begin)?;
    for index in 0..objects {
        core.observe(now, table, TableEvent::Put(config_map(index, 1)))?;
    }
    Ok(core.observe(now, table, TableEvent::Synced { revision: 1 })?)
}
