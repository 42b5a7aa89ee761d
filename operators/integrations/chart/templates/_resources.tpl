{{- /* What a container asks for, as parameters: an environment can set each of them. Given: of, prefix. */}}
{{- define "resources" }}
{{- $prefix := .prefix }}
{{- $of := .of }}
{{- range $part, $name := dict "limits" "LIMIT" "requests" "REQUEST" }}
{{- with index $of $part }}
{{ $part }}:
  {{- if .cpu }}
  cpu: {{ printf "${%s_CPU_%s}" $prefix $name }}
  {{- end }}
  {{- if .memory }}
  memory: {{ printf "${%s_MEMORY_%s}" $prefix $name }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The same as literals. Not quoted: a whole number stays a number, and the object the one that runs. */}}
{{- define "resources-as-they-are" }}
{{- $of := . }}
{{- range $part := list "limits" "requests" }}
{{- with index $of $part }}
{{ $part }}:
  {{- if .cpu }}
  cpu: {{ .cpu }}
  {{- end }}
  {{- if .memory }}
  memory: {{ .memory }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "small" }}
requests:
  cpu: 15m
  memory: 10Mi
limits:
  memory: 20Mi
{{- end }}

{{- /* The parameters of "resources", with their values. Given: of, prefix. */}}
{{- define "resources-parameters" }}
{{- $prefix := .prefix }}
{{- $of := .of | default dict }}
{{- range $part, $name := dict "limits" "LIMIT" "requests" "REQUEST" }}
{{- with index $of $part }}
{{- if .cpu }}
- name: {{ $prefix }}_CPU_{{ $name }}
  value: {{ .cpu | toString | quote }}
{{- end }}
{{- if .memory }}
- name: {{ $prefix }}_MEMORY_{{ $name }}
  value: {{ .memory | toString | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
