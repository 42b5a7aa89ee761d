package operator

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/openshift/multi-operator-manager/pkg/library/libraryapplyconfiguration"
)

// Step 2 of the refactoring: all informers are created from the clients only.

type operatorInformers struct {
	kube    v1helpers.KubeInformersForNamespaces
	beacons cache.SharedIndexInformer
	// simplified contains all informers in the form that both ways of running start.
	simplified []libraryapplyconfiguration.SimplifiedInformerFactory
}

func newInformers(from *clients) *operatorInformers {
	kube := v1helpers.NewKubeInformersForNamespaces(from.kube,
		"", // Namespaces
		from.instance.operandNamespace(),
		from.instance.operatorNamespace(),
		publicNamespace,
	)
	return &operatorInformers{
		kube:    kube,
		beacons: from.operatorInformers.ForResource(beaconResource).Informer(),
		simplified: []libraryapplyconfiguration.SimplifiedInformerFactory{
			libraryapplyconfiguration.DynamicInformerFactoryAdapter(from.operatorInformers),
			libraryapplyconfiguration.GeneratedNamespacedInformerFactoryAdapter(kube),
		},
	}
}

func (i *operatorInformers) in(namespace string) informers.SharedInformerFactory {
	return i.kube.InformersFor(namespace)
}
