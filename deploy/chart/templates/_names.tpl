{{- define "groundstate.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Arguments: root, component. These labels must never change: selectors are immutable. */}}
{{- define "groundstate.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "groundstate.labels" -}}
{{ include "groundstate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "groundstate.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "groundstate.serviceAccount" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "groundstate.fullname" . -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "groundstate.secret" -}}
{{- default (include "groundstate.fullname" .) .Values.secrets.existingSecret -}}
{{- end -}}

{{/* The path of the base URL, without a trailing slash. */}}
{{- define "groundstate.basePath" -}}
{{- (urlParse .Values.baseUrl).path | trimSuffix "/" -}}
{{- end -}}

{{- define "groundstate.host" -}}
{{- (urlParse .Values.baseUrl).hostname -}}
{{- end -}}

{{/* Whether at least two servers run, as text. */}}
{{- define "groundstate.hasReplicas" -}}
{{- if or (gt (int .Values.server.replicas) 1) .Values.server.autoscaling.enabled -}}true{{- end -}}
{{- end -}}

{{/* The values of a group of agents with its defaults, as JSON. Arguments: root, name. */}}
{{- define "groundstate.agent" -}}
{{- mustMergeOverwrite (deepCopy .root.Values.agentDefaults) (deepCopy (default dict (index .root.Values.agents .name))) | toJson -}}
{{- end -}}
