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
app.kubernetes.io/name: {{ include "translation-exporter.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/*
Each label once, whatever several values set: later ones win, except over those of selectors, which cannot change.
The argument is a list: the root, then maps of labels.
*/}}
{{- define "translation-exporter.mergedLabels" -}}
{{- $root := first . }}
{{- $labels := dict "app.kubernetes.io/component" "exporter" "app.kubernetes.io/version" $root.Chart.AppVersion }}
{{- range rest . }}
{{- $labels = mergeOverwrite $labels (. | default dict) }}
{{- end }}
{{- toYaml (mergeOverwrite $labels (fromYaml (include "translation-exporter.selectorLabels" $root))) }}
{{- end }}

{{/*
Labels of an object. The argument is a list: the root, then maps of further labels.
*/}}
{{- define "translation-exporter.labels" -}}
{{- $root := first . }}
{{- $chart := printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- $helm := dict "helm.sh/chart" $chart "app.kubernetes.io/managed-by" $root.Release.Service }}
{{- include "translation-exporter.mergedLabels" (concat (list $root $helm $root.Values.commonLabels) (rest .)) }}
{{- end }}

{{- define "translation-exporter.namespace" -}}
{{ .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{- define "translation-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "translation-exporter.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/*
A released chart names its image's digest in an annotation. That digest is no other tag's.
*/}}
{{- define "translation-exporter.image" -}}
{{- $released := index (.Chart.Annotations | default dict) "translation-exporter/image-digest" }}
{{- with (.Values.global | default dict).imageRegistry | default .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest | default (empty .Values.image.tag | ternary $released "") }}@{{ . }}{{ end }}
{{- end }}

{{- define "translation-exporter.baseUrl" -}}
{{ ((.Values.config | default dict).api | default dict).base_url | default "https://" }}
{{- end }}

{{- define "translation-exporter.telemetryPath" -}}
{{ ((.Values.config | default dict).web | default dict).telemetry_path | default "/metrics" }}
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

{{/*
The job of this release's series: the Service's name, or what the label that serviceMonitor.extraSpec.jobLabel names has, or the text that
serviceMonitor.relabelings replace it by. Empty if they compute it.
*/}}
{{- define "translation-exporter.job" -}}
{{- $labels := fromYaml (include "translation-exporter.labels" (list .)) }}
{{- $job := get $labels ((.Values.serviceMonitor.extraSpec | default dict).jobLabel | default "") | default (include "translation-exporter.fullname" .) }}
{{- range .Values.serviceMonitor.relabelings }}
{{- if eq (.targetLabel | default "") "job" }}
{{- $job = empty .sourceLabels | ternary (.replacement | default "") "" }}
{{- end }}
{{- end }}
{{- $job }}
{{- end }}

{{/*
No other series tells of an exporter that never came up, so this alert names the job: no target, or one whose exporter was never scraped.
*/}}
{{- define "translation-exporter.absentGroup" -}}
{{- $job := include "translation-exporter.job" . }}
{{- $labels := printf "job=%q, namespace=%q" $job (include "translation-exporter.namespace" .) }}
name: {{ include "translation-exporter.fullname" . }}-absent
rules:
  - alert: TranslationExporterAbsent
    expr: absent(up{ {{- $labels -}} }) or absent_over_time(translation_exporter_build_info{ {{- $labels -}} }[7d])
    for: 15m
    labels:
      severity: warning
    annotations:
      summary: The exporter of job {{ $job }} is absent
      description: Prometheus has no target of job {{ $job }}, or has not scraped its exporter for a week. Nobody watches its translations.
      dashboard_url: http://localhost:3000/d/translation-exporter?var-namespace={{ include "translation-exporter.namespace" . | urlquery }}&var-job={{ $job | urlquery }}
      runbook_url: https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/runbook.md#translationexporterabsent
{{- end }}
