// beacon-operator runs a beacon: a small server that shows texts of users.
//
// The binary runs in two ways: `start` runs it resident, and the other four commands run it once over a directory.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"

	"switchboard.test/beacon/operator"
)

func main() {
	os.Exit(cli.Run(newCommand()))
}

func newCommand() *cobra.Command {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	instance := operator.InstanceFromEnvironment()
	command := &cobra.Command{
		Use:           "beacon-operator",
		Short:         "Runs a beacon that shows what users tell it to show",
		SilenceErrors: true,
	}
	command.AddCommand(
		operator.NewStartCommand(instance),
		operator.NewInputResourcesCommand(instance, streams),
		operator.NewOutputResourcesCommand(instance, streams),
		operator.NewApplyConfigurationCommand(instance, streams),
		operator.NewApplyConfigurationLiveCommand(instance, streams),
	)
	return command
}
