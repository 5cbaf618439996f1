{{/* Triggers of KEDA. Every server reports the same queue, so that its maximum counts. Arguments: agent, name, root. */}}
{{- define "groundstate.jobTriggers" -}}
{{- $labels := include "groundstate.poolLabels" . -}}
{{- if .agent.autoscaling.prometheus.serverAddress -}}
{{- include "groundstate.prometheusTrigger" (dict "agent" .agent "threshold" 1 "query" (printf "max(groundstate_queue_jobs{%s})" $labels)) }}
{{- else -}}
{{- include "groundstate.apiTrigger" (merge (dict "count" "queued" "threshold" 1) .) }}
{{- end -}}
{{- end -}}

{{- define "groundstate.deploymentTriggers" -}}
{{- $labels := include "groundstate.poolLabels" . -}}
{{- $threshold := .agent.concurrency -}}
{{- if .agent.autoscaling.prometheus.serverAddress -}}
{{- $query := printf "max(groundstate_queue_jobs{%s}) + max(groundstate_queue_running_jobs{%s})" $labels $labels -}}
{{- include "groundstate.prometheusTrigger" (dict "agent" .agent "threshold" $threshold "query" $query) }}
{{- else -}}
{{- include "groundstate.apiTrigger" (merge (dict "count" "queued" "trigger" "waiting" "threshold" $threshold) .) }}
{{ include "groundstate.apiTrigger" (merge (dict "count" "running" "trigger" "running" "threshold" $threshold) .) }}
{{- end -}}
{{- end -}}

{{- define "groundstate.poolLabels" -}}
{{- with .agent.autoscaling -}}pool={{ .pool | quote }},organization={{ .organization | quote }}{{- end -}}
{{- end -}}

{{- define "groundstate.prometheusTrigger" -}}
- type: prometheus
  metadata:
    serverAddress: {{ .agent.autoscaling.prometheus.serverAddress | quote }}
    query: {{ .query | squote }}
    threshold: {{ .threshold | quote }}
  {{- with .agent.autoscaling.prometheus.authentication }}
  authenticationRef: { name: {{ . }} }
  {{- end }}
{{- end -}}

{{- define "groundstate.apiTrigger" -}}
{{- $scaling := .agent.autoscaling -}}
{{- $address := .agent.url | default .root.Values.baseUrl | trimSuffix "/" -}}
- type: metrics-api
  {{- with .trigger }}
  name: {{ . }}
  {{- end }}
  metadata:
    url: {{ printf "%s/api/v2/organizations/%s/capacity?filter%%5Bagent_pool_names%%5D=%s" $address $scaling.organization (urlquery $scaling.pool) | quote }}
    valueLocation: data.attributes.{{ .count }}
    targetValue: {{ .threshold | quote }}
    authMode: bearer
  authenticationRef: { name: {{ .name }} }
{{- end -}}
