{{- /* Where logs go to. CloudWatch gets all of them; chats get what the integration asks for. */}}
{{- define "config-env" }}
{{- $logs := .logs }}
{{- $trigger := .it.trigger }}
{{- if $logs.slack }}
{{- include "secret-env" (list "SLACK_WEBHOOK_URL" "app-interface" "slack.webhook_url") }}
{{- include "secret-env" (list "SLACK_TRIGGERS_WEBHOOK_URL" "app-interface" "slack.triggers_url") }}
{{- if $logs.slackErrorFilter }}
{{- include "secret-env" (list "SLACK_ERRORS_ONLY_WEBHOOK_URL" "app-interface" "slack.errors_only_webhook_url") }}
{{- end }}
{{- include "value-env" (list "SLACK_CHANNEL" (ternary "${SLACK_CHANNEL_TRIGGER}" "${SLACK_CHANNEL}" (not (not $trigger)))) }}
{{- include "value-env" (list "SLACK_ICON_EMOJI" "${SLACK_ICON_EMOJI}") }}
{{- if $logs.slackErrorFilter }}
{{- include "value-env" (list "SLACK_RECONCILE_ERR_CHANNEL_NAME" "${SLACK_RECONCILE_ERR_CHANNEL_NAME}") }}
{{- end }}
{{- end }}
{{- if $logs.googleChat }}
{{- $key := ternary "google_chat.triggers_url" "google_chat.webhook_url" (not (not $trigger)) }}
{{- include "secret-env" (list "GOOGLE_CHAT_WEBHOOK_URL" "app-interface" $key) }}
{{- if .gov }}
{{- $key := ternary "slack.triggers_url" "slack.webhook_url" (not (not $trigger)) }}
{{- include "secret-env" (list "GOV_SLACK_WEBHOOK_URL" "app-interface" $key) }}
{{- end }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}
{{- include "secret-env" (list "LOG_GROUP_NAME" "${CLOUDWATCH_SECRET}" "log_group_name") }}
{{- end }}

{{- define "fluent" }}
# generate fluent.conf
cat > /fluentd/etc/fluent.conf <<EOF
<source>
  @type tail
  path /fluentd/log/integration.log
  read_from_head true
  pos_file /fluentd/log/integration.log.pos
  tag integration
  <parse>
    @type none
  </parse>
</source>

{{ include "leave-out" "using gql endpoint" }}
{{ include "leave-out" "request_id: " }}
{{ include "leave-out" "Certificate did not match expected hostname" }}
{{- if .it.unleashConnectionPool }}
{{- include "leave-out" `Max retries exceeded with url: \/api\/client\/features` | trimSuffix "\n" }}
{{ end }}
<match integration>
  @type copy
  {{- if .logs.slack }}
  <store>
    @type slack
    {{- if .it.trigger }}
    webhook_url ${SLACK_TRIGGERS_WEBHOOK_URL}
    channel ${SLACK_CHANNEL_TRIGGER}
    {{- else }}
    webhook_url ${SLACK_WEBHOOK_URL}
    channel ${SLACK_CHANNEL}
    {{- end }}
    {{- include "slack-message" . | trim | nindent 4 }}
  </store>
  {{- end }}
  <store>
    @type cloudwatch_logs
    log_group_name ${LOG_GROUP_NAME}
    log_stream_name {{ .it.name }}
    auto_create_stream true
  </store>
  {{- if .logs.googleChat }}
  # only ship errors to Google Chat
  {{- include "errors-to" "gchat" | trim | nindent 2 }}
  {{- end }}
  {{- if .logs.slackErrorFilter }}
  # ship errors to separate slack channel
  {{- include "errors-to" "slack_errors" | trim | nindent 2 }}
  {{- end }}
</match>
{{- if .logs.googleChat }}
{{- include "chat" (dict "tag" "gchat" "url" "GOOGLE_CHAT_WEBHOOK_URL" "buffer" "/fluentd/buffer") }}
{{- end }}
{{- if .gov }}
{{- include "chat" (dict "tag" "gov_slack" "url" "GOV_SLACK_WEBHOOK_URL" "buffer" "/fluentd/buffer/gov-slack") }}
{{- end }}
{{- if .logs.slackErrorFilter }}
<match slack_errors>
  @type slack
  webhook_url ${SLACK_ERRORS_ONLY_WEBHOOK_URL}
  channel ${SLACK_RECONCILE_ERR_CHANNEL_NAME}
  {{- include "slack-message" . | trim | nindent 2 }}
</match>
{{- end }}
EOF
{{- end }}

{{- define "leave-out" -}}
<filter integration>
  @type grep
  <exclude>
    key message
    pattern /{{ . }}/
  </exclude>
</filter>
{{ end }}

{{- define "slack-message" }}
icon_emoji ${SLACK_ICON_EMOJI}
username sd-app-sre-bot
flush_interval 10s
message "\`\`\`[{{ .it.name }}] %s\`\`\`"
{{- end }}

{{- define "errors-to" }}
<store>
  @type rewrite_tag_filter
  <rule>
    key message
    pattern /^\[ERROR\]/
    tag {{ . }}
  </rule>
</store>
{{- end }}

{{- define "chat" }}
<match {{ .tag }}>
  @type teams
  webhook_url "${ {{- .url -}} }&threadKey=${POD_NAME}"
  text "<%= Time.at(time) %> [${POD_NAME}] <%= record['message'] %>\n\n"
  buffered true
  <buffer>
    @type file
    path {{ .buffer }}

    flush_mode interval
    flush_interval 15s
    flush_at_shutdown true

    retry_max_times 0
    retry_wait 30

    disable_chunk_backup true
  </buffer>
</match>
{{- end }}
