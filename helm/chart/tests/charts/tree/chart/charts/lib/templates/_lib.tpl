{{ define "who" }}lib for {{ .Chart.Name }}{{ end }}{{ define "lost" }}from lib{{ end }}
