{{- define "translation-exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
The name of the objects: at most 52 characters, as the StatefulSet's controller adds a hash of 10 to it in a label of 63.
*/}}
{{- define "translation-exporter.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Labels that never change, for selectors and the claim's template.
*/}}
{{- define "translation-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "translation-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "translation-exporter.podLabels" -}}
{{ include "translation-exporter.selectorLabels" . }}
app.kubernetes.io/component: exporter
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "translation-exporter.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "translation-exporter.podLabels" . }}
{{- end }}

{{- define "translation-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "translation-exporter.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "translation-exporter.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "translation-exporter.telemetryPath" -}}
{{ (.Values.config.web | default dict).telemetry_path | default "/metrics" }}
{{- end }}

{{/*
What a probe asks. The argument is a list: the root, the path.
*/}}
{{- define "translation-exporter.probe" -}}
{{- $root := index . 0 }}
{{- if $root.Values.webConfig.clientCertificates -}}
tcpSocket:
  port: metrics
{{- else -}}
httpGet:
  path: {{ index . 1 }}
  port: metrics
  {{- if $root.Values.webConfig.tls }}
  scheme: HTTPS
  {{- end }}
{{- end }}
{{- end }}
