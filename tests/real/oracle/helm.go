package main

import (
	"encoding/json"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// helmCase is a chart as a map of files. The answer is the JSON of its rendered templates by path.
type helmCase struct {
	Files  map[string]string `json:"files"`
	Values string            `json:"values"` // YAML
	Name   string            `json:"name"`
	Strict bool              `json:"strict"`
}

func helm(raw json.RawMessage) (string, error) {
	var c helmCase
	if err := json.Unmarshal(raw, &c); err != nil {
		return "", err
	}
	var files []*loader.BufferedFile
	for path, text := range c.Files {
		files = append(files, &loader.BufferedFile{Name: path, Data: []byte(text)})
	}
	chart, err := loader.LoadFiles(files)
	if err != nil {
		return "", err
	}
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(c.Values), &values); err != nil {
		return "", err
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return "", err
	}
	options := chartutil.ReleaseOptions{Name: c.Name, Namespace: "default", Revision: 1, IsInstall: true}
	if options.Name == "" {
		options.Name = "release-name"
	}
	top, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	rendered, err := engine.Engine{Strict: c.Strict}.Render(chart, top)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(rendered)
	return string(out), err
}
