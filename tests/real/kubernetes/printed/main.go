// Prints the internal Go types that appear in error messages, for kubernetes/cluster/data/internal.txt. The last lines of that file
// (from policy.PodDisruptionBudgetSpec on) are written by hand. Run from tests/real/kubernetes:
//
//	go run ./printed
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
)

var out = map[string]string{}

func special(t reflect.Type) string {
	switch t.String() {
	case "v1.Time", "v1.MicroTime", "resource.Quantity", "intstr.IntOrString", "v1.Duration", "runtime.RawExtension", "v1.FieldsV1":
		return "@" + t.Name()
	}
	return ""
}
func name(t reflect.Type) string {
	p := strings.Split(t.PkgPath(), "/")
	return p[len(p)-1] + "." + t.Name()
}
func expr(t, v reflect.Type) string {
	if s := special(t); s != "" {
		return s
	}
	switch t.Kind() {
	case reflect.Ptr:
		if v != nil && v.Kind() == reflect.Ptr {
			v = v.Elem()
		}
		return "*" + expr(t.Elem(), v)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "@bytes"
		}
		var e reflect.Type
		if v != nil && v.Kind() == reflect.Slice {
			e = v.Elem()
		}
		return "[]" + expr(t.Elem(), e)
	case reflect.Map:
		var e reflect.Type
		if v != nil && v.Kind() == reflect.Map {
			e = v.Elem()
		}
		return "{}" + expr(t.Elem(), e)
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Uint64, reflect.Uint8, reflect.Uint32:
		return "n"
	case reflect.Struct:
		if v != nil && v.Kind() == reflect.Ptr {
			v = v.Elem()
		}
		walk(t, v)
		return name(t)
	}
	panic(t.String())
}
func find(v reflect.Type, n string) (reflect.StructField, bool) {
	if v == nil || v.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	return v.FieldByName(n)
}
func fields(t, v reflect.Type) []string {
	var o []string
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		tag := f.Tag.Get("json")
		if f.Anonymous && (tag == "" || strings.HasPrefix(tag, ",")) {
			sub := v
			if vf, ok := find(v, f.Name); ok {
				sub = vf.Type
			}
			if f.Type.Name() == "ObjectMeta" && f.Type.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1" {
				o = append(o, fields(f.Type, f.Type)...)
				// values come from metadata
				for j := range o {
					if !strings.Contains(o[j], "~") {
						o[j] = "~metadata/" + o[j]
					}
				}
				continue
			}
			o = append(o, fields(f.Type, sub)...)
			continue
		}
		shown := f.Name
		mode := "a"
		if tag != "" {
			p := strings.Split(tag, ",")
			if p[0] == "-" {
				continue
			}
			if p[0] != "" {
				shown = p[0]
			}
			for _, x := range p[1:] {
				if x == "omitempty" && mode == "a" {
					mode = "o"
				}
				if x == "omitzero" {
					mode = "z"
				}
			}
		}
		src := "-"
		var vt reflect.Type
		if vf, ok := find(v, f.Name); ok {
			src = strings.Split(vf.Tag.Get("json"), ",")[0]
			vt = vf.Type
		}
		if src == "-" {
			// special cases
			src = map[string]string{"PodSecurityContext.HostNetwork": "../hostNetwork", "PodSecurityContext.HostPID": "../hostPID", "PodSecurityContext.HostIPC": "../hostIPC", "PodSecurityContext.ShareProcessNamespace": "../shareProcessNamespace", "PodSecurityContext.HostUsers": "../hostUsers"}[t.Name()+"."+f.Name]
			if src == "" {
				src = "-"
			}
		}
		o = append(o, shown+"="+src+"="+mode+expr(f.Type, vt))
	}
	return o
}
func walk(t, v reflect.Type) {
	n := name(t)
	if _, ok := out[n]; ok {
		return
	}
	out[n] = ""
	out[n] = strings.Join(fields(t, v), " ")
}
func main() {
	walk(reflect.TypeOf(core.PodTemplateSpec{}), reflect.TypeOf(corev1.PodTemplateSpec{}))
	walk(reflect.TypeOf(core.PersistentVolumeClaimSpec{}), reflect.TypeOf(corev1.PersistentVolumeClaimSpec{}))
	walk(reflect.TypeOf(core.PersistentVolumeSource{}), reflect.TypeOf(corev1.PersistentVolumeSource{}))
	walk(reflect.TypeOf(apps.DeploymentStrategy{}), reflect.TypeOf(appsv1.DeploymentStrategy{}))
	walk(reflect.TypeOf(apps.DaemonSetUpdateStrategy{}), reflect.TypeOf(appsv1.DaemonSetUpdateStrategy{}))
	walk(reflect.TypeOf(apps.StatefulSetUpdateStrategy{}), reflect.TypeOf(appsv1.StatefulSetUpdateStrategy{}))
	walk(reflect.TypeOf(batch.PodFailurePolicy{}), reflect.TypeOf(batchv1.PodFailurePolicy{}))
	walk(reflect.TypeOf(batch.SuccessPolicy{}), reflect.TypeOf(batchv1.SuccessPolicy{}))
	walk(reflect.TypeOf(metav1.LabelSelector{}), reflect.TypeOf(metav1.LabelSelector{}))
	ns := []string{}
	for n := range out {
		ns = append(ns, n)
	}
	sort.Strings(ns)
	fmt.Println("# Go's internal types, as refusals print them: `<type> <shown name>=<field of the API>=<presence><shape> ...`, in Go's order.")
	fmt.Println("# `~metadata/` a field below metadata in the API; `../` marks a field of the enclosing spec.")
	for _, n := range ns {
		fmt.Println(n, out[n])
	}
}
