{{- /* What an environment can set, with what holds where it does not. Given: the values. */}}
{{- define "parameters" }}
- name: IMAGE
  value: quay.io/app-sre/qontract-reconcile
- name: IMAGE_TAG
  value: latest
- name: IMAGE_DIGEST
  value: ""
- name: BUSYBOX_IMAGE
  value: registry.access.redhat.com/ubi8/ubi-minimal
- name: BUSYBOX_IMAGE_TAG
  value: 8.10-1781701121
- name: BUSYBOX_IMAGE_DIGEST
  value: sha256:5d76d0cedabd7d7893b28bec684d7a3412dd8d95d186e7d4b6eeed4ea28c327b
- name: BUSYBOX_IMAGE_PULL_POLICY
  value: Always
- name: FLUENTD_IMAGE
  value: quay.io/redhat-services-prod/app-sre-tenant/fluentd-master/fluentd-master
- name: FLUENTD_IMAGE_TAG
  value: d0d1812
- name: FLUENTD_IMAGE_DIGEST
  value: sha256:4868ac49b42f14ff0878216cd2c618413209f634a5c9a6c004e353e1b0805e60
- name: FLUENTD_IMAGE_PULL_POLICY
  value: Always
- name: INTERNAL_CERTIFICATES_IMAGE
  value: quay.io/redhat-services-prod/app-sre-tenant/container-images-int-master/internal-redhat-ca-master
- name: INTERNAL_CERTIFICATES_IMAGE_TAG
  value: latest
- name: INTERNAL_CERTIFICATES_IMAGE_PULL_POLICY
  value: Always
- name: ENVIRONMENT_NAME
  value: app-interface
{{- if eq .gov_slack "true" }}
- name: GOV_SLACK
  value: {{ .gov_slack | quote }}
{{- end }}
- name: DRY_RUN
  value: --dry-run
- name: MANAGER_DRY_RUN
  value: --dry-run
- name: INTEGRATIONS_MANAGER_UPSTREAM
  value: ""
- name: INTEGRATIONS_MANAGER_IMAGE
  value: ""
- name: INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF
  value: ""
- name: SLEEP_DURATION_SECS
  value: "300"
- name: QONTRACT_RECONCILE_TOML_SECRET_NAME
  value: qontract-reconcile-toml
- name: APP_INTERFACE_STATE_BUCKET_ACCOUNT
  value: app-sre
- name: AWS_CONFIG_SECRET_NAME
  value: app-interface-aws-config
- name: KUBE_SA_TOKEN_MOUNT_PATH
  value: /var/run/secrets/kubernetes.io/serviceaccount
- name: KUBE_SA_TOKEN_FILENAME
  value: token
- name: LOG_FILE
  value: /fluentd/log/integration.log
- name: SLACK_CHANNEL
  value: sd-app-sre-reconcile-stage
- name: SLACK_CHANNEL_TRIGGER
  value: sd-app-sre-triggers-stage
- name: SLACK_ICON_EMOJI
  value: ":bust_in_silhouette:"
- name: CLOUDWATCH_SECRET
  value: app-interface-cloudwatch
- name: SLOW_OC_RECONCILE_THRESHOLD
  value: "600"
- name: LOG_SLOW_OC_RECONCILE
  value: "false"
- name: USE_NATIVE_CLIENT
  value: ""
- name: PUSHGATEWAY_SECRET_NAME
  value: push-gateway-auth-url
- name: USED_FOR_SECURITY
  value: ""
{{- /* Nothing here refers to these. Texts of users may: they are processed too. */}}
- name: APP_INTERFACE_PROJECT_ID
  value: "0"
- name: APP_INTERFACE_SQS_SECRET_NAME
  value: app-interface-sqs
- name: GITHUB_API
  value: http://github-mirror.github-mirror-stage.svc.cluster.local
- name: SENTRY_DSN
  value: ""
- name: USER_ID
  value: dummy
{{- range .integrations }}
{{- $prefix := .name | upper | replace "-" "_" }}
{{- with .sleepDurationSecs }}
- name: {{ $prefix }}_SLEEP_DURATION_SECS
  value: {{ . | toString | quote }}
{{- end }}
{{- include "resources-parameters" (dict "of" .resources "prefix" $prefix) }}
{{- include "resources-parameters" (dict "of" .fluentdResources "prefix" (printf "%s_FLUENTD" $prefix)) }}
{{- if (.logs | default dict).slackErrorFilter }}
- name: SLACK_RECONCILE_ERR_CHANNEL_NAME
  value: sd-app-sre-reconcile-errors-stage
{{- end }}
{{- end }}
{{- range .cronjobs }}
{{- include "resources-parameters" (dict "of" .resources "prefix" (.name | upper | replace "-" "_")) }}
{{- end }}
{{- end }}
