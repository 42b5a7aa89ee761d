//! `switchboard gather prune`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use switchboard_gather::contract::{ContractRules, ResourceList, ResourceType};
use switchboard_gather::discovery::Discovery;
use switchboard_gather::input::{InputFolder, InputFormat, InputWriteResult};
use switchboard_gather::manifest_client::ManifestClient;
use switchboard_gather::must_gather::MustGather;
use switchboard_gather::prune::{self, PrunedInputs};
use switchboard_runtime::stderr::print_stderr;

use super::declared_inputs::InputsArgs;
use super::{CompatArgs, check_empty, check_exists, problem_line, warn};
use crate::failure::CommandError;

/// Reduce a dump to the inputs that an operator declares
#[derive(Args)]
pub struct Prune {
    #[command(flatten)]
    inputs: InputsArgs,
    /// Dump: the directory that `oc adm must-gather` wrote, or a .tar or .tar.gz of it
    #[arg(long, value_name = "DUMP")]
    from: PathBuf,
    #[command(flatten)]
    target: OutputArgs,
    #[command(flatten)]
    compat: CompatArgs,
}

/// Flags for writing inputs.
#[derive(Args)]
pub struct OutputArgs {
    /// Directory to write the inputs to; created if it does not exist
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Remove the values of Secrets
    #[arg(long)]
    redact: bool,
}

impl Prune {
    /// Writes the inputs.
    pub fn run(self) -> Result<(), CommandError> {
        let rules = self.compat.rules();
        check_exists(&self.from, "the directory `oc adm must-gather` wrote, or a .tar or .tar.gz of it")?;
        let inputs = self.inputs.read(rules)?;
        check_empty(&self.target.to)?;
        let list = &inputs.apply_configuration_resources;
        if rules == ContractRules::MultiOperatorManager {
            let pruned = prune::prune_compat(list, &ManifestClient::new(&self.from))?;
            return self.target.write(pruned, list, Discovery::bundled(), rules);
        }
        let from = MustGather::open(&self.from)?;
        warn(from.problems().iter().map(problem_line));
        let pruned = prune::prune(list, &from, rules)?;
        self.target.write(pruned, list, from.discovery(), rules)
    }
}

impl OutputArgs {
    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.to
    }

    /// Writes the inputs and prints their number.
    pub fn write(
        &self,
        mut pruned: PrunedInputs,
        list: &ResourceList,
        discovery: &Discovery,
        rules: ContractRules,
    ) -> Result<(), CommandError> {
        warn(std::mem::take(&mut pruned.problems));
        if self.redact {
            pruned.objects.iter_mut().for_each(|(_, object)| prune::redact(object));
        }
        let declared = declared_types(list);
        if rules == ContractRules::Native {
            let unknown = declared.iter().filter(|of| discovery.served(of).is_none());
            let warning_of =
                |of: &ResourceType| format!("{of} of {} is declared, but not served here", of.api_version());
            warn(unknown.map(warning_of));
        }
        let slim = discovery.subset(&declared.into_iter().chain(common_types(discovery)).collect());
        let documents = (rules == ContractRules::Native).then_some(&slim);
        let written = InputFolder::new(&self.to, InputFormat::Yaml, rules).write(&pruned.input(), documents)?;
        let InputWriteResult { written, unchanged, .. } = written;
        print_stderr(format_args!("wrote {} objects to {} files", pruned.objects.len(), written + unchanged));
        Ok(())
    }
}

/// Returns every declared type.
fn declared_types(list: &ResourceList) -> BTreeSet<ResourceType> {
    let referred = list.resource_references.iter().flat_map(|one| {
        let implicit = one.implicit_namespaced_reference.as_ref().map(|r| &r.of);
        let explicit = one.explicit_namespaced_reference.as_ref().map(|r| &r.of);
        let wide = one.cluster_scoped_reference.as_ref().map(|r| &r.of);
        [Some(&one.referring_resource.of), implicit, explicit, wide].into_iter().flatten()
    });
    let exact = list.exact_resources.iter().map(|one| &one.of);
    let generated = list.generated_name_resources.iter().map(|one| &one.of);
    let labelled = list.label_selected_resources.iter().map(|one| &one.of);
    exact.chain(generated).chain(labelled).chain(referred).cloned().collect()
}

/// Returns the types known for dumps: operators list more types than they declare.
fn common_types(discovery: &Discovery) -> impl Iterator<Item = ResourceType> {
    let known = discovery.types().map(|(of, _)| of);
    known.filter(|of| Discovery::bundled().served(of).is_some()).cloned()
}
