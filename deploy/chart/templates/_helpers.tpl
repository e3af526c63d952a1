{{/* The name of the release's parts. */}}
{{- define "molfabric.name" -}}
{{- if eq .Release.Name "molfabric" }}molfabric{{ else }}{{ printf "%s-molfabric" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{/* Labels that select a part: (list $ "api"). */}}
{{- define "molfabric.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: molfabric
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* All labels of a part: (list $ "api"). */}}
{{- define "molfabric.labels" -}}
{{ include "molfabric.selector" . }}
{{- $root := index . 0 }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end }}

{{/* Environment variables from two maps: (list plain secret). */}}
{{- define "molfabric.env" -}}
{{- range $name, $value := index . 0 }}
- { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- range $name, $from := index . 1 }}
- { name: {{ $name }}, valueFrom: { secretKeyRef: { name: {{ $from.secret }}, key: {{ $from.key }} } } }
{{- end }}
{{- end }}

{{/* What no container of ours may do. */}}
{{- define "molfabric.confined" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
capabilities: { drop: [ALL] }
{{- end }}

{{/* The settings that the API, the scheduler and the migration share. */}}
{{- define "molfabric.control.env" -}}
{{- $plain := merge (dict "MOLFABRIC_HOME" "/var/lib/molfabric" "MOLFABRIC_CONFIG" "off" "MOLFABRIC_LOG_FORMAT" "json") .Values.env -}}
{{- include "molfabric.env" (list $plain (omit .Values.secretEnv "MOLFABRIC_ISSUER_REDIS_URL")) }}
{{- end }}

{{/* And what the API alone is told: who makes workers' users in Redis. */}}
{{- define "molfabric.api.env" -}}
{{- include "molfabric.control.env" . }}
{{- include "molfabric.env" (list (dict) (pick .Values.secretEnv "MOLFABRIC_ISSUER_REDIS_URL")) }}
{{- end }}

{{- define "molfabric.pod" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
securityContext: { runAsNonRoot: true, fsGroup: 65534, seccompProfile: { type: RuntimeDefault } }
{{- end }}

{{- define "molfabric.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if .Values.authorities }}
- { name: authorities, mountPath: /etc/molfabric/authorities, readOnly: true }
{{- end }}
{{- end }}

{{- define "molfabric.volumes" -}}
{{- if .Values.authorities }}
- { name: authorities, secret: { secretName: {{ .Values.authorities }} } }
{{- end }}
{{- end }}

{{/* The pod of a worker: (dict "root" $ "name" … "fleet" … "args" …). */}}
{{- define "molfabric.worker.pod" -}}
{{- $root := .root }}{{ $fleet := .fleet }}{{ $common := $root.Values.worker }}
{{- $sandbox := default $common.sandbox $fleet.sandbox }}
{{- $plain := merge (dict
  "MOLFABRIC_HOME" "/var/lib/molfabric" "MOLFABRIC_CONFIG" "off" "MOLFABRIC_LOG_FORMAT" "json" "MOLFABRIC_SANDBOX" $sandbox
  "MOLFABRIC_OWN_IMAGE" $fleet.image
  "MOLFABRIC_SLOTS" ($fleet.cores | toString) "MOLFABRIC_DRAIN_GRACE" (printf "%vs" (int $common.drainGraceSeconds))
  "MOLFABRIC_SIMULATORS" (join "," $fleet.engines) "MOLFABRIC_GPUS" (ternary "auto" "off" (eq $fleet.class "gpu"))
  "MOLFABRIC_GPU_TASKS_EACH" (default 1 $fleet.tasksEachDevice | toString)) (default (dict) $fleet.env) $common.env }}
{{- if hasKey $common.secretEnv "MOLFABRIC_WORKER_TOKEN" }}
{{- $api := printf "http://%s-api.%s.svc" (include "molfabric.name" $root) $root.Release.Namespace }}
{{- $plain = merge $plain (dict "MOLFABRIC_WORKER_API" $api) }}
{{- end }}
automountServiceAccountToken: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
terminationGracePeriodSeconds: {{ add (int $common.drainGraceSeconds) 45 }}
{{- if eq $sandbox "bubblewrap" }}
hostUsers: false
{{- end }}
securityContext:
  runAsNonRoot: true
  fsGroup: 65534
  seccompProfile: { type: {{ ternary "Unconfined" "RuntimeDefault" (eq $sandbox "bubblewrap") }} }
{{- with $fleet.runtimeClass }}
runtimeClassName: {{ . }}
{{- end }}
{{- with $fleet.priorityClass }}
priorityClassName: {{ . }}
{{- end }}
{{- with $fleet.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with $fleet.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
containers:
  - name: worker
    image: {{ $fleet.image }}
    args: {{ toJson (concat (list "worker") .args) }}
    env:
      - { name: MOLFABRIC_WORKER_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
      {{- include "molfabric.env" (list $plain $common.secretEnv) | nindent 6 }}
    securityContext:
      {{- include "molfabric.confined" $root | nindent 6 }}
      {{- if eq $sandbox "bubblewrap" }}
      procMount: Unmasked
      appArmorProfile: { type: Unconfined }
      {{- end }}
    resources:
      requests: { cpu: {{ $fleet.cores | toString | quote }}, memory: {{ $fleet.memory }}, ephemeral-storage: {{ $fleet.disk }} }
      limits:
        memory: {{ $fleet.memory }}
        {{- if eq $fleet.class "gpu" }}
        {{ default "nvidia.com/gpu" $fleet.deviceResource }}: {{ default 1 $fleet.devices }}
        {{- end }}
    volumeMounts:
      - { name: home, mountPath: /var/lib/molfabric }
      {{- include "molfabric.mounts" $root | nindent 6 }}
volumes:
  - { name: home, emptyDir: { sizeLimit: {{ $fleet.disk }} } }
  - { name: tmp, emptyDir: { sizeLimit: 1Gi } }
  {{- include "molfabric.volumes" $root | nindent 2 }}
{{- end }}
