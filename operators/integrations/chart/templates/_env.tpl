{{- /* name, value as text */}}
{{- define "value-env" }}
- name: {{ index . 0 }}
  value: {{ index . 1 | toString | quote }}
{{- end }}

{{- /* name, secret, key */}}
{{- define "secret-env" }}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 }}
      key: {{ index . 2 }}
{{- end }}

{{- /* name, secret, key: may be absent */}}
{{- define "optional-secret-env" }}
{{- include "secret-env" . }}
      optional: true
{{- end }}

{{- /* name, which is the key as well */}}
{{- define "settings-env" }}
- name: {{ . }}
  valueFrom:
    configMapKeyRef:
      name: app-interface
      key: {{ . }}
{{- end }}

{{- define "unleash-env" }}
{{- include "optional-secret-env" (list "UNLEASH_API_URL" "unleash" "API_URL") }}
{{- include "optional-secret-env" (list "UNLEASH_CLIENT_ACCESS_TOKEN" "unleash" "CLIENT_ACCESS_TOKEN") }}
{{- end }}

{{- define "extra-env" }}
{{- range . }}
{{- if .secretKey }}
{{- include "secret-env" (list .secretKey .secretName .secretKey) }}
{{- end }}
{{- if .name }}
{{- include "value-env" (list .name .value) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What a shard that runs all the time sees. */}}
{{- define "env" }}
{{- $it := .it }}
{{- if .logs.googleChat }}
{{- include "value-env" (list "PREFIX_LOG_LEVEL" "true") }}
{{- end }}
{{- if .gov }}
{{- include "value-env" (list "PREFIX_LOG_LEVEL" "true") }}
{{- end }}
{{- if .shard.shard_id }}
{{- include "value-env" (list "SHARDS" .shard.shards) }}
{{- include "value-env" (list "SHARD_ID" .shard.shard_id) }}
{{- end }}
{{- with .shard.shard_key }}
{{- include "value-env" (list "SHARD_KEY" .) }}
{{- end }}
{{- include "value-env" (list "DRY_RUN" "${DRY_RUN}") }}
{{- with $it.command }}
{{- include "value-env" (list "COMMAND_NAME" .) }}
{{- end }}
{{- if eq $it.name "integrations-manager" }}
{{- range list "MANAGER_DRY_RUN" "INTEGRATIONS_MANAGER_UPSTREAM" "INTEGRATIONS_MANAGER_IMAGE" "INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF" }}
{{- include "value-env" (list . (printf "${%s}" .)) }}
{{- end }}
{{- end }}
{{- include "value-env" (list "INTEGRATION_NAME" $it.name) }}
{{- with .shard.extra_args }}
{{- include "value-env" (list "INTEGRATION_EXTRA_ARGS" .) }}
{{- end }}
{{- $sleep := ternary (printf "%s_SLEEP_DURATION_SECS" .prefix) "SLEEP_DURATION_SECS" (not (not $it.sleepDurationSecs)) }}
{{- include "value-env" (list "SLEEP_DURATION_SECS" (printf "${%s}" $sleep)) }}
{{- include "settings-env" "GITHUB_API" }}
{{- include "settings-env" "SENTRY_DSN" }}
{{- include "value-env" (list "LOG_FILE" "${LOG_FILE}") }}
{{- if $it.state }}
{{- include "secret-env" (list "APP_INTERFACE_STATE_BUCKET" "app-interface" "aws.s3.bucket") }}
{{- include "value-env" (list "APP_INTERFACE_STATE_BUCKET_ACCOUNT" "${APP_INTERFACE_STATE_BUCKET_ACCOUNT}") }}
{{- include "optional-secret-env" (list "APP_INTERFACE_STATE_BUCKET_REGION" "app-interface" "aws.region") }}
{{- include "value-env" (list "AWS_CONFIG_FILE" "/aws/config") }}
{{- include "optional-secret-env" (list "APP_INTERFACE_STATE_AWS_PROFILE" "app-interface" "aws.profile.state") }}
{{- end }}
{{- if not $it.disableUnleash }}
{{- include "unleash-env" . }}
{{- end }}
{{- range list "SLOW_OC_RECONCILE_THRESHOLD" "LOG_SLOW_OC_RECONCILE" "USE_NATIVE_CLIENT" }}
{{- include "value-env" (list . (printf "${%s}" .)) }}
{{- end }}
{{- include "value-env" (list "KUBE_SA_TOKEN_PATH" "${KUBE_SA_TOKEN_MOUNT_PATH}/${KUBE_SA_TOKEN_FILENAME}") }}
{{- include "value-env" (list "USED_FOR_SECURITY" "${USED_FOR_SECURITY}") }}
{{- if $it.environmentAware }}
{{- include "environment-env" . }}
{{- end }}
{{- include "extra-env" $it.extraEnv }}
{{- end }}

{{- /* What an integration that deploys others must hand on. */}}
{{- define "environment-env" }}
{{- $names := list "ENVIRONMENT_NAME" }}
{{- if .gov }}
{{- $names = append $names "GOV_SLACK" }}
{{- end }}
{{- $names = concat $names (list "IMAGE" "IMAGE_TAG" "IMAGE_DIGEST") }}
{{- range $image := list "BUSYBOX_IMAGE" "FLUENTD_IMAGE" }}
{{- $names = concat $names (list $image (printf "%s_TAG" $image) (printf "%s_DIGEST" $image) (printf "%s_PULL_POLICY" $image)) }}
{{- end }}
{{- $names = append $names "CLOUDWATCH_SECRET" }}
{{- $names = concat $names (list "INTERNAL_CERTIFICATES_IMAGE" "INTERNAL_CERTIFICATES_IMAGE_TAG" "INTERNAL_CERTIFICATES_IMAGE_PULL_POLICY") }}
{{- range $names }}
{{- include "value-env" (list . (printf "${%s}" .)) }}
{{- end }}
{{- end }}
