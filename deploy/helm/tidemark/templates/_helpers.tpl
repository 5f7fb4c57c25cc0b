{{- /* "true" for collectors with a spool: they have a volume, which outlives the pod and its node. */}}
{{- define "tidemark.spools" -}}
{{- if and (eq .role "collector") (gt (int (.root.Values.settings.TIDEMARK_SPOOL_MB | default 0)) 0) }}true{{ end -}}
{{- end }}

{{- define "tidemark.labels" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "tidemark.selector" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "tidemark.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "tidemark.account" -}}
{{- .Values.serviceAccount.name | default (ternary .Release.Name "default" .Values.serviceAccount.create) -}}
{{- end }}

{{- define "tidemark.environment" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- range $name, $value := .Values.settings }}
{{- if ne (toString $value) "" }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The pod of a role: root, role, args, values of the role, ports, and whether it has a cache. */}}
{{- define "tidemark.pod" -}}
metadata:
  labels:
    {{- include "tidemark.selector" . | nindent 4 }}
  annotations:
    checksum/settings: {{ toJson .root.Values.settings | sha256sum }}
spec:
  serviceAccountName: {{ include "tidemark.account" .root }}
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 60
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "tidemark.selector" . | nindent 10 }}
  containers:
    - name: {{ .role }}
      image: {{ include "tidemark.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command: {{ toJson .command }}
      env:
        {{- include "tidemark.environment" .root | nindent 8 }}
      envFrom:
        - secretRef: {name: {{ .root.Values.existingSecret }}}
      ports:
        {{- range $name, $port := .ports }}
        - {name: {{ $name }}, containerPort: {{ $port }}}
        {{- end }}
        - {name: metrics, containerPort: 4100}
      startupProbe:
        httpGet: {path: /livez, port: metrics}
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: {path: /livez, port: metrics}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet: {path: /readyz, port: metrics}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 3
      resources: {{ toYaml .values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        {{- include "tidemark.files.mount" .root | nindent 8 }}
  volumes:
    {{- if not (include "tidemark.spools" .) }}
    - name: data
      emptyDir: {{ if .values.cache }}{sizeLimit: {{ .values.cache }}}{{ else }}{}{{ end }}
    {{- end }}
    - name: tmp
      emptyDir: {}
    {{- include "tidemark.files.volume" .root | nindent 4 }}
{{- end }}

{{- define "tidemark.files.mount" -}}
{{- if .Values.filesSecret -}}
- {name: files, mountPath: /etc/tidemark/files, readOnly: true}
{{- end -}}
{{- end }}

{{- define "tidemark.files.volume" -}}
{{- if .Values.filesSecret -}}
- name: files
  secret: {secretName: {{ .Values.filesSecret }}, defaultMode: 0440}
{{- end -}}
{{- end }}
