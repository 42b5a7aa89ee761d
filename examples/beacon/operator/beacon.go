package operator

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
)

// beacon contains the fields of a Beacon that the controllers read.
type beacon struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              beaconSpec `json:"spec"`
}

type beaconSpec struct {
	operatorv1.OperatorSpec `json:",inline"`
	// Replicas of the Deployment; 1 unless set.
	Replicas *int32 `json:"replicas,omitempty"`
	// Banners are ConfigMaps in the operator's namespace; the beacon shows the `text` of each.
	Banners []bannerReference `json:"banners,omitempty"`
	// Upstream is a URL whose response the beacon shows; only the live controller requests it.
	Upstream string `json:"upstream,omitempty"`
}

type bannerReference struct {
	Name string `json:"name"`
}

// managed is false while the user has disabled the operator.
func (b *beacon) managed() bool {
	return b.Spec.ManagementState == "" || b.Spec.ManagementState == operatorv1.Managed
}

func beaconFrom(store cache.Store, name string) (*beacon, error) {
	found, exists, err := store.GetByKey(name)
	if err != nil || !exists {
		return nil, err
	}
	object, ok := found.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("beacon %q is a %T", name, found)
	}
	read := &beacon{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, read); err != nil {
		return nil, fmt.Errorf("unable to read beacon %q: %w", name, err)
	}
	return read, nil
}

// beaconType defines for server-side apply how the lists of a status are merged; other fields are deduced.
var beaconType = func() typed.ParseableType {
	parser, err := typed.NewParser(typed.YAMLObject(`types:
- name: beacon
  map:
    fields:
    - name: status
      type:
        map:
          fields:
          - name: conditions
            type:
              list:
                elementType:
                  namedType: __untyped_deduced_
                elementRelationship: associative
                keys: [type]
          elementType:
            namedType: __untyped_deduced_
    elementType:
      namedType: __untyped_deduced_
- name: __untyped_atomic_
  scalar: untyped
  list:
    elementType:
      namedType: __untyped_atomic_
    elementRelationship: atomic
  map:
    elementType:
      namedType: __untyped_atomic_
    elementRelationship: atomic
- name: __untyped_deduced_
  scalar: untyped
  list:
    elementType:
      namedType: __untyped_atomic_
    elementRelationship: atomic
  map:
    elementType:
      namedType: __untyped_deduced_
    elementRelationship: separable
`))
	if err != nil {
		panic(fmt.Sprintf("the beacon's own schema is wrong: %v", err))
	}
	return parser.Type("beacon")
}()

// extractStatus returns the part of the status that a field manager applied before, to skip unchanged applies.
func extractStatus(object *unstructured.Unstructured, manager string) (*applyoperatorv1.OperatorStatusApplyConfiguration, error) {
	applied := struct {
		Status *applyoperatorv1.OperatorStatusApplyConfiguration `json:"status,omitempty"`
	}{}
	if err := managedfields.ExtractInto(object, beaconType, manager, &applied, "status"); err != nil {
		return nil, fmt.Errorf("unable to extract the status fields of %q: %w", manager, err)
	}
	return applied.Status, nil
}

// extractSpec is required by the library; this operator never applies a spec.
func extractSpec(*unstructured.Unstructured, string) (*applyoperatorv1.OperatorSpecApplyConfiguration, error) {
	return nil, fmt.Errorf("the spec of a beacon is its user's")
}
