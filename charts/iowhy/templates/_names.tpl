{{- define "iowhy.selector" -}}
app.kubernetes.io/name: iowhy
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "iowhy.labels" -}}
{{ include "iowhy.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "iowhy.settings" -}}
{{- $settings := .Values.agent.settings -}}
{{- $own := printf "[agent]\ndirectory = \"/var/lib/iowhy\"\nmetrics = \":%v\"\n" .Values.metrics.port -}}
{{- if contains "[agent]" $settings -}}
{{ $settings | replace "[agent]\n" $own }}
{{- else -}}
{{ $own }}{{ $settings }}
{{- end -}}
{{- end }}
