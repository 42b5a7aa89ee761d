//! Conversion of a declaration to the resource lists of the contract.

use switchboard_gather::contract::{
    ExactResource, InputResources, LabelSelected, LabelSelector, OutputList, OutputResources, ResourceType, WILDCARD,
};

use switchboard_kernel::operator::{AccessRule, Declaration};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::topology::ClusterType;

/// Returns the type of a resource.
pub(super) fn type_of(resource: &Resource) -> ResourceType {
    ResourceType::new(&resource.group, &resource.version, &resource.plural)
}

/// Returns the inputs: objects by name, and whole kinds as an empty label selector.
pub fn input_resources(declaration: &Declaration) -> InputResources {
    let mut inputs = InputResources::default();
    let list = &mut inputs.apply_configuration_resources;
    for input in declaration.readable() {
        let namespace = input.namespace.as_deref().unwrap_or_default().to_string();
        let of = type_of(&input.resource);
        match &input.name {
            Some(name) if input.namespace.is_some() || !input.resource.namespaced => {
                list.exact_resources.push(ExactResource { of, namespace, name: name.to_string() });
            }
            // The contract cannot express one name in every namespace, so the whole kind is listed.
            _ => list.label_selected_resources.push(LabelSelected {
                of,
                namespace,
                label_selector: LabelSelector::default(),
            }),
        }
    }
    // As in multi-operator-manager, configuration outputs are read before they are written.
    let back = declaration.outputs.iter().filter(|output| output.cluster_type == ClusterType::Configuration).map(exact);
    list.exact_resources.extend(back.filter(|one| one.name != WILDCARD && one.namespace != WILDCARD));
    list.exact_resources.sort();
    list.exact_resources.dedup();
    let mut seen = Vec::new();
    list.label_selected_resources.retain(|one| {
        let new = !seen.contains(one);
        seen.push(one.clone());
        new
    });
    inputs
}

/// Returns the outputs by cluster. A whole kind has the name [`WILDCARD`].
pub fn output_resources(declaration: &Declaration) -> OutputResources {
    let list = |place: ClusterType| {
        let here = declaration.outputs.iter().filter(|output| output.cluster_type == place);
        OutputList { exact_resources: here.map(exact).collect(), ..OutputList::default() }
    };
    OutputResources {
        configuration_resources: list(ClusterType::Configuration),
        management_resources: list(ClusterType::Management),
        user_workload_resources: list(ClusterType::UserWorkload),
    }
}

fn exact(output: &AccessRule) -> ExactResource {
    let any = |part: &Option<std::sync::Arc<str>>| part.as_deref().unwrap_or(WILDCARD).to_string();
    let namespace = if output.resource.namespaced { any(&output.namespace) } else { String::new() };
    ExactResource { of: type_of(&output.resource), namespace, name: any(&output.name) }
}
