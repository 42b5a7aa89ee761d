// Prints how Go's JSON codec treats each field of the Go structs behind the given OpenAPI schemas, one line per definition:
// `name<TAB>{"field":"flags type"}`. Run from tests/real/kubernetes:
//
//	go run ./types < ../../kubernetes/object/data/schemas.json > ../../kubernetes/object/data/gotypes.json
//
// Flags: p pointer, o omitempty, z omitzero, i field of embedded structs (followed by their names, joined by dots).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func definition(t reflect.Type) string {
	path := t.PkgPath()
	head, rest, _ := strings.Cut(path, "/")
	parts := strings.Split(head, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(rest, "/", ".") + "." + t.Name()
}

var seen = map[reflect.Type]bool{}
var out = map[string]map[string]string{}

func walk(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		walk(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[t] {
		return
	}
	seen[t] = true
	// A type with its own unmarshaler is a leaf.
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		out[definition(t)] = map[string]string{}
		return
	}
	fields := map[string]string{}
	collect(t, nil, fields)
	if strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		out[definition(t)] = fields
	}
}

func collect(t reflect.Type, via []string, fields map[string]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("json")
		if tag == "-" || !f.IsExported() {
			continue
		}
		name, opts, _ := strings.Cut(tag, ",")
		if f.Anonymous && (name == "" || !ok) {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			collect(inner, append(append([]string{}, via...), f.Name), fields)
			continue
		}
		if name == "" {
			name = f.Name
		}
		flags := ""
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			flags += "p"
			ft = ft.Elem()
		}
		for _, o := range strings.Split(opts, ",") {
			switch o {
			case "omitempty":
				flags += "o"
			case "omitzero":
				flags += "z"
			case "string":
				flags += "s"
			}
		}
		if len(via) > 0 {
			flags += "i" + strings.Join(via, ".")
		}
		line := flags + " " + ft.String()
		if under := ft.Kind(); ft.Name() != "" && under != reflect.Struct && ft.PkgPath() != "" {
			line += " " + underlying(ft)
		}
		if _, dup := fields[name]; !dup {
			fields[name] = line
		}
		walk(f.Type)
	}
}

func underlying(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Map:
		return "map[" + t.Key().String() + "]" + t.Elem().String()
	case reflect.Slice:
		return "[]" + t.Elem().String()
	}
	return t.Kind().String()
}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgo.AddToScheme, apiextensions.AddToScheme, aggregator.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	for _, t := range scheme.AllKnownTypes() {
		walk(t)
	}
	var schemas map[string]json.RawMessage
	if err := json.NewDecoder(bufio.NewReader(os.Stdin)).Decode(&schemas); err != nil {
		panic(err)
	}
	names := []string{}
	for name := range schemas {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		fields, ok := out[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no Go type:", name)
			fields = map[string]string{}
		}
		line, err := json.Marshal(fields)
		if err != nil {
			panic(err)
		}
		open, end := "", ",\n"
		if i == 0 {
			open = "{"
		}
		if i == len(names)-1 {
			end = "\n}\n"
		}
		fmt.Printf("%s%q:%s%s", open, name, line, end)
	}
}
