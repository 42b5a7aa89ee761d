package operator

import (
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	beaconResource = schema.GroupVersionResource{Group: "beacon.example.com", Version: "v1", Resource: "beacons"}
	beaconKind     = schema.GroupVersionKind{Group: "beacon.example.com", Version: "v1", Kind: "Beacon"}
)

// publicNamespace holds information for users of the workload cluster. Every cluster has this namespace.
const publicNamespace = "kube-public"

// Instance contains the names of all objects that an operator reads and writes.
type Instance struct {
	// Name is the name of the Beacon.
	Name string
	// Image is the image of the Deployment, from the operator's environment.
	Image string
	// Version is reported in the status.
	Version string
}

// InstanceFromEnvironment reads all environment variables of the operator.
//
//	BEACON_INSTANCE         name of the Beacon, `cluster` by default
//	IMAGE                   image of the operand
//	OPERAND_IMAGE_VERSION   version of the operand
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

// operandNamespace is the namespace of the beacon's Deployment.
func (i Instance) operandNamespace() string { return "beacon" + i.suffix() }

// operatorNamespace is the namespace of the users' banners and of the operator's notes.
func (i Instance) operatorNamespace() string { return "beacon-operator" + i.suffix() }

// publicName is the ConfigMap that informs users of the workload cluster about the beacon.
func (i Instance) publicName() string { return "beacon-info" + i.suffix() }

// component is the operator's name in Events and as field manager.
func (i Instance) component() string { return "beacon-operator" + i.suffix() }

const (
	configName       = "beacon-config"
	deploymentName   = "beacon"
	surroundingsName = "surroundings"
)
