{{ define "outer" }}{{ include "inner" . }}{{ end }}{{ define "inner" }}
{{ fail "deep\nwords" }}{{ end }}{{ define "nil" }}{{ include "nil2" . }}{{ end }}{{ define "nil2" }}{{ .Values.a.b.c }}{{ end }}{{ define "endless" }}{{ include "endless" . }}{{ end }}
