{{- /* What runs on a schedule: one job, whatever its shards. Given: it, prefix. */}}
{{- define "job" }}
{{- $it := .it }}
- apiVersion: batch/v1
  kind: CronJob
  metadata:
    name: qontract-reconcile-{{ $it.name }}
    labels:
      app: qontract-reconcile-{{ $it.name }}
    annotations:
      ignore-check.kube-linter.io/unset-cpu-requirements: no cpu limits
  spec:
    schedule: {{ $it.cron | quote }}
    concurrencyPolicy: {{ $it.concurrencyPolicy | default "Allow" }}
    successfulJobsHistoryLimit: {{ ternary 3 $it.successfulJobHistoryLimit (kindIs "invalid" $it.successfulJobHistoryLimit) }}
    failedJobsHistoryLimit: {{ ternary 1 $it.failedJobHistoryLimit (kindIs "invalid" $it.failedJobHistoryLimit) }}
    jobTemplate:
      spec:
        template:
          spec:
            serviceAccountName: qontract-reconcile
            restartPolicy: {{ $it.restartPolicy | default "OnFailure" }}
            containers:
            - name: int
              image: ${IMAGE}:${IMAGE_TAG}@${IMAGE_DIGEST}
              env:
              {{- include "job-env" $it | trim | nindent 14 }}
              {{- if $it.resources }}
              resources:
                {{- include "resources" (dict "of" $it.resources "prefix" .prefix) | trim | nindent 16 }}
              {{- end }}
              volumeMounts:
              - name: qontract-reconcile-toml
                mountPath: /config
              - name: qontract-reconcile-sa-token
                mountPath: ${KUBE_SA_TOKEN_MOUNT_PATH}
            volumes:
            - name: qontract-reconcile-toml
              secret:
                secretName: ${QONTRACT_RECONCILE_TOML_SECRET_NAME}
            - name: qontract-reconcile-sa-token
              projected:
                sources:
                - serviceAccountToken:
                    expirationSeconds: 1800
                    path: ${KUBE_SA_TOKEN_FILENAME}
{{- end }}

{{- define "job-env" }}
{{- include "value-env" (list "RUN_ONCE" "true") }}
{{- include "value-env" (list "DRY_RUN" "${DRY_RUN}") }}
{{- with .command }}
{{- include "value-env" (list "COMMAND_NAME" .) }}
{{- end }}
{{- include "value-env" (list "INTEGRATION_NAME" .name) }}
{{- with .extraArgs }}
{{- include "value-env" (list "INTEGRATION_EXTRA_ARGS" .) }}
{{- end }}
{{- include "settings-env" "GITHUB_API" }}
{{- if not .disableUnleash }}
{{- include "unleash-env" . }}
{{- end }}
{{- include "extra-env" .extraEnv }}
{{- if .dashdotdb }}
{{- include "secret-env" (list "DASHDOTDB_SECRET" "dashdotdb" "AUTH_VAULT_PATH") }}
{{- end }}
{{- include "value-env" (list "KUBE_SA_TOKEN_PATH" "${KUBE_SA_TOKEN_MOUNT_PATH}/${KUBE_SA_TOKEN_FILENAME}") }}
{{- if .enablePushgateway }}
{{- include "value-env" (list "PUSHGATEWAY_ENABLED" "true") }}
{{- include "secret-env" (list "PUSHGATEWAY_URL" "${PUSHGATEWAY_SECRET_NAME}" "server") }}
{{- include "secret-env" (list "PUSHGATEWAY_USERNAME" "${PUSHGATEWAY_SECRET_NAME}" "username") }}
{{- include "secret-env" (list "PUSHGATEWAY_PASSWORD" "${PUSHGATEWAY_SECRET_NAME}" "password") }}
{{- end }}
{{- end }}
