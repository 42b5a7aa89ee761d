package operator

import (
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/multi-operator-manager/pkg/library/libraryapplyconfiguration"
)

// Steps 3 and 4 of the refactoring: the control loops are made from the informers, and each also runs once.
// There is one list for both ways of running, so no loop can be forgotten in one of them.

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
	// offlineControllers decide from objects alone.
	offlineControllers = []controllerMaker{newWorkloadController, newStatusController}
	// liveControllers look at the outside, and write what they saw where the others read it.
	liveControllers = []controllerMaker{newSurroundingsController}
)

// instanceName is what a controller is called in results and `--controllers`.
func instanceName(name string) string {
	return factory.ControllerInstanceName("beacon", name)
}
