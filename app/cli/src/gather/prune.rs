//! `switchboard gather prune`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use switchboard_gather::contract::{ResourceList, ResourceType, Rules};
use switchboard_gather::discovery::Discovery;
use switchboard_gather::input::{Form, InputFolder, Written};
use switchboard_gather::must_gather::MustGather;
use switchboard_gather::original::Original;
use switchboard_gather::prune::{self, Pruned};

use super::declared::Inputs;
use super::{Compat, fresh, present, told, warn};
use crate::failure::Failure;
use crate::talk::say;

/// Cuts a dump down to the inputs an operator declares.
#[derive(Args)]
pub struct Prune {
    #[command(flatten)]
    inputs: Inputs,
    /// The dump
    #[arg(long, value_name = "DUMP")]
    from: PathBuf,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    compat: Compat,
}

/// Where inputs are written, and how.
#[derive(Args)]
pub struct Target {
    /// Where to write the inputs; made when it is not there
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Take the values out of Secrets
    #[arg(long)]
    redact: bool,
}

impl Prune {
    /// Writes the inputs.
    pub fn run(self) -> Result<(), Failure> {
        let rules = self.compat.rules();
        present(&self.from, "the directory `oc adm must-gather` wrote, or a .tar or .tar.gz of it")?;
        let inputs = self.inputs.read(rules)?;
        fresh(&self.target.to)?;
        let list = &inputs.apply_configuration_resources;
        if rules == Rules::Original {
            let pruned = prune::prune_as_original(list, &Original::new(&self.from))?;
            return self.target.write(pruned, list, Discovery::carried(), rules);
        }
        let from = MustGather::open(&self.from)?;
        warn(from.problems().iter().map(told));
        let pruned = prune::prune(list, &from, rules)?;
        self.target.write(pruned, list, from.discovery(), rules)
    }
}

impl Target {
    /// Where.
    pub fn path(&self) -> &Path {
        &self.to
    }

    /// Writes what is left, and says how much that is.
    pub fn write(
        &self,
        mut pruned: Pruned,
        list: &ResourceList,
        discovery: &Discovery,
        rules: Rules,
    ) -> Result<(), Failure> {
        warn(std::mem::take(&mut pruned.problems));
        if self.redact {
            pruned.objects.iter_mut().for_each(|(_, object)| prune::redact(object));
        }
        let declared = declared(list);
        if rules == Rules::Native {
            let unknown = declared.iter().filter(|of| discovery.served(of).is_none());
            let told =
                |of: &ResourceType| format!("{of} of {} is declared, and nothing here knows it", of.api_version());
            warn(unknown.map(told));
        }
        let slim = discovery.slim(&declared.into_iter().chain(usual(discovery)).collect());
        let documents = (rules == Rules::Native).then_some(&slim);
        let written = InputFolder::new(&self.to, Form::Yaml, rules).write(&pruned.input(), documents)?;
        let Written { written, unchanged, .. } = written;
        say(format_args!("wrote {} objects into {} files", pruned.objects.len(), written + unchanged));
        Ok(())
    }
}

/// Every type that is declared.
fn declared(list: &ResourceList) -> BTreeSet<ResourceType> {
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

/// What the documents carried for dumps know: operators list more than they declare.
fn usual(discovery: &Discovery) -> impl Iterator<Item = ResourceType> {
    let known = discovery.types().map(|(of, _)| of);
    known.filter(|of| Discovery::carried().served(of).is_some()).cloned()
}
