{{/* Fails for values that contradict each other. The schema has checked their names and types. */}}
{{- define "groundstate.checks" -}}
{{- if .Values.server.enabled -}}{{- include "groundstate.serverChecks" . -}}{{- end -}}
{{- $installed := .Values.server.enabled -}}
{{- range $name, $_ := .Values.agents -}}
{{- $agent := include "groundstate.agent" (dict "root" $ "name" $name) | fromJson -}}
{{- if $agent.enabled -}}{{- $installed = true -}}{{- include "groundstate.agentChecks" (dict "root" $ "name" $name "agent" $agent) -}}{{- end -}}
{{- end -}}
{{- if not $installed -}}
{{- fail "there is nothing to install: server.enabled is false, and agents has no group that is enabled" -}}
{{- end -}}
{{- include "groundstate.plainSettings" (dict "root" . "where" "settings" "settings" .Values.settings "of" "server") -}}
{{- include "groundstate.plainSettings" (dict "root" . "where" "agentDefaults.settings" "settings" .Values.agentDefaults.settings "of" "agent") -}}
{{- end -}}

{{- define "groundstate.serverChecks" -}}
{{- $values := .Values -}}
{{- if not $values.baseUrl -}}
{{- fail "baseUrl is missing: set the address at which people and agents reach the server, such as https://groundstate.example.com" -}}
{{- end -}}
{{- if and $values.secrets.existingSecret $values.secrets.values -}}
{{- fail "secrets.existingSecret and secrets.values are both set: set one of them" -}}
{{- end -}}
{{- $created := $values.secrets.values -}}
{{- if not (or $values.secrets.existingSecret (hasKey $created "GROUNDSTATE_SECRET")) -}}
{{- fail "the secret is missing: set secrets.existingSecret to a Secret with the key GROUNDSTATE_SECRET (32 bytes, such as `openssl rand -hex 32`), or secrets.values.GROUNDSTATE_SECRET" -}}
{{- end -}}
{{- if eq $values.mode "replicated" -}}
{{- if not $values.s3.bucket -}}
{{- fail "s3.bucket is missing: with mode replicated servers keep state and logs in a bucket" -}}
{{- end -}}
{{- if not (or $values.secrets.existingSecret (hasKey $created "GROUNDSTATE_DATABASE_URL")) -}}
{{- fail "the database is missing: with mode replicated secrets.values needs GROUNDSTATE_DATABASE_URL" -}}
{{- end -}}
{{- else -}}
{{- if gt (int $values.server.replicas) 1 -}}
{{- fail (printf "server.replicas is %d: mode standalone has one server with a volume; more need mode replicated with a PostgreSQL and a bucket" (int $values.server.replicas)) -}}
{{- end -}}
{{- if $values.server.autoscaling.enabled -}}{{- fail "server.autoscaling needs mode replicated" -}}{{- end -}}
{{- if $values.worker.enabled -}}{{- fail "worker.enabled needs mode replicated" -}}{{- end -}}
{{- end -}}
{{- if and $values.metrics.serviceMonitor.enabled $created (not (hasKey $created $values.metrics.serviceMonitor.tokenKey)) -}}
{{- fail (printf "the token for /metrics is missing: metrics.serviceMonitor needs secrets.values.%s" $values.metrics.serviceMonitor.tokenKey) -}}
{{- end -}}
{{- if and $values.httpRoute.enabled (not $values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty: name the gateway, such as [{ name: public, namespace: gateways }]" -}}
{{- end -}}
{{- if and $values.server.autoscaling.enabled (gt (int $values.server.autoscaling.minReplicas) (int $values.server.autoscaling.maxReplicas)) -}}
{{- fail "server.autoscaling.minReplicas is greater than maxReplicas" -}}
{{- end -}}
{{- range $name := list "endpoint" "region" "prefix" -}}
{{- if and (index $values.s3 $name) (not $values.s3.bucket) (not (hasKey $values.settings "GROUNDSTATE_S3_BUCKET")) -}}
{{- fail (printf "s3.%s has no effect without s3.bucket" $name) -}}
{{- end -}}
{{- end -}}
{{- include "groundstate.knownSettings" (dict "root" . "where" "secrets.values" "settings" $created "of" "server") -}}
{{- $secret := get (default dict $created) "GROUNDSTATE_SECRET" | toString -}}
{{- if and $secret (not (regexMatch "^\\s*([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)\\s*$" $secret)) -}}
{{- fail "secrets.values.GROUNDSTATE_SECRET must be 32 bytes, as 64 hex digits or as base64, such as `openssl rand -hex 32`" -}}
{{- end -}}
{{- end -}}

{{- define "groundstate.agentChecks" -}}
{{- $where := printf "agents.%s" .name -}}
{{- if not .agent.tokenSecret.name -}}
{{- fail (printf "%s.tokenSecret.name is missing: name the Secret with the token of the agent pool" $where) -}}
{{- end -}}
{{- if not (or .agent.url .root.Values.baseUrl) -}}
{{- fail (printf "%s.url is missing: without a server in this release agents need its address" $where) -}}
{{- end -}}
{{- include "groundstate.plainSettings" (dict "root" .root "where" (printf "%s.settings" $where) "settings" .agent.settings "of" "agent") -}}
{{- $scaling := .agent.autoscaling -}}
{{- if and (eq .agent.kind "ScaledJob") (not $scaling.enabled) -}}
{{- fail (printf "%s.autoscaling.enabled is false: kind ScaledJob starts one agent per waiting job" $where) -}}
{{- end -}}
{{- if $scaling.enabled -}}
{{- if not (and $scaling.pool $scaling.organization) -}}
{{- fail (printf "%s.autoscaling needs pool and organization, the names of the agent pool and its organization" $where) -}}
{{- end -}}
{{- if eq (not $scaling.prometheus.serverAddress) (not $scaling.apiTokenSecret.name) -}}
{{- fail (printf "%s.autoscaling needs either prometheus.serverAddress or apiTokenSecret.name, the place where KEDA reads the queue" $where) -}}
{{- end -}}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) -}}
{{- fail (printf "%s.autoscaling.minReplicas is greater than maxReplicas" $where) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails for variables of Groundstate that are no setting. Arguments: root, where, settings, of (server, agent). */}}
{{- define "groundstate.knownSettings" -}}
{{- $known := index (.root.Files.Get "files/settings.json" | fromJson) .of -}}
{{- range $name, $_ := .settings -}}
{{- if and (hasPrefix "GROUNDSTATE_" $name) (not (has $name $known)) -}}
{{- fail (printf "%s.%s: there is no such setting of %s" $.where $name (ternary "agents" "the server" (eq $.of "agent"))) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Arguments: root, where, settings, of (server, agent). */}}
{{- define "groundstate.plainSettings" -}}
{{- include "groundstate.knownSettings" . -}}
{{- range $name, $_ := .settings -}}
{{- if regexMatch "(SECRETS?|TOKEN|PASSWORD|PRIVATE_KEY|ACCESS_KEY(_ID)?|(DATABASE|DIRECT|SMTP)_URL|HEADERS)$" $name -}}
{{- fail (printf "%s.%s is a secret: put it into the Secret of secrets.existingSecret" $.where $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
