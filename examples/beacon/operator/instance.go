package operator

import (
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	beaconResource = schema.GroupVersionResource{Group: "beacon.example.com", Version: "v1", Resource: "beacons"}
	beaconKind     = schema.GroupVersionKind{Group: "beacon.example.com", Version: "v1", Kind: "Beacon"}
)

// publicNamespace is where users of the workload cluster look things up. Every cluster has it.
const publicNamespace = "kube-public"

// Instance is one operator: the names of everything it reads and writes.
type Instance struct {
	// Name is the Beacon it cares for.
	Name string
	// Image is what the Deployment runs; given by whoever runs the operator.
	Image string
	// Version is told in the status.
	Version string
}

// InstanceFromEnvironment reads everything the operator is told by its environment, in one place.
//
//	BEACON_INSTANCE         which Beacon, `cluster` unless set
//	IMAGE                   the operand's image
//	OPERAND_IMAGE_VERSION   its version
func InstanceFromEnvironment() Instance {
	or := func(name, otherwise string) string {
		if value := os.Getenv(name); value != "" {
			return value
		}
		return otherwise
	}
	return Instance{
		Name:    or("BEACON_INSTANCE", "cluster"),
		Image:   or("IMAGE", "beacon.example.com/beacon:unset"),
		Version: or("OPERAND_IMAGE_VERSION", "unset"),
	}
}

func (i Instance) suffix() string {
	if i.Name == "cluster" {
		return ""
	}
	return "-" + i.Name
}

// operandNamespace is where the beacon runs.
func (i Instance) operandNamespace() string { return "beacon" + i.suffix() }

// operatorNamespace is where users put banners, and where the operator notes what it saw.
func (i Instance) operatorNamespace() string { return "beacon-operator" + i.suffix() }

// publicName is the ConfigMap that tells users of the workload cluster about the beacon.
func (i Instance) publicName() string { return "beacon-info" + i.suffix() }

// component is the operator's own name, in events and as field manager.
func (i Instance) component() string { return "beacon-operator" + i.suffix() }

const (
	configName       = "beacon-config"
	deploymentName   = "beacon"
	surroundingsName = "surroundings"
)
