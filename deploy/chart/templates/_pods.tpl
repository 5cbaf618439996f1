{{/* Parts of every pod. Arguments: root, component, values (of the component). */}}
{{- define "groundstate.podBase" -}}
# The variables of a Service named groundstate would be taken for settings.
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
{{- if .values.topologySpreadConstraints }}
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ $key }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "groundstate.selector" $ | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "groundstate.containerBase" -}}
image: {{ include "groundstate.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext: {{- toYaml (merge (dict "readOnlyRootFilesystem" true) .root.Values.containerSecurityContext) | nindent 2 }}
resources: {{- toYaml .values.resources | nindent 2 }}
{{- end -}}

{{/* Arguments: where; settings, a map of environment variables; own, variables that the chart sets, which cannot be among them. */}}
{{- define "groundstate.settings" -}}
{{- range $name, $_ := .settings -}}
{{- if hasKey $.own $name -}}
{{- fail (printf "%s.%s: the chart sets it from its other values, see values.yaml" $.where $name) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := merge .own .settings }}
{{- /* Helm reads whole numbers as floats, which it would write as 7.2e+06. */ -}}
{{- $text := ternary (int64 $value | toString) (toString $value) (and (kindIs "float64" $value) (eq (toString (floor $value)) (toString $value))) }}
- { name: {{ $name }}, value: {{ $text | quote }} }
{{- end }}
{{- end -}}

{{/* Metadata and spec of a server's pod. Arguments: root, component (server, worker), role, values. */}}
{{- define "groundstate.serverPod" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
metadata:
  labels:
    {{- include "groundstate.labels" . | nindent 4 }}
    groundstate/metrics: 'true'
    {{- with .values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    checksum/secret: {{ toJson $values.secrets | sha256sum }}
    {{- with .values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "groundstate.serviceAccount" $root }}
  automountServiceAccountToken: false
  # Load balancers stop sending requests (10 s), then jobs drain, then connections close (31 s).
  terminationGracePeriodSeconds: {{ add 45 $values.server.drainSeconds }}
  {{- include "groundstate.podBase" . | nindent 2 }}
  containers:
    - name: server
      {{- include "groundstate.containerBase" . | nindent 6 }}
      args: [groundstate, serve]
      env:
        {{- $own := dict
          "GROUNDSTATE_HOST" ($values.listenAddress | default "0.0.0.0")
          "GROUNDSTATE_PORT" 7777
          "GROUNDSTATE_DATA_DIR" "/data"
          "GROUNDSTATE_BASE_URL" $values.baseUrl
          "GROUNDSTATE_ROLE" .role
          "GROUNDSTATE_AGENTS" (ternary 1 0 (and $values.server.builtInAgent (ne .role "api")))
          "GROUNDSTATE_DRAIN_TIMEOUT" (mul 1000 $values.server.drainSeconds)
          "GROUNDSTATE_LOG_LEVEL" $values.server.logLevel -}}
        {{- $proxy := $values.server.trustProxy | default (ternary "uniquelocal" "" (or $values.ingress.enabled $values.httpRoute.enabled)) -}}
        {{- if $proxy }}{{ $_ := set $own "GROUNDSTATE_TRUST_PROXY" $proxy }}{{ end -}}
        {{- range $name := list "bucket" "endpoint" "region" "prefix" -}}
        {{- with index $values.s3 $name }}{{ $_ := set $own (printf "GROUNDSTATE_S3_%s" (upper $name)) . }}{{ end -}}
        {{- end -}}
        {{- $defaults := ternary (dict "GROUNDSTATE_ENGINE_DOWNLOADS" "on") dict $values.server.builtInAgent -}}
        {{- include "groundstate.settings" (dict "where" "settings" "own" $own "settings" (merge (deepCopy $values.settings) $defaults)) | nindent 8 }}
        # Required keys: without one the container is not started.
        - name: GROUNDSTATE_SECRET
          valueFrom: { secretKeyRef: { name: {{ include "groundstate.secret" $root }}, key: GROUNDSTATE_SECRET } }
        {{- if eq $values.mode "replicated" }}
        - name: GROUNDSTATE_DATABASE_URL
          valueFrom: { secretKeyRef: { name: {{ include "groundstate.secret" $root }}, key: GROUNDSTATE_DATABASE_URL } }
        {{- end }}
        {{- with $values.server.extraEnv }}{{ toYaml . | nindent 8 }}{{ end }}
      envFrom:
        - secretRef: { name: {{ include "groundstate.secret" $root }} }
      ports:
        - { name: http, containerPort: 7777 }
      # Migrations run before the server listens.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 5
        failureThreshold: {{ max 1 (div $values.server.startupSeconds 5) }}
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      lifecycle:
        preStop:
          exec: { command: [sleep, '10'] }
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- with $values.server.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - { name: tmp, emptyDir: {} }
    {{- if eq $values.mode "replicated" }}
    - { name: data, emptyDir: {} }
    {{- end }}
    {{- with $values.server.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end -}}

{{/* Metadata and spec of an agent's pod. Arguments: root, name, component, agent, single (a Job's). */}}
{{- define "groundstate.agentPod" -}}
{{- $agent := .agent -}}
metadata:
  labels:
    {{- include "groundstate.labels" . | nindent 4 }}
    groundstate/job: groundstate-agent
    {{- with $agent.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- $annotations := ternary (dict "cluster-autoscaler.kubernetes.io/safe-to-evict" "false" "karpenter.sh/do-not-disrupt" "true") dict .single }}
  {{- with merge (deepCopy $agent.podAnnotations) $annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with $agent.serviceAccount.name }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- if and (not $agent.serviceAccount.name) $agent.serviceAccount.annotations }}
  serviceAccountName: {{ include "groundstate.fullname" .root }}-{{ .component }}
  {{- end }}
  automountServiceAccountToken: {{ $agent.serviceAccount.automountToken }}
  # Runs finish, or store the state of their interrupted applies.
  terminationGracePeriodSeconds: {{ add 60 $agent.drainSeconds }}
  {{- if .single }}
  restartPolicy: Never
  {{- end }}
  {{- include "groundstate.podBase" (dict "root" .root "component" .component "values" $agent) | nindent 2 }}
  containers:
    - name: agent
      {{- include "groundstate.containerBase" (dict "root" .root "values" $agent) | nindent 6 }}
      args: [groundstate-agent]
      env:
        - name: GROUNDSTATE_AGENT_NAME
          valueFrom: { fieldRef: { fieldPath: metadata.name } }
        {{- $own := dict
          "GROUNDSTATE_URL" ($agent.url | default .root.Values.baseUrl)
          "GROUNDSTATE_AGENT_TOKEN_FILE" "/run/groundstate/token/token"
          "GROUNDSTATE_AGENT_WORK_DIR" "/data"
          "GROUNDSTATE_AGENT_CONCURRENCY" (ternary 1 $agent.concurrency .single)
          "GROUNDSTATE_AGENT_ACCEPT" $agent.accept
          "GROUNDSTATE_AGENT_DRAIN_SECONDS" $agent.drainSeconds
          "GROUNDSTATE_AGENT_METRICS_ADDRESS" (ternary "[::]:7778" "0.0.0.0:7778" (eq (toString .root.Values.listenAddress) "::"))
          "GROUNDSTATE_AGENT_LOG_JSON" "on" -}}
        {{- if $agent.caSecret.name }}{{ $_ := set $own "GROUNDSTATE_AGENT_CA_FILE" "/run/groundstate/ca/ca.crt" }}{{ end -}}
        {{- /* Another agent may have claimed the job. */ -}}
        {{- if .single }}{{ $_ := merge $own (dict "GROUNDSTATE_AGENT_SINGLE" "on" "GROUNDSTATE_AGENT_IDLE_TIMEOUT" 60) }}{{ end -}}
        {{- include "groundstate.settings" (dict "where" (printf "agents.%s.settings" .name) "own" $own "settings" (deepCopy $agent.settings)) | nindent 8 }}
        {{- with $agent.extraEnv }}{{ toYaml . | nindent 8 }}{{ end }}
      ports:
        - { name: metrics, containerPort: 7778 }
      {{- if $agent.livenessProbe }}
      livenessProbe:
        httpGet: { path: /healthz, port: metrics }
        initialDelaySeconds: 10
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      {{- end }}
      {{- if not .single }}
      # A rollout waits until the new agents are registered.
      readinessProbe:
        httpGet: { path: /readyz, port: metrics }
        periodSeconds: 5
        timeoutSeconds: 2
      {{- end }}
      volumeMounts:
        - { name: work, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        - { name: token, mountPath: /run/groundstate/token, readOnly: true }
        {{- if $agent.caSecret.name }}
        - { name: ca, mountPath: /run/groundstate/ca, readOnly: true }
        {{- end }}
        {{- with $agent.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - { name: work, emptyDir: { sizeLimit: {{ $agent.workDirSize }} } }
    - { name: tmp, emptyDir: {} }
    - name: token
      secret:
        secretName: {{ $agent.tokenSecret.name }}
        items: [{ key: {{ $agent.tokenSecret.key }}, path: token }]
    {{- if $agent.caSecret.name }}
    - name: ca
      secret:
        secretName: {{ $agent.caSecret.name }}
        items: [{ key: {{ $agent.caSecret.key }}, path: ca.crt }]
    {{- end }}
    {{- with $agent.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end -}}
