{{- define "greet" }}hello {{ .name }}{{ end -}}
{{- define "deep" }}{{ if gt (int .) 0 }}{{ . }}{{ include "deep" (sub (int .) 1) }}{{ end }}{{ end }}
