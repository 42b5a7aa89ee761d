//! Recorded contract of a program, stored next to its input, so that decisions can be replayed without the program.

use std::path::Path;

use serde::{Deserialize, Serialize};
use switchboard_gather::contract::{InputResources, OutputResources, ResourceType};
use switchboard_kernel::resource::Resource;

use crate::contract::Contract;
use crate::declaration::ContractKinds;
use crate::hosted_operator::HostingError;

const FILE: &str = "contract.json";

#[derive(Serialize, Deserialize)]
struct RecordedContract {
    inputs: InputResources,
    outputs: OutputResources,
    kinds: Vec<(ResourceType, Resource)>,
    live: bool,
}

pub(crate) fn save(work: &Path, contract: &Contract, kinds: &ContractKinds, live: bool) -> Result<(), HostingError> {
    let kept = RecordedContract {
        inputs: contract.inputs.clone(),
        outputs: contract.outputs.clone(),
        kinds: kinds.types().map(|(of, resource)| (of.clone(), resource.clone())).collect(),
        live,
    };
    let path = work.join(FILE);
    let text = serde_json::to_vec(&kept).expect("a contract has string keys");
    std::fs::write(&path, text).map_err(|error| HostingError::Folder(path, error))
}

pub(crate) fn load(work: &Path) -> Option<(Contract, ContractKinds, bool)> {
    let kept: RecordedContract = serde_json::from_slice(&std::fs::read(work.join(FILE)).ok()?).ok()?;
    let contract = Contract { inputs: kept.inputs, outputs: kept.outputs };
    let kinds = ContractKinds::with_resources(&contract, kept.kinds);
    Some((contract, kinds, kept.live))
}
