{{ define "lost" }}from the top{{ end }}
