package operator

import (
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/multi-operator-manager/pkg/library/libraryapplyconfiguration"
)

// Steps 3 and 4 of the refactoring: the control loops are created from the informers, and each can also run once.
// One list serves both ways of running, so that none of them lacks a loop.

func newStarter(from *clients, makers ...controllerMaker) *libraryapplyconfiguration.SimpleOperatorStarter {
	informers := newInformers(from)
	starter := &libraryapplyconfiguration.SimpleOperatorStarter{Informers: informers.simplified}
	for _, make := range makers {
		controller := make(from, informers)
		starter.ControllerRunFns = append(starter.ControllerRunFns,
			libraryapplyconfiguration.AdaptRunFn(controller.Run))
		starter.ControllerNamedRunOnceFns = append(starter.ControllerNamedRunOnceFns,
			libraryapplyconfiguration.AdaptNamedController(from.events, controller))
	}
	return starter
}

type controllerMaker func(*clients, *operatorInformers) factory.Controller

var (
	// offlineControllers depend on objects only.
	offlineControllers = []controllerMaker{newWorkloadController, newStatusController}
	// liveControllers query the outside, and write the results to an object that the other controllers read.
	liveControllers = []controllerMaker{newSurroundingsController}
)

// instanceName is the name of a controller in results and in `--controllers`.
func instanceName(name string) string {
	return factory.ControllerInstanceName("beacon", name)
}
