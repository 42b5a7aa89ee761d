{{- /* One shard that runs all the time. Given: it, shard, over, logs, gov, prefix. The order of lists is part of an object's hash. */}}
{{- define "workload" }}
{{- $it := .it }}
- apiVersion: apps/v1
  kind: {{ ternary "StatefulSet" "Deployment" (not (not $it.cache)) }}
  metadata:
    name: qontract-reconcile-{{ $it.name }}{{ .shard.shard_name_suffix }}
    labels:
      app: qontract-reconcile-{{ $it.name }}
    annotations:
      ignore-check.kube-linter.io/minimum-three-replicas: qontract-reconcile integrations are sharded and not replicated
      ignore-check.kube-linter.io/no-readiness-probe: qontract-reconcile integrations are not getting traffic
      ignore-check.kube-linter.io/no-liveness-probe: qontract-reconcile integrations are monitored for being stuck
      ignore-check.kube-linter.io/unset-cpu-requirements: no cpu limits
  spec:
    replicas: {{ ternary 0 1 (not (not .over.disabled)) }}
    revisionHistoryLimit: 5
    selector:
      matchLabels:
        app: qontract-reconcile-{{ $it.name }}
    {{- if $it.cache }}
    volumeClaimTemplates:
    - metadata:
        name: cache
      spec:
        accessModes:
        - ReadWriteOnce
        storageClassName: {{ $it.storageClassName | default "gp2" }}
        resources:
          requests:
            storage: {{ $it.storage | default "1Gi" }}
    {{- end }}
    template:
      metadata:
        labels:
          app: qontract-reconcile-{{ $it.name }}
          component: qontract-reconcile
      spec:
        serviceAccountName: qontract-reconcile
        initContainers:
        {{- if $it.internalCertificates }}
        - name: internal-certificates
          image: ${INTERNAL_CERTIFICATES_IMAGE}:${INTERNAL_CERTIFICATES_IMAGE_TAG}
          imagePullPolicy: ${INTERNAL_CERTIFICATES_IMAGE_PULL_POLICY}
          command: [/bin/sh, -c]
          args:
          - |
            cp -r /etc/pki/. /tmp/etc-pki/
          volumeMounts:
          - name: internal-certificates
            mountPath: /tmp/etc-pki/
          resources:
            {{- include "small" . | trim | nindent 12 }}
        {{- end }}
        - name: config
          image: ${BUSYBOX_IMAGE}:${BUSYBOX_IMAGE_TAG}@${BUSYBOX_IMAGE_DIGEST}
          imagePullPolicy: ${BUSYBOX_IMAGE_PULL_POLICY}
          resources:
            {{- include "small" . | trim | nindent 12 }}
          env:
          {{- include "config-env" . | trim | nindent 10 }}
          command: [/bin/sh, -c]
          args:
          - |
            {{- include "fluent" . | trim | nindent 12 }}
          volumeMounts:
          - name: fluentd-config
            mountPath: /fluentd/etc/
        containers:
        - name: int
          image: {{ include "image" . }}
          ports:
          - name: http
            containerPort: 9090
          env:
          {{- include "env" . | trim | nindent 10 }}
          {{- if or .over.resources $it.resources }}
          resources:
            {{- if .over.resources }}
            {{- include "resources-as-they-are" .over.resources | trim | nindent 12 }}
            {{- else }}
            {{- include "resources" (dict "of" $it.resources "prefix" .prefix) | trim | nindent 12 }}
            {{- end }}
          {{- end }}
          volumeMounts:
          - name: tmp-dir
            mountPath: /tmp
          - name: qontract-reconcile-toml
            mountPath: /config
          {{- if $it.cache }}
          - name: cache
            mountPath: /.cache
          {{- end }}
          {{- if $it.internalCertificates }}
          - name: internal-certificates
            mountPath: /etc/pki/
          {{- end }}
          - name: logs
            mountPath: /fluentd/log/
          - name: qontract-reconcile-sa-token
            mountPath: ${KUBE_SA_TOKEN_MOUNT_PATH}
          {{- if $it.state }}
          - name: aws-config
            mountPath: /aws
          - name: bound-qontract-reconcile-sa-token
            mountPath: /var/run/secrets/openshift/serviceaccount
            readOnly: true
          {{- end }}
        - name: fluentd
          image: ${FLUENTD_IMAGE}:${FLUENTD_IMAGE_TAG}@${FLUENTD_IMAGE_DIGEST}
          imagePullPolicy: ${FLUENTD_IMAGE_PULL_POLICY}
          env:
          {{- include "secret-env" (list "AWS_REGION" "${CLOUDWATCH_SECRET}" "aws_region") | trim | nindent 10 }}
          {{- include "secret-env" (list "AWS_ACCESS_KEY_ID" "${CLOUDWATCH_SECRET}" "aws_access_key_id") | trim | nindent 10 }}
          {{- include "secret-env" (list "AWS_SECRET_ACCESS_KEY" "${CLOUDWATCH_SECRET}" "aws_secret_access_key") | trim | nindent 10 }}
          resources:
            {{- if $it.fluentdResources }}
            {{- include "resources" (dict "of" $it.fluentdResources "prefix" (printf "%s_FLUENTD" .prefix)) | trim | nindent 12 }}
            {{- else }}
            requests:
              cpu: 15m
              memory: 30Mi
            limits:
              memory: 120Mi
            {{- end }}
          volumeMounts:
          - name: logs
            mountPath: /fluentd/log/
          - name: fluentd-config
            mountPath: /fluentd/etc/
          {{- /* Once for each sink that buffers: what is made for both must not differ from what runs. */}}
          {{- if .logs.googleChat }}
          - name: buffer
            mountPath: /fluentd/buffer
          {{- end }}
          {{- if .gov }}
          - name: buffer
            mountPath: /fluentd/buffer
          {{- end }}
        volumes:
        {{- include "volumes" . | trim | nindent 8 }}
{{- end }}

{{- define "volumes" }}
- name: qontract-reconcile-sa-token
  projected:
    sources:
    - serviceAccountToken:
        expirationSeconds: 1800
        path: ${KUBE_SA_TOKEN_FILENAME}
{{- if .it.state }}
- name: bound-qontract-reconcile-sa-token
  projected:
    defaultMode: 420
    sources:
    - serviceAccountToken:
        audience: openshift
        expirationSeconds: 1800
        path: token
- name: aws-config
  secret:
    secretName: ${AWS_CONFIG_SECRET_NAME}
    optional: true
{{- end }}
- name: qontract-reconcile-toml
  secret:
    secretName: ${QONTRACT_RECONCILE_TOML_SECRET_NAME}
- name: logs
  emptyDir: {}
- name: fluentd-config
  emptyDir: {}
- name: tmp-dir
  emptyDir: {}
{{- if .logs.googleChat }}
- name: buffer
  emptyDir: {}
{{- end }}
{{- if .gov }}
- name: buffer
  emptyDir: {}
{{- end }}
{{- if .it.internalCertificates }}
- name: internal-certificates
  emptyDir: {}
{{- end }}
{{- end }}

{{- /* An override of a shard is before the integration's own image, and both are before what the environment says. */}}
{{- define "image" -}}
{{- $ref := .over.imageRef | default .it.imageRef -}}
{{- if $ref -}}
${IMAGE}:{{ $ref }}
{{- else -}}
${IMAGE}:${IMAGE_TAG}@${IMAGE_DIGEST}
{{- end -}}
{{- end }}
