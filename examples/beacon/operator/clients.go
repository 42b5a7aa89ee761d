package operator

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"github.com/openshift/library-go/pkg/manifestclient"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/genericoperatorclient"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/openshift/multi-operator-manager/pkg/library/libraryapplyconfiguration"
)

// Step 1 of the refactoring: all clients are made in one function, which returns them in one struct.

// clients is everything through which the operator reaches out of its process.
type clients struct {
	instance Instance
	clock    clock.Clock
	kube     kubernetes.Interface
	operator v1helpers.OperatorClient
	// operatorInformers come with the operator client: it reads the Beacon from them.
	operatorInformers dynamicinformer.DynamicSharedInformerFactory
	events            events.Recorder
	// outside is what only the live controller may use; nil where there is no network.
	outside *outside
}

// outside is the world beyond the objects the operator is given.
type outside struct {
	// userWorkload is the cluster where users run their workloads, live.
	userWorkload kubernetes.Interface
	// http reaches upstreams, through HTTPS_PROXY and its like when they are set.
	http *http.Client
}

func newClients(instance Instance, config *rest.Config, now clock.Clock) (*clients, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	operatorClient, operatorInformers, err := genericoperatorclient.NewClusterScopedOperatorClientWithConfigName(
		now, config, beaconResource, beaconKind, instance.Name, extractSpec, extractStatus)
	if err != nil {
		return nil, err
	}
	return &clients{
		instance:          instance,
		clock:             now,
		kube:              kube,
		operator:          operatorClient,
		operatorInformers: operatorInformers,
	}, nil
}

// residentClients are the clients of the operator that stays: watches, writes and the outside, all real.
func residentClients(instance Instance, context *controllercmd.ControllerContext) (*clients, error) {
	made, err := newClients(instance, context.KubeConfig, context.Clock)
	if err != nil {
		return nil, err
	}
	made.events = context.EventRecorder
	made.outside = &outside{userWorkload: made.kube, http: &http.Client{}}
	return made, nil
}

// Step 5 of the refactoring: the same clients over a directory. Reads come from it, writes are only noted.

func directoryClients(instance Instance, input libraryapplyconfiguration.ApplyConfigurationInput) (*clients, error) {
	config := manifestclient.RecommendedRESTConfig()
	config.Transport = input.MutationTrackingClient.GetHTTPClient().Transport
	made, err := newClients(instance, config, input.Clock)
	if err != nil {
		return nil, err
	}
	// Not the correlating recorder: it sends from a goroutine of its own, and the process may end first.
	made.events = events.NewRecorder(
		made.kube.CoreV1().Events(instance.operatorNamespace()), instance.component(), instance.reference(), input.Clock)
	return made, nil
}

// liveClients read the same directory and note writes in the same way; beside that they reach the user workload cluster.
func liveClients(instance Instance, input libraryapplyconfiguration.ApplyConfigurationInput, kubeconfig string) (*clients, error) {
	made, err := directoryClients(instance, input)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("unable to read --kubeconfig: %w", err)
	}
	userWorkload, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	made.outside = &outside{userWorkload: userWorkload, http: &http.Client{}}
	return made, nil
}

// reference is whom events are about.
func (i Instance) reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: i.operatorNamespace(), Name: i.component(),
	}
}
