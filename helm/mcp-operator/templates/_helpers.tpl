{{/* Name of everything that the chart makes. Prefixed with the release's name unless that says what it is already. */}}
{{- define "mcp-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Names of cluster-wide objects: two releases in two namespaces must not share them. */}}
{{- define "mcp-operator.clusterName" -}}
{{- $name := include "mcp-operator.fullname" . -}}
{{- if eq $name .Release.Namespace -}}{{ $name }}{{- else -}}{{ printf "%s-%s" .Release.Namespace $name }}{{- end -}}
{{- end -}}

{{- define "mcp-operator.selector" -}}
app.kubernetes.io/name: mcp-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mcp-operator.labels" -}}
{{ include "mcp-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "mcp-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "mcp-operator.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- define "mcp-operator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Namespaces that the operator looks at, as a JSON list; empty for all. */}}
{{- define "mcp-operator.namespaces" -}}
{{- if and (eq .Values.scope "namespaced") (empty .Values.namespaces) -}}
{{ list .Release.Namespace | toJson }}
{{- else -}}
{{ .Values.namespaces | uniq | toJson }}
{{- end -}}
{{- end -}}

{{/*
What the operator may do with objects of a namespace that it looks after. Nothing about Secrets: pods mount them, and
tell when they change. Applying needs patch, and create for what is not there yet.
*/}}
{{- define "mcp-operator.rules" -}}
- apiGroups: [mcpadapter.io]
  resources: [mcpadapters, apiscrapesources, mcptoollocks]
  verbs: [get, list, watch]
- apiGroups: [mcpadapter.io]
  resources: [mcpadapters/status, apiscrapesources/status, mcptoollocks/status]
  verbs: [get, patch]
# OpenShift asks for this of whoever names an owner that must wait for what it owns.
- apiGroups: [mcpadapter.io]
  resources: [mcpadapters/finalizers, apiscrapesources/finalizers]
  verbs: [update]
- apiGroups: ['']
  resources: [configmaps, services, serviceaccounts, persistentvolumeclaims]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies, ingresses]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [monitoring.coreos.com]
  resources: [servicemonitors]
  verbs: [get, list, watch, create, patch, delete]
# Their health says which upstream is down, and when a Secret has changed.
- apiGroups: ['']
  resources: [pods]
  verbs: [get, list, watch]
# An annotation tells the kubelet that a tool lock has changed; it would look a minute later otherwise.
- apiGroups: ['']
  resources: [pods]
  verbs: [patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
