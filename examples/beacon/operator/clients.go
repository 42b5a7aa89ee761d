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

// Step 1 of the refactoring: one function creates all clients and returns them in one struct.

// clients contains all external dependencies of the operator.
type clients struct {
	instance Instance
	clock    clock.Clock
	kube     kubernetes.Interface
	operator v1helpers.OperatorClient
	// operatorInformers belong to the operator client, which reads the Beacon from them.
	operatorInformers dynamicinformer.DynamicSharedInformerFactory
	events            events.Recorder
	// outside is for the live controller only; nil without a network.
	outside *outside
}

// outside contains dependencies besides the operator's input objects.
type outside struct {
	// userWorkload is a client of the user workload cluster.
	userWorkload kubernetes.Interface
	// http is for upstreams, and respects HTTPS_PROXY and similar variables.
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

// residentClients returns the clients of the resident operator, with real watches and writes.
func residentClients(instance Instance, context *controllercmd.ControllerContext) (*clients, error) {
	made, err := newClients(instance, context.KubeConfig, context.Clock)
	if err != nil {
		return nil, err
	}
	made.events = context.EventRecorder
	made.outside = &outside{userWorkload: made.kube, http: &http.Client{}}
	return made, nil
}

// Step 5 of the refactoring: the same clients over a directory. Reads come from the directory, and writes are recorded.

func directoryClients(instance Instance, input libraryapplyconfiguration.ApplyConfigurationInput) (*clients, error) {
	config := manifestclient.RecommendedRESTConfig()
	config.Transport = input.MutationTrackingClient.GetHTTPClient().Transport
	made, err := newClients(instance, config, input.Clock)
	if err != nil {
		return nil, err
	}
	// Not the correlating recorder, whose goroutine may not send before the process exits.
	made.events = events.NewRecorder(
		made.kube.CoreV1().Events(instance.operatorNamespace()), instance.component(), instance.reference(), input.Clock)
	return made, nil
}

// liveClients also read the directory and record writes, and have access to the user workload cluster.
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

// reference is the object of Events.
func (i Instance) reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: i.operatorNamespace(), Name: i.component(),
	}
}
