package operator

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"github.com/openshift/multi-operator-manager/pkg/library/libraryapplyconfiguration"
	"github.com/openshift/multi-operator-manager/pkg/library/libraryinputresources"
	"github.com/openshift/multi-operator-manager/pkg/library/libraryoutputresources"
)

// NewStartCommand runs the operator resident, as before the refactoring: all three controllers, until stopped.
func NewStartCommand(instance Instance) *cobra.Command {
	start := func(ctx context.Context, controllerContext *controllercmd.ControllerContext) error {
		made, err := residentClients(instance, controllerContext)
		if err != nil {
			return err
		}
		controllers := append(append([]controllerMaker{}, offlineControllers...), liveControllers...)
		if err := newStarter(made, controllers...).Start(ctx); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	config := controllercmd.NewControllerCommandConfig(
		instance.component(), version.Info{Major: "1", GitVersion: instance.Version}, start, clock.RealClock{}).
		WithComponentOwnerReference(instance.reference())
	// This example needs no metrics, and several instances may run on one machine.
	config.DisableServing = true
	command := config.NewCommandWithContext(context.Background())
	command.Use = "start"
	command.Short = "Runs the operator until it is stopped"
	return command
}

// NewInputResourcesCommand prints the operator's inputs.
func NewInputResourcesCommand(instance Instance, streams genericiooptions.IOStreams) *cobra.Command {
	return libraryinputresources.NewInputResourcesCommand(instance.inputResources, instance.outputResources, streams)
}

// NewOutputResourcesCommand prints the operator's outputs.
func NewOutputResourcesCommand(instance Instance, streams genericiooptions.IOStreams) *cobra.Command {
	return libraryoutputresources.NewOutputResourcesCommand(instance.outputResources, streams)
}

// Step 6 of the refactoring: the command runs the starter.

// NewApplyConfigurationCommand runs the offline controllers once over a directory, without a network.
func NewApplyConfigurationCommand(instance Instance, streams genericiooptions.IOStreams) *cobra.Command {
	run := func(ctx context.Context, input libraryapplyconfiguration.ApplyConfigurationInput) (*runResult, mutations, error) {
		made, err := directoryClients(instance, input)
		if err != nil {
			return nothing(input, err)
		}
		return runOnce(ctx, newStarter(made, offlineControllers...), input)
	}
	return libraryapplyconfiguration.NewApplyConfigurationCommand(run, instance.outputResources, streams)
}

// NewApplyConfigurationLiveCommand runs the live controllers once over a directory, with access to the outside.
func NewApplyConfigurationLiveCommand(instance Instance, streams genericiooptions.IOStreams) *cobra.Command {
	var kubeconfig string
	run := func(ctx context.Context, input libraryapplyconfiguration.ApplyConfigurationInput) (*runResult, mutations, error) {
		made, err := liveClients(instance, input, kubeconfig)
		if err != nil {
			return nothing(input, err)
		}
		return runOnce(ctx, newStarter(made, liveControllers...), input)
	}
	command := libraryapplyconfiguration.NewApplyConfigurationCommand(run, instance.outputResources, streams)
	command.Use = "apply-configuration-live"
	command.Short = "Operator apply-configuration-live command."
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "How to reach the user workload cluster.")
	_ = command.MarkFlagRequired("kubeconfig")
	return command
}

type (
	runResult = libraryapplyconfiguration.ApplyConfigurationRunResult
	mutations = libraryapplyconfiguration.AllDesiredMutationsGetter
)

func runOnce(ctx context.Context, starter libraryapplyconfiguration.OperatorStarter, input libraryapplyconfiguration.ApplyConfigurationInput) (*runResult, mutations, error) {
	result, wanted, err := starter.RunOnce(ctx, input)
	if wanted == nil {
		return nothing(input, err)
	}
	return result, wanted, err
}

// nothing is the result of a failed run without writes. With a nil result the library would panic and lose the error.
func nothing(input libraryapplyconfiguration.ApplyConfigurationInput, err error) (*runResult, mutations, error) {
	return &runResult{}, libraryapplyconfiguration.NewApplyConfigurationFromClient(input.MutationTrackingClient.GetMutations()), err
}
