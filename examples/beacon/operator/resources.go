package operator

import (
	"context"

	"github.com/openshift/multi-operator-manager/pkg/library/libraryinputresources"
	"github.com/openshift/multi-operator-manager/pkg/library/libraryoutputresources"
)

// inputResources contains all inputs of the controllers. Other objects are missing in their input directory.
func (i Instance) inputResources(context.Context) (*libraryinputresources.InputResources, error) {
	beacon := libraryinputresources.ExactResource(
		beaconResource.Group, beaconResource.Version, beaconResource.Resource, "", i.Name)
	return &libraryinputresources.InputResources{
		ApplyConfigurationResources: libraryinputresources.ResourceList{
			ExactResources: []libraryinputresources.ExactResourceID{
				libraryinputresources.ExactNamespace(i.operandNamespace()),
				libraryinputresources.ExactConfigMap(i.operandNamespace(), configName),
				libraryinputresources.ExactDeployment(i.operandNamespace(), deploymentName),
				libraryinputresources.ExactConfigMap(publicNamespace, i.publicName()),
			},
			ResourceReferences: []libraryinputresources.ResourceReference{{
				ReferringResource: beacon,
				Type:              libraryinputresources.ImplicitNamespacedReferenceType,
				ImplicitNamespacedReference: &libraryinputresources.ImplicitNamespacedReference{
					InputResourceTypeIdentifier: libraryinputresources.InputResourceTypeIdentifier{
						Version: "v1", Resource: "configmaps",
					},
					Namespace:    i.operatorNamespace(),
					NameJSONPath: "$.spec.banners[*].name",
				},
			}},
		},
		OperandResources: libraryinputresources.OperandResourceList{
			ManagementResources: libraryinputresources.ResourceList{
				ExactResources: []libraryinputresources.ExactResourceID{
					libraryinputresources.ExactDeployment(i.operandNamespace(), deploymentName),
				},
			},
		},
	}, nil
}

// outputResources contains all outputs of the controllers for each of the three clusters. The command `input-resources` adds
// configuration outputs to the inputs.
func (i Instance) outputResources(context.Context) (*libraryoutputresources.OutputResources, error) {
	return &libraryoutputresources.OutputResources{
		ConfigurationResources: libraryoutputresources.ResourceList{
			ExactResources: []libraryoutputresources.ExactResourceID{
				libraryoutputresources.ExactResource(
					beaconResource.Group, beaconResource.Version, beaconResource.Resource, "", i.Name),
				libraryoutputresources.ExactConfigMap(i.operatorNamespace(), surroundingsName),
			},
		},
		ManagementResources: libraryoutputresources.ResourceList{
			ExactResources: []libraryoutputresources.ExactResourceID{
				libraryoutputresources.ExactNamespace(i.operandNamespace()),
				libraryoutputresources.ExactConfigMap(i.operandNamespace(), configName),
				libraryoutputresources.ExactDeployment(i.operandNamespace(), deploymentName),
			},
			EventingNamespaces: []string{i.operatorNamespace()},
		},
		UserWorkloadResources: libraryoutputresources.ResourceList{
			ExactResources: []libraryoutputresources.ExactResourceID{
				libraryoutputresources.ExactConfigMap(publicNamespace, i.publicName()),
			},
		},
	}, nil
}
