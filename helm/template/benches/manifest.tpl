{{- define "labels" -}}
app: {{ .Values.name }}
release: {{ .Release.Name | printf "%q" }}
{{- range $key, $value := .Values.labels }}
{{ $key }}: {{ $value }}
{{- end }}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ printf "%s-%s" .Release.Name .Values.name }}
  namespace: {{ .Release.Namespace }}
  labels:
{{ template "labels" . }}
spec:
  replicas: {{ .Values.replicas }}
  template:
    metadata:
      labels:
{{ template "labels" . }}
    spec:
      containers:
      {{- range $index, $container := .Values.containers }}
      {{- if $container.enabled }}
      - name: {{ $container.name }}
        image: "{{ $container.image }}:{{ $container.tag }}"
        {{- with $container.ports }}
        ports:
        {{- range . }}
        - name: {{ .name }}
          containerPort: {{ .port }}
        {{- end }}
        {{- end }}
        env:
        {{- range $name, $value := $container.env }}
        - name: {{ $name }}
          value: {{ print $value | printf "%q" }}
        {{- end }}
      {{- else if and (gt $index 5) (lt $index 10) }}
      # {{ $container.name }} of {{ $.Release.Name }} is off
      {{- else }}
      # off
      {{- end }}
      {{- end }}
