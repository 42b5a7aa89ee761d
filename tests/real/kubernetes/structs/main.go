// Prints the Go structs of the built-in kinds, one definition per line, for kubernetes/cluster/data/structs.txt. Run from tests/real/kubernetes:
//
//	go run ./structs > ../../kubernetes/cluster/data/structs.txt
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	ar "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authn "k8s.io/api/authentication/v1"
	authz "k8s.io/api/authorization/v1"
	as1 "k8s.io/api/autoscaling/v1"
	as2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	cert "k8s.io/api/certificates/v1"
	coord "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	disc "k8s.io/api/discovery/v1"
	ev "k8s.io/api/events/v1"
	fc "k8s.io/api/flowcontrol/v1"
	net "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	pol "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	res "k8s.io/api/resource/v1"
	sched "k8s.io/api/scheduling/v1"
	stor "k8s.io/api/storage/v1"
	crd "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	agg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var out = map[string]map[string]string{}

func name(t reflect.Type) string {
	p := t.PkgPath()
	p = strings.TrimPrefix(p, "k8s.io/")
	p = "io.k8s." + strings.ReplaceAll(p, "/", ".")
	return p + "." + t.Name()
}

func expr(t reflect.Type) string {
	switch t.String() {
	case "v1.Time":
		return "@time"
	case "v1.MicroTime":
		return "@micro"
	case "v1.Duration":
		return "@duration"
	case "resource.Quantity":
		return "@quantity"
	case "intstr.IntOrString":
		return "@intstr"
	case "runtime.RawExtension", "v1.JSON", "v1.JSONSchemaPropsOrBool", "v1.JSONSchemaPropsOrArray", "v1.JSONSchemaPropsOrStringArray", "v1.FieldsV1":
		return "@raw"
	}
	switch t.Kind() {
	case reflect.Ptr:
		return "*" + expr(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "@bytes"
		}
		return "[]" + expr(t.Elem())
	case reflect.Map:
		return "{}" + expr(t.Elem())
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Uint64, reflect.Uint8, reflect.Uint32:
		return "n"
	case reflect.Struct:
		walk(t)
		return name(t)
	}
	panic(t.String() + t.Kind().String())
}

func fields(t reflect.Type, m map[string]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		parts := strings.Split(tag, ",")
		if tag == "-" || !f.IsExported() {
			continue
		}
		if parts[0] == "" {
			if f.Anonymous || contains(parts, "inline") {
				ft := f.Type
				if ft.Kind() == reflect.Ptr {
					ft = ft.Elem()
				}
				fields(ft, m)
				continue
			}
			panic(t.String() + "." + f.Name)
		}
		c := "a"
		if contains(parts, "omitempty") {
			c = "o"
		}
		if contains(parts, "omitzero") {
			c = "z"
		}
		m[parts[0]] = c + expr(f.Type)
	}
}
func contains(p []string, s string) bool {
	for _, x := range p[1:] {
		if x == s {
			return true
		}
	}
	return false
}
func walk(t reflect.Type) {
	n := name(t)
	if _, ok := out[n]; ok {
		return
	}
	m := map[string]string{}
	out[n] = m
	fields(t, m)
}
func main() {
	for _, o := range []any{
		core.Binding{}, core.ComponentStatus{}, core.ConfigMap{}, core.Endpoints{}, core.Event{}, core.LimitRange{}, core.Namespace{}, core.Node{}, core.PersistentVolumeClaim{}, core.PersistentVolume{}, core.Pod{}, core.PodTemplate{}, core.ReplicationController{}, core.ResourceQuota{}, core.Secret{}, core.ServiceAccount{}, core.Service{},
		agg.APIService{}, apps.ControllerRevision{}, apps.DaemonSet{}, apps.Deployment{}, apps.ReplicaSet{}, apps.StatefulSet{}, ev.Event{}, authn.SelfSubjectReview{}, authn.TokenReview{}, authn.TokenRequest{}, authz.LocalSubjectAccessReview{}, authz.SelfSubjectAccessReview{}, authz.SelfSubjectRulesReview{}, authz.SubjectAccessReview{}, as1.HorizontalPodAutoscaler{}, as1.Scale{}, as2.HorizontalPodAutoscaler{},
		batch.CronJob{}, batch.Job{}, cert.CertificateSigningRequest{}, net.IngressClass{}, net.Ingress{}, net.IPAddress{}, net.NetworkPolicy{}, net.ServiceCIDR{}, pol.PodDisruptionBudget{}, pol.Eviction{}, rbac.ClusterRole{}, rbac.ClusterRoleBinding{}, rbac.Role{}, rbac.RoleBinding{}, stor.CSIDriver{}, stor.CSINode{}, stor.CSIStorageCapacity{}, stor.StorageClass{}, stor.VolumeAttachment{}, stor.VolumeAttributesClass{},
		ar.MutatingAdmissionPolicy{}, ar.MutatingAdmissionPolicyBinding{}, ar.MutatingWebhookConfiguration{}, ar.ValidatingAdmissionPolicy{}, ar.ValidatingAdmissionPolicyBinding{}, ar.ValidatingWebhookConfiguration{}, crd.CustomResourceDefinition{}, sched.PriorityClass{}, coord.Lease{}, node.RuntimeClass{}, disc.EndpointSlice{}, res.DeviceClass{}, res.ResourceClaim{}, res.ResourceClaimTemplate{}, res.ResourceSlice{}, fc.FlowSchema{}, fc.PriorityLevelConfiguration{},
	} {
		walk(reflect.TypeOf(o))
	}
	names := []string{}
	for n := range out {
		names = append(names, n)
	}
	sort.Strings(names)
	fmt.Println("# What Go's structs of the built-in kinds look like, one definition a line: `<definition> <field>=<presence><shape> ...`.")
	fmt.Println("# Presence: a always written, o omitted when empty, z omitted when zero. Shapes: s string, n number, b boolean, *pointer, []list, {}map,")
	fmt.Println("# @time @micro @duration @quantity @intstr @raw @bytes, or another definition. The prefix `io.k8s.` is left out.")
	for _, n := range names {
		fields := []string{}
		for f, e := range out[n] {
			fields = append(fields, f+"="+e)
		}
		sort.Strings(fields)
		line := strings.Join(append([]string{n}, fields...), " ")
		fmt.Println(strings.ReplaceAll(line, "io.k8s.", ""))
	}
}
