{{- define "switchboard.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "switchboard.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "switchboard.labels" -}}
{{ include "switchboard.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "switchboard.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "switchboard.name" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "switchboard.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* Path of the webhook secret; empty without a secret or GitOps Service. */ -}}
{{- define "switchboard.hook" -}}
{{- if and .Values.webhook.existingSecret (hasKey .Values.config "gitops") -}}
/etc/switchboard-webhook/secret
{{- end -}}
{{- end -}}

{{- /* switchboard.yaml from the values, with the addresses for probes, Prometheus and the console. */ -}}
{{- define "switchboard.config" -}}
{{- $own := dict "listen" (printf "0.0.0.0:%d" (int .Values.port)) "console" "off" -}}
{{- if .Values.console.enabled -}}
{{- $name := include "switchboard.name" . -}}
{{- $within := printf "%s.%s" $name .Release.Namespace -}}
{{- $names := list $name $within (printf "%s.svc" $within) (printf "%s.svc.cluster.local" $within) -}}
{{- $address := printf "0.0.0.0:%d" (int .Values.console.port) -}}
{{- $own = set $own "console" (dict "address" $address "hosts" (concat $names .Values.console.hosts)) -}}
{{- end -}}
{{- with include "switchboard.hook" . -}}
{{- $own = set $own "gitops" (dict "webhookSecretFile" .) -}}
{{- end -}}
{{- toYaml (merge $own (deepCopy .Values.config)) -}}
{{- end -}}
